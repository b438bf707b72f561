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

}  // namespace ellice::audit
