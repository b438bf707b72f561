#pragma once

// The nearest point of a box and several half-spaces, with its proof.

#include "ellice/recourse/feasible_set.hpp"
#include "ellice/solver/box_projection.hpp"

namespace ellice {

/// cost(x) = Σ ½D·Δ² + c·|Δ| of a move from the query.
[[nodiscard]] double cost_at(const SeparableCost& cost, VectorArg query, VectorArg point);

/// argmin of cost(x) − pullᵀx over the box, one column after the other.
[[nodiscard]] Vector pulled_point(VectorArg pull, VectorArg query, const Box& box,
                                  const SeparableCost& cost);

struct CutProjection {
  Vector point = {};
  /// No point of the box and the half-spaces costs less; 0 where there is none, which the
  /// multipliers then prove.
  double lower_bound = 0;
  Vector multipliers = {};  // ≥ 0, one per half-space
};

/// min cost(x) over the box subject to θₖᵀx̃ ≥ t, θₖ the columns of `cuts` (theory.md, Result 34).
[[nodiscard]] CutProjection project_onto_cuts(MatrixArg cuts, double threshold, VectorArg query,
                                              const Box& box, const SeparableCost& cost);

}  // namespace ellice
