#pragma once

#include <optional>

#include "methods/hull_program.hpp"
#include "methods/interval_robustness.hpp"

namespace ellice {

/// The l1-nearest point of a hull that every network of the box |Θ−Θ̂| ≤ δ accepts, for two hidden
/// layers, from both sides. From below: the nearest point that some networks of the box accept, to
/// which the one that is worst there is added. From above: robust points, moved nearer by linear
/// programs in which units stay on or off. The nearer the best of them, the smaller the region that
/// is left to the programs below.
class CuttingSet {
 public:
  /// Corners in rows; the points are to lie in `box`, too, and have logits of at least `margin`.
  CuttingSet(const RowMatrix& corners, const Vector& query, const Box& box, const Network& network,
             double delta, double margin);

  struct Result {
    std::optional<Vector> point = {};  // robust
    /// optimal: none is nearer by more than 1e-6 of the distance. Otherwise why that is not known
    /// or why there is no point.
    MixedIntegerStatus status = MixedIntegerStatus::failed;
  };
  [[nodiscard]] Result solve(double seconds);

 private:
  [[nodiscard]] double distance(const Vector& x) const { return (x - query_).lpNorm<1>(); }
  /// As far from a robust point towards another as robustness is kept.
  [[nodiscard]] Vector last_robust(const Vector& robust, const Vector& other) const;
  void offer(const Vector& robust);
  /// The corners, and from there towards the query.
  void start();
  /// Moves the best point nearer, in steps by linear programs with the network that is worst there.
  void polish();

  RowMatrix corners_;
  Vector query_;
  Box box_;
  Network network_;
  double delta_;
  double margin_;
  IntervalRobustness check_;  // logits of at least 0
  IntervalRobustness with_margin_;
  std::optional<Vector> best_;  // robust, with the margin
};

}  // namespace ellice
