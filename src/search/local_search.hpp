#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/method_options.hpp"
#include "search/generator.hpp"

namespace ellice {

class LocalSteps;
class RowStarts;

/// Near certified points for networks and every set of models, from several starts; works for
/// linear models, too. Where worst scores have a closed form, sequential quadratic steps do it
/// (LocalSteps); sets that are searched are approached by the steps of their second-order picture
/// at several radii, and what these find is brought to the border of the set itself (LocalPolish).
///
/// Few changes: which features may change is chosen by a beam over sets of them (FewFeatures), and
/// each set that leads somewhere is searched as above with the other features locked. Several plans
/// come from locking, in turn, one feature of every plan that a new one must not contain. Neither
/// proves that nothing better exists.
///
/// Statuses: certified, without a gap, since the problem is not convex and nothing is proved of
/// shorter answers; already_robust; reduced, where the ε asked for is not reached, with the largest
/// one that is and a certificate for that; not_found where no point was found that the model itself
/// accepts.
class LocalSearch final : public Generator {
 public:
  /// `problem` must outlive the generator; `rows` (encoded training rows; those of a set that is
  /// about rows where none are given) are judged here, in one pass. Throws Error{argument} for a
  /// cost other than l2 and mixed.
  explicit LocalSearch(const Problem& problem, const StoredRows* rows = nullptr,
                       const LocalSearchOptions& options = {}, const Execution& execution = {});
  ~LocalSearch() override;
  LocalSearch(const LocalSearch&) = delete;
  LocalSearch& operator=(const LocalSearch&) = delete;

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  using Features = std::vector<std::size_t>;
  /// The second-order picture at a multiple of the radius, or the problem itself.
  struct Level;

  /// The first plan and, if asked for, others.
  [[nodiscard]] std::vector<Answer> answer(const Query& query) const;
  /// Tight rules are borders along which steps get stuck: tries again with each feature that
  /// changes kept as it is.
  void improve(Answer& best, const Query& query) const;
  void add_plans(std::vector<Answer>& plans, const Query& query) const;
  /// The answer that keeps these features, with as few changes as the options ask for.
  [[nodiscard]] Answer answer_without(const Query& query, const Features& kept) const;
  /// Few of the features change; `nearest` is the answer without that wish.
  [[nodiscard]] Answer change_few(const Query& query, const Features& kept, Answer nearest) const;
  /// The nearest answer that keeps these features.
  [[nodiscard]] Answer nearest_without(const Query& query, const Features& kept) const;
  [[nodiscard]] FeasibleSet feasible_without(const Query& query, const Features& kept,
                                             Constraints& constraints) const;
  [[nodiscard]] Answer nearest(const Query& query, const FeasibleSet& feasible) const;
  /// The steps at the radius that was asked for.
  [[nodiscard]] const LocalSteps& plain_steps() const;

  const Problem* problem_;
  LocalSearchOptions options_;
  Assembler assembler_;
  std::unique_ptr<RowStarts> rows_;
  std::vector<std::unique_ptr<Level>> levels_;  // one where the function has a closed form
};

/// Why this search cannot take a problem; empty where it can.
[[nodiscard]] std::string why_not_local(const Problem& problem);

}  // namespace ellice
