#pragma once

// An answer follows the errors of the model that it was computed from: what that costs it when a
// model is trained on other rows (theory.md, Result 35), and which ε makes up for it.

#include <functional>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "search/generator.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

/// Whether there is one: a survival is predicted, and rows are fresh.
[[nodiscard]] bool has_selection_effect(const Problem& problem);

/// Makes the generator whose answers are looked at, for a problem with a disturbed model.
using MakeGenerator = std::function<std::unique_ptr<Generator>(const Problem&)>;

/// The generator of the method «auto», whose search for whole numbers and levels ends after so many
/// parts: for answers of which only the mean counts. Nobody is told why there is none. `rows` as of
/// automatic_generator().
[[nodiscard]] std::unique_ptr<Generator> sketching_generator(const Problem& problem, int nodes,
                                                             const StoredRows* rows = nullptr,
                                                             const Execution& execution = {});
/// For disturbed models: what their answers are off the nearest ones averages out over the draws.
[[nodiscard]] std::unique_ptr<Generator> disturbed_generator(const Problem& problem);

/// By how much the logit of one person's answer (model space) falls on average under models of
/// other rows, from `draws` pairs of disturbed models that leave his own logit alone, beginning
/// with pair `first`: for answers without a closed form. Nothing where half of the disturbed models
/// have no answer for him.
[[nodiscard]] std::optional<SelectionShifts> drawn_shifts(const Problem& problem,
                                                          const RetrainedHead& retrained,
                                                          const Query& query, VectorArg answer,
                                                          int first, int draws,
                                                          const MakeGenerator& make);

/// States the survival of the first plan of each answer under fresh rows; nothing for rows drawn
/// again, whose survival answers have from the start. Later plans have none: what another model
/// would put in their place is another plan. `answers` are those of `queries`, in order, any number
/// of plans each. Where only their mean counts and there is no closed form, each query sees a
/// quarter of the draws, and all queries together see all of them.
enum class ShiftFor { each, mean };
void state_fresh_survival(const Problem& problem, const std::vector<Query>& queries,
                          std::vector<Answer>& answers, const MakeGenerator& make,
                          const Execution& execution = {}, ShiftFor wanted = ShiftFor::each);

/// Predicted survival of those who have an answer.
struct MeanSurvival {
  std::size_t answered = 0;
  double mean = 0;                        // 0 where nobody is
  std::optional<Interval> interval = {};  // mean of the bounds, for fresh rows
};
[[nodiscard]] MeanSurvival mean_survival(const std::vector<Answer>& answers);

/// The smallest ε (to 0.2 points of survival) at which these people's answers have this survival on
/// average; the problem's ε is not used. Throws Error{input} where half of them lose their recourse
/// before.
[[nodiscard]] double survival_epsilon_for(const Problem& problem, const std::vector<Query>& people,
                                          double survival, const Execution& execution = {});

/// rule.resolve(), for a survival with the people whose answers it is about: declined rows of the
/// model. Without people rows drawn again have the ε of a model that holds; fresh ones throw
/// Error{argument}.
[[nodiscard]] double resolve_epsilon(const EpsilonRule& rule, const Problem& problem,
                                     const std::vector<Query>& people,
                                     const EpsilonContext& context);

}  // namespace ellice
