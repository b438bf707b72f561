#pragma once

// The fewest units that must change for a robust point, and the cheapest way to change so few.

#include <cstddef>

#include "solver/branch_and_bound.hpp"

namespace ellice {

struct FewestChanges {
  /// Of the search with `changes` units: cheapest of these (to 5e-10), or bounded. Infeasible: no
  /// number does.
  MixedResult result = {};
  std::size_t changes = 0;
  bool proved = true;  // fewer changes are ruled out
};

/// For K = 1, 2, … the sets of K units are gone through depth first. Half-spaces that contain every
/// robust point rule sets out before they are complete: they know the most that any r further units
/// can add, and the least that it costs (theory.md, Result 14). What is left is solved with all
/// other units at rest, and every point that fails gives one more half-space. Where that takes too
/// long, solve_mixed goes on. The problem may limit the changes but must neither
/// have rules nor units that may not stay.
[[nodiscard]] FewestChanges solve_fewest(const BoxFactor& factor, const MixedProblem& problem);

}  // namespace ellice
