#pragma once

#include <vector>

#include "search/gradient.hpp"
#include "search/local_query.hpp"
#include "search/local_search.hpp"

namespace ellice {

/// The nearest certified row of one query by sequential quadratic steps from several starts (the
/// query, a descent from it, the centre of class 1, the nearest robust training rows): the shortest
/// answer that is certified as it is written. Grid features are rounded to the side on which the
/// robust logit grows, the others solved again. Whole numbers and levels are first kept at the
/// query's values and then chosen by a bounded, deterministic search with the same steps inside,
/// which also begins at the nearest robust training rows with the levels they have; categories are
/// never fractional. For sets whose worst scores have a closed form. Threads may share it.
class LocalSteps {
 public:
  /// All must outlive it; `rows` may be absent.
  LocalSteps(const Problem& problem, const LocalSearchOptions& options, const RowStarts* rows);

  [[nodiscard]] Answer nearest(const Query& query, const FeasibleSet& feasible) const;
  [[nodiscard]] QueryContext context_of(const Query& query, const FeasibleSet& feasible) const;

 private:
  [[nodiscard]] Answer find(const Query& query, const FeasibleSet& feasible) const;
  /// Chooses whole numbers and levels: the result becomes what is certified and cheaper. Gives the
  /// rows whose values are worth a try where nothing is certified.
  [[nodiscard]] std::vector<Vector> choose(Answer& result, const Answer& blank,
                                           const QueryContext& context) const;
  /// The largest ε with the whole numbers and levels of these rows, if larger than the result's.
  void reduce(Answer& result, const Answer& blank, const QueryContext& context,
              const std::vector<Vector>& rows) const;

  const Problem* problem_;
  const LocalSearchOptions* options_;
  Assembler assembler_;
  Vector weights_;
  const RowStarts* rows_;
  GradientSearch gradient_;  // whose answer counts where certificates are refused
};

}  // namespace ellice
