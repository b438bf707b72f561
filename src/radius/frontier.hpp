#pragma once

#include <optional>
#include <vector>

#include "request/problem.hpp"
#include "solver/box_projection.hpp"

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
  /// Beyond it there is no answer; where the curve is not proved, none was found.
  std::optional<double> max_epsilon = {};
  bool is_proved = false;  // no point is nearer than these, and none is robust beyond max_epsilon
  /// None is robust beyond max_epsilon (to 0.2 % of it), whether or not the points are the nearest.
  bool is_max_proved = false;
};

/// Traces frontiers for one problem (its ε is not used). For a linear model and one ellipsoid one
/// factorisation serves all queries and levels, each level started from the answer to the one
/// before; otherwise each level is searched.
class Frontier {
 public:
  /// `problem` and `rows`, which give a search better starts, must outlive this.
  explicit Frontier(const Problem& problem, const StoredRows* rows = nullptr);

  /// Whether every curve is solved at once, and so proved: otherwise each level takes a search.
  [[nodiscard]] bool is_solved_at_once() const;

  /// `epsilons` must rise.
  [[nodiscard]] FrontierCurve trace(const Query& query, const std::vector<double>& epsilons) const;

 private:
  [[nodiscard]] FrontierCurve search(const Query& query, const std::vector<double>& epsilons) const;

  const Problem* problem_;
  const StoredRows* rows_;
  std::optional<BoxFactor> factor_;  // where levels are solved exactly
  SeparableCost cost_;
};

}  // namespace ellice
