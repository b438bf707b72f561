#pragma once

// The cheapest point of a box that satisfies several robust constraints and linear rules at once.

#include <limits>
#include <vector>

#include "ellice/core/types.hpp"
#include "solver/box_projection.hpp"

namespace ellice {

/// g(x) ≥ threshold, g being the factor's robust logit at ε. The factor must outlive it.
struct RobustCone {
  const BoxFactor* factor = nullptr;
  double epsilon = 0;
  double threshold = 0;
};

/// lower ≤ coefficientsᵀx ≤ upper. Either side may be infinite, and both the same number.
struct LinearRule {
  Vector coefficients = {};
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double tolerance = 0;  // what rounding may add

  [[nodiscard]] bool holds(VectorArg x) const;
};

/// min cost(x) subject to lower ≤ x ≤ upper, every cone and every rule.
struct IntersectionProblem {
  Vector query = {};  // x0; may lie outside the box
  Vector lower = {};  // −∞ allowed; lower = upper holds a coordinate
  Vector upper = {};
  SeparableCost cost = {};
  std::vector<RobustCone> cones = {};
  std::vector<LinearRule> rules = {};
  /// The point returned satisfies g ≥ t + margin·(Σ|θᵢx̃ᵢ| + s + |t|) of every cone.
  double margin = 1e-14;
};

/// Lagrange's multipliers, and a model of each cone's ellipsoid: all that a proof needs.
struct ConeWeights {
  Vector cones = {};                // μ ≥ 0
  std::vector<Vector> models = {};  // [w; b], one per cone
  Vector rules = {};                // λ > 0 weighs the upper side of a rule, λ < 0 the lower
};

/// [v; c] = Σ μ_k·(θ_k − [0; t_k]) + Σ λ_r·([0; bound_r] − [a_r; 0]): vᵀx + c ≥ 0 for every x that
/// satisfies the cones and the rules (theory.md, Result 16).
[[nodiscard]] Vector combined_half_space(const IntersectionProblem& problem,
                                         const ConeWeights& weights);

/// max over the box of the half-space's value: below 0, cones, rules and box have no common point.
/// A coefficient on an infinite side counts as zero where it is rounding of what it was summed
/// from.
[[nodiscard]] double half_space_maximum(const IntersectionProblem& problem,
                                        const ConeWeights& weights);

enum class IntersectionStatus {
  optimal,     // feasible, and the gap is below 1e-6
  infeasible,  // proved: half_space_maximum(weights) < 0
  inexact,     // neither: see feasible and lower_bound
};

struct ConeIntersection {
  IntersectionStatus status = IntersectionStatus::inexact;
  bool feasible = false;  // the point satisfies everything
  Vector point = {};
  double objective = 0;    // cost of the point
  double lower_bound = 0;  // no feasible point costs less: proved by the weights; ∞ if infeasible
  ConeWeights weights = {};
  int iterations = 0;
};

/// The global optimum, with proof. Where the nearest point of one cone satisfies the rest, that is
/// the answer (BoxFactor); else an interior-point method finds which constraints bind, and Newton's
/// method on these finishes to rounding.
[[nodiscard]] ConeIntersection intersect_cones(const IntersectionProblem& problem);

/// Whether there is any point at all; the cost does not matter.
struct CommonPoint {
  enum class Status {
    found,    // the point satisfies everything
    none,     // proved by the weights
    unknown,  // within rounding of one or the other
  };
  Status status = Status::unknown;
  Vector point = {};
  ConeWeights weights = {};
};
[[nodiscard]] CommonPoint find_common_point(const IntersectionProblem& problem);

/// A point of the box that satisfies the rules, where there is one, and at which the smallest
/// g − t of all cones is about as large as possible; infinite ranges are cut at 1e7.
[[nodiscard]] Vector best_common_point(const IntersectionProblem& problem);

}  // namespace ellice
