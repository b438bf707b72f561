#pragma once

#include <Eigen/Cholesky>
#include <memory>

#include "ellice/core/types.hpp"

namespace ellice {

/// The worst head of a set for a linear functional, between two bounds:
/// proved ≤ min aᵀθ ≤ attained.
struct WorstHead {
  Vector model = {};    // of the set
  double attained = 0;  // aᵀmodel
  double proved = 0;    // no head of the set gives less

  /// Where sets that are searched ended, for the next search nearby: the point at which the dual
  /// was evaluated, before it was made feasible; τ, the objective's gradient there being −τ·a; and
  /// a factor of the objective's Hessian, at that point or nearby.
  Vector stationary = {};
  double multiplier = 0;
  std::shared_ptr<const Eigen::LLT<Matrix>> curvature = {};
  int iterations = 0;
};

}  // namespace ellice
