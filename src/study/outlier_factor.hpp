#pragma once

#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "solver/nearest.hpp"

namespace ellice {

/// How far a point lies from where the data are dense (Breunig et al., 2000). With the k nearest
/// reference rows N(x), Euclidean, and d_k(c) the distance from a reference row c to its k-th
/// nearest other one,
///
///   lrd(x) = k / Σ_{c ∈ N(x)} max(d_k(c), ‖x − c‖),   LOF(x) = (1/k) Σ_{c ∈ N(x)} lrd(c)/lrd(x).
///
/// Near 1 for a point as dense as its neighbours, larger for outliers. Neighbours are exact, the
/// smaller row first among equally near ones. A point that is a reference row (nearer than 1e-12)
/// does not count it among its neighbours, as that row itself does not. Rows that repeat more than
/// k times have no finite density: their sum counts as 1e-12, so that means explode and medians are
/// what to look at.
class OutlierFactor {
 public:
  /// Prepared once, for any number of points. With no more than k reference rows k is one less than
  /// there are. Throws Error{argument} for k < 1 or fewer than two rows.
  OutlierFactor(RowMatrixArg reference, int neighbours, const Execution& execution = {});

  [[nodiscard]] int neighbours() const { return neighbours_; }  // k as used
  [[nodiscard]] Index rows() const { return nearest_.rows().rows(); }

  /// LOF of each row; the same for any number of threads.
  [[nodiscard]] Vector factors(RowMatrixArg points, const Execution& execution = {}) const;

 private:
  [[nodiscard]] double density(const std::vector<Neighbour>& neighbours) const;

  NearestRows nearest_;
  int neighbours_;
  Vector distances_;  // d_k
  Vector densities_;  // lrd
};

}  // namespace ellice
