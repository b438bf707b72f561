#pragma once

// One model in place of a set of them: what a half-space allows in a box, and what it costs.

#include "ellice/core/types.hpp"
#include "solver/box_projection.hpp"

namespace ellice {

/// The cost of a point.
[[nodiscard]] double cost_at(const SeparableCost& cost, VectorArg query, VectorArg point);

/// Whether every column has a square in its cost.
[[nodiscard]] bool is_square(const SeparableCost& cost);

/// max [w; b]ᵀx̃ over a box.
[[nodiscard]] double linear_maximum(VectorArg model, VectorArg lower, VectorArg upper);

/// Of min cost(x) over the points of a box with [w; b]ᵀx̃ ≥ t: what it costs at least, or ∞ where no
/// point of the box reaches t. The best of the bounds of theory.md, Result 6, over their
/// multiplier.
[[nodiscard]] double half_space_bound(VectorArg model, double threshold, VectorArg query,
                                      VectorArg lower, VectorArg upper, const SeparableCost& cost);

}  // namespace ellice
