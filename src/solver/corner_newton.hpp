#pragma once

// Convex functions with corners: a smooth one plus Σ lⱼ|xⱼ|.

#include "ellice/core/types.hpp"
#include "solver/newton.hpp"

namespace ellice {

/// The minimiser of ½xᵀQx + cᵀx + Σ lⱼ|xⱼ| for Q positive definite and lⱼ ≥ 0, from `start`: from
/// one pattern of signs to the next, the minimiser of each by a factorisation (feature-sign search;
/// Lee, Battle, Raina and Ng, 2007). Entries that are 0 are exactly so.
[[nodiscard]] Vector corner_minimum(MatrixArg q, VectorArg c, VectorArg l, Vector start);

/// Newton's method with the corners in its quadratic picture, and Armijo's backtracking. `function`
/// has the values of the whole and the derivatives of the smooth part; `gradient_norm` of the
/// result is the largest entry of the least subgradient.
[[nodiscard]] NewtonResult minimize_with_corners(const SmoothFunction& function, VectorArg l,
                                                 const Vector& start,
                                                 const NewtonOptions& options = {});

}  // namespace ellice
