#pragma once

#include <functional>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice::audit {

/// Minimise ½yᵀ·curvature·y + slopeᵀy subject to rows·y ≤ bounds and, for each cone,
/// normalᵀy + offset ≥ κ·‖R·x̃‖ with x̃ = map·y + base.
struct ConicProgram {
  Matrix curvature = {};  // semidefinite; empty: none
  Vector slope = {};
  Matrix rows = {};
  Vector bounds = {};
  Matrix map = {};
  Vector base = {};
  struct Cone {
    Vector normal = {};
    double offset = 0;
    double kappa = 0;
    const Matrix* root = nullptr;  // R
  };
  std::vector<Cone> cones = {};
};

/// A point inside all constraints and what each counts there; nothing about either is promised but
/// that the point is inside. The multipliers are those of a dual point at the end of the path.
struct ConicPoint {
  Vector y = {};
  Vector rows = {};   // ≥ 0
  Vector cones = {};  // ≥ 0: the weight of the model that is worst at the point
};

/// Follows the central path (Newton's method on the logarithmic barrier) from a point strictly
/// inside the constraints, and shows each centre until `is_enough` or until rounding ends it.
void follow_path(const ConicProgram& program, Vector start,
                 const std::function<bool(const ConicPoint&)>& is_enough);

}  // namespace ellice::audit
