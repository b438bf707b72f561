#pragma once

#include <optional>
#include <vector>

#include "ellice/sets/retraining.hpp"

namespace ellice {

/// An answer as the nearest robust point (theory.md, Result 6 and Result 35): it minimises
/// Σ ½Dᵢ(xᵢ−x0ᵢ)² + cᵢ|xᵢ−x0ᵢ| over a box and the robust points.
struct StationaryPoint {
  Vector query = {};  // x0, model space
  Vector point = {};  // x
  /// Coordinates that another model would move: neither fixed, nor at a bound, nor at the kink of
  /// |xᵢ−x0ᵢ|.
  std::vector<Index> free = {};
  Vector squares = {};    // D
  Vector absolutes = {};  // c
};

/// By how much the logit of a person's answer falls on average under a model of other rows, since
/// the answer follows the errors of its own model: closed form. Nothing where the point is not
/// stationary (to 5 % of its pull), so that another rule must have chosen it.
[[nodiscard]] std::optional<SelectionShifts> selection_shifts(const RetrainedHead& retrained,
                                                              const Vector& head,
                                                              const StationaryPoint& nearest,
                                                              double threshold);

}  // namespace ellice
