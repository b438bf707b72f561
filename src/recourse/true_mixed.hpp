#pragma once

// The cheapest point that every model of the true set accepts, when some coordinates are discrete.

#include "ellice/rashomon/true_set.hpp"
#include "ellice/solver/branch_and_bound.hpp"

namespace ellice {

/// solve_mixed() with the true set in place of the ellipsoid; the problem's ε is the set's. Nodes
/// are bounded by half-spaces of models of the true set, decided parts solved by TrueSearch
/// (theory.md, Result 34). `cost` is that of the numbers, by column.
[[nodiscard]] MixedResult solve_true_mixed(const TrueSet& set, const SeparableCost& cost,
                                           const MixedProblem& problem);

}  // namespace ellice
