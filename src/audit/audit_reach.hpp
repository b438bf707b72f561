#pragma once

// The largest ε for which somebody has an answer, found again without the search that stated it.

#include <functional>
#include <limits>

#include "audit/audit_region.hpp"

namespace ellice::audit {

/// Bounds of the largest ε for which a point is robust that constraints allow, grids and levels
/// between two whole ones left out.
struct LargestEpsilon {
  double attained = 0;  // by a point that was found
  double admitted = 0;  // models refuse every point beyond it
};

using ReachIn = std::function<Reach(const Region&)>;

/// Over all cases.
[[nodiscard]] LargestEpsilon largest_epsilon(const RowConstraints& constraints,
                                             const ReachIn& reach);

/// Whether models within `most` refuse every row that the constraints allow, whole numbers, grids
/// and levels counted in: what lies around the values is taken apart where its most robust point
/// has none of them. False as well where that takes too many parts, and of bins.
[[nodiscard]] bool refuses_every_row(const RowConstraints& constraints, const Encoder& encoder,
                                     double most, const ReachIn& reach);

}  // namespace ellice::audit
