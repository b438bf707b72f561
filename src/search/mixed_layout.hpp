#pragma once

// What of a row is searched over where something is discrete: features that can change, as units.

#include <cstddef>
#include <vector>

#include "request/problem.hpp"
#include "solver/branch_and_bound.hpp"

namespace ellice {

/// From so many standard deviations on rounding may swallow a robust logit, since the solver counts
/// moves from the query and adds up their squares: what is found is certified apart, but that
/// nothing is found proves nothing.
constexpr double far_query = 1e6;

/// The schema has no grid for it; only the output has.
[[nodiscard]] bool is_display_grid(const Feature& feature, const FeatureRange& range);
[[nodiscard]] bool can_change(const FeatureRange& range);

struct MixedLayout {
  /// Numbers are on their display grids or between them.
  MixedLayout(const Problem& problem, const FeasibleSet& feasible, bool display_grids);

  std::vector<MixedUnit> units = {};
  std::vector<std::size_t> features = {};        // by unit
  std::vector<std::vector<double>> levels = {};  // by unit: what a group's options are, raw

  /// Raw numbers of a point of the search.
  [[nodiscard]] Vector row(const FeasibleSet& feasible, const Vector& point) const;

 private:
  const Problem* problem_;
};

/// Numbers of far queries begin and end near the training rows, where their ranges reach there: a
/// search that is sound again, for another query.
void bring_near(MixedProblem& mixed);
/// Groups that must change begin where none of their options is: another number of the own bin is
/// a change, too, and the solver tells changes by the columns.
void begin_elsewhere(MixedProblem& mixed);

}  // namespace ellice
