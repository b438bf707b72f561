#pragma once

#include <optional>
#include <vector>

#include "ellice/recourse/problem.hpp"
#include "ellice/solver/box_projection.hpp"

namespace ellice {

struct FrontierPoint {
  double epsilon = 0;
  bool feasible = true;
  double distance = 0;  // l2 in model space; not used where infeasible
  double cost = 0;      // what was minimised
};

/// What robustness costs one query: the nearest robust point against ε. Points are continuous:
/// grids are left out, so that the curve shows the trade-off and not the rounding.
struct FrontierCurve {
  std::size_t query_index = 0;
  std::vector<FrontierPoint> points = {};  // by rising ε
  std::optional<double> max_epsilon = {};  // beyond it there is no answer
};

/// Traces frontiers for one problem (its ε is not used): one factorisation for all queries and
/// levels, each level started from the answer to the one before.
class Frontier {
 public:
  /// `problem` must outlive this.
  explicit Frontier(const Problem& problem);

  /// `epsilons` must rise.
  [[nodiscard]] FrontierCurve trace(const Query& query, const std::vector<double>& epsilons) const;

 private:
  const Problem* problem_;
  BoxFactor factor_;
  SeparableCost cost_;
};

}  // namespace ellice
