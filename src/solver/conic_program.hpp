#pragma once

// A small dense interior-point method for convex quadratic programs over second-order cones.

#include <functional>
#include <utility>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// Σ coefficient·v[index], and the number that it is compared with.
struct ConicRow {
  std::vector<std::pair<Index, double>> terms = {};
  double bound = 0;
};

/// slopeᵀv + offset ≥ ‖factor·v₁ + shift‖, v₁ being as many leading variables as factor has
/// columns.
struct ConicBlock {
  Vector slope = {};
  double offset = 0;
  Matrix factor = {};
  Vector shift = {};
};

/// min ½·vᵀdiag(quadratic)v + linearᵀv subject to rows (≤ bound), equalities (= bound) and blocks.
struct ConicProgram {
  Vector quadratic = {};
  Vector linear = {};
  std::vector<ConicRow> rows = {};
  std::vector<ConicRow> equalities = {};
  std::vector<ConicBlock> blocks = {};
};

/// Slacks and multipliers lie strictly inside their cones. A block's multiplier is (ζ, z) with
/// ‖z‖ < ζ: the half-space ζ·(slopeᵀv + offset) + zᵀ(factor·v₁ + shift) ≥ 0 contains the block's
/// points.
struct ConicIterate {
  Vector point = {};
  Vector row_slacks = {};
  Vector row_multipliers = {};
  Vector equality_multipliers = {};
  std::vector<Vector> block_slacks = {};
  std::vector<Vector> block_multipliers = {};
};

/// Mehrotra's predictor and corrector with the scaling of Nesterov and Todd, as Andersen, Dahl and
/// Vandenberghe describe it. Calls `done` before each step and stops where it says so, after
/// `most_steps`, or when rounding leaves nothing to gain. Returns the last iterate.
[[nodiscard]] ConicIterate solve_conic(const ConicProgram& program, int most_steps,
                                       const std::function<bool(const ConicIterate&)>& done);

}  // namespace ellice
