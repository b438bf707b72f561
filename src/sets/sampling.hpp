#pragma once

#include "core/random.hpp"
#include "ellice/core/types.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

/// Models drawn uniformly (by volume) from the set, one per row; row k depends on random.split(k)
/// only.
[[nodiscard]] RowMatrix sample_inside(const Ellipsoid& set, Index count, const Random& random);

/// Models on the boundary: the images of uniform directions under θ = c + √(2ε)·L⁻ᵀu, ‖u‖ = 1.
/// (This is the limit of sample_inside near the boundary; by surface area it is uniform only for a
/// ball.)
[[nodiscard]] RowMatrix sample_boundary(const Ellipsoid& set, Index count, const Random& random);

}  // namespace ellice
