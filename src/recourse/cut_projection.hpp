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
  Vector point = {};        // satisfies the half-spaces as far as the multipliers have converged
  double lower_bound = 0;   // no point of the box and the half-spaces costs less
  Vector multipliers = {};  // ≥ 0, one per half-space
};

/// min cost(x) over the box subject to θₖᵀx̃ ≥ t, θₖ the columns of `cuts`, by projected Newton
/// steps on the dual; the bound holds wherever it stops (theory.md, Result 34). For costs with a
/// square in every column. `start` has a multiplier for each of the first cuts.
[[nodiscard]] CutProjection project_onto_cuts(MatrixArg cuts, double threshold, VectorArg query,
                                              const Box& box, const SeparableCost& cost,
                                              VectorArg start);

}  // namespace ellice
