#pragma once

// What Newton's method on a true set looks for in (θ, τ) beside r = ∇L + τc = 0: how far an iterate
// is from it, relatively, and the change of τ that brings its linearisation there.

#include <algorithm>
#include <cmath>

#include "ellice/core/types.hpp"

namespace ellice {

/// L = L̂ + ε, as h = h* for h = √(2(L−L̂)), which is nearly linear in τ.
struct LevelRule {
  double target;
  [[nodiscard]] static double h(const auto& at) { return std::sqrt(2 * std::max(at.excess, 0.0)); }
  [[nodiscard]] double error(const auto& at) const { return std::abs(h(at) - target) / target; }
  [[nodiscard]] double change(const auto& at) const {
    return ((h(at) - target) * h(at) - at.gradient.dot(at.newton)) / at.gradient.dot(at.along);
  }
};

/// cᵀθ = t, relatively to `size`.
struct ScoreRule {
  const Vector* c;
  double threshold;
  double size;
  [[nodiscard]] double error(const auto& at) const {
    return std::abs(at.theta.dot(*c) - threshold) / size;
  }
  [[nodiscard]] double change(const auto& at) const {
    return (at.theta.dot(*c) - threshold - at.newton.dot(*c)) / at.along.dot(*c);
  }
};

}  // namespace ellice
