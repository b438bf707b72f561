#pragma once

// Up to which ε some point of a region is robust, from both sides: a point that is, and models that
// together refuse all of it. Whatever finds the two, each is judged by itself: the point by its
// radius, the models by their excess and the maximum of one linear function over a box.

#include <limits>
#include <vector>

#include "audit/audit_chart.hpp"

namespace ellice::audit {

struct Reach {
  double attained = 0;  // some point of the region is robust up to this ε, if it is above 0
  Vector point = {};    // that one; empty if none is
  double admitted = std::numeric_limits<double>::infinity();  // and none beyond this
  LongVector model = {};  // of one cone: with this excess, and below t in all of the region
};

/// Looks first at `near`, where the ε in question is expected; ends after a bounded effort, as
/// close as it came.
[[nodiscard]] Reach find_reach(const std::vector<Cone>& cones, double threshold,
                               const Region& region, double near);

}  // namespace ellice::audit
