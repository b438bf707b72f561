#pragma once

#include <vector>

#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/problem.hpp"
#include "ellice/solver/box_projection.hpp"
#include "ellice/solver/cone_intersection.hpp"

namespace ellice {

/// The robust constraints g_k(x) ≥ t of a problem whose model is linear, all in the model space of
/// its (first) model: one ellipsoid for the last-layer set, one per member for an ensemble, one per
/// rival for many classes.
struct LinearCones {
  std::vector<RashomonEllipsoid> sets = {};
  std::vector<BoxFactor> factors = {};  // of the same

  [[nodiscard]] bool is_single() const { return sets.size() == 1; }
  /// The smallest robust logit of a point.
  [[nodiscard]] double robust_logit(VectorArg z) const;
};

/// Throws Error{argument} for networks and for sets without such cones, saying which method to use.
[[nodiscard]] LinearCones linear_cones(const Problem& problem);

/// Whether a problem has them.
[[nodiscard]] bool has_linear_cones(const Problem& problem);

/// What a box, the cones and a feasible set's rules leave, at any ε; query and cost are the
/// caller's.
[[nodiscard]] IntersectionProblem intersection(const Problem& problem, const LinearCones& cones,
                                               const FeasibleSet& feasible, const Box& box,
                                               double epsilon);

}  // namespace ellice
