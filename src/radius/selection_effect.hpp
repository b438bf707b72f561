#pragma once

// An answer follows the errors of the model that it was computed from: what that costs it when a
// model is trained on other rows (theory.md, Result 35).

#include <functional>
#include <memory>
#include <vector>

#include "ellice/core/random.hpp"
#include "search/generator.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

/// Whether the effect is large enough to be computed: a survival is predicted, rows are fresh, and
/// parameters exceed 3 % of the rows that the model was fitted on.
[[nodiscard]] bool has_selection_effect(const Problem& problem);

/// Makes the generator whose answers are looked at, for a problem with a disturbed model.
using MakeGenerator = std::function<std::unique_ptr<Generator>(const Problem&)>;

/// The generator of the method «auto», whose search for whole numbers and levels ends after so many
/// parts: for answers of which only the mean counts. `rows` as of automatic_generator().
[[nodiscard]] std::unique_ptr<Generator> sketching_generator(const Problem& problem, int nodes,
                                                             const StoredRows* rows = nullptr,
                                                             const Execution& execution = {});
/// For disturbed models: what their answers are off the nearest ones averages out over the draws.
[[nodiscard]] std::unique_ptr<Generator> disturbed_generator(const Problem& problem);

/// tr(V·J) for each query's first answer, from that many pairs of draws; 0 where a disturbed model
/// has no answer.
[[nodiscard]] Vector selection_shift(const Problem& problem, const std::vector<Query>& queries,
                                     int draws, const Random& random, const MakeGenerator& make,
                                     const Execution& execution = {});

/// Corrects predicted_survival of the first plan of each answer, and states by how much. Later
/// plans keep none: what a disturbed model would put in their place is another plan.
/// `answers` are those of `queries`, in order, any number of plans each. Where only their mean
/// counts and answers are searched for among whole numbers and levels, each query sees a quarter of
/// the draws, and all queries together see all of them.
enum class ShiftFor { each, mean };
void correct_for_selection(const Problem& problem, const std::vector<Query>& queries,
                           std::vector<Answer>& answers, const MakeGenerator& make,
                           const Execution& execution = {}, ShiftFor wanted = ShiftFor::each);

/// Predicted survival of those who have an answer.
struct MeanSurvival {
  std::size_t answered = 0;
  double mean = 0;  // 0 where nobody is
};
[[nodiscard]] MeanSurvival mean_survival(const std::vector<Answer>& answers);

/// The smallest ε (to 0.2 points of survival) at which these people's answers have this survival on
/// average, the selection effect included; the problem's ε is not used. Throws Error{input} where
/// half of them lose their recourse before.
[[nodiscard]] double selected_survival_epsilon(const Problem& problem,
                                               const std::vector<Query>& people, double survival,
                                               const Execution& execution = {});

/// rule.resolve() with the selection effect where the rule asks for a survival and there is one.
/// `people` are declined rows; throws Error{argument} where they are needed and absent.
[[nodiscard]] double resolve_epsilon(const EpsilonRule& rule, const Problem& problem,
                                     const std::vector<Query>& people,
                                     const EpsilonContext& context);

}  // namespace ellice
