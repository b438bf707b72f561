#pragma once

#include <functional>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

struct NewtonOptions {
  double gradient_tolerance = 1e-10;
  int max_iterations = 200;

  static void fields(auto& self, auto&& visit) {
    visit("gradient_tolerance", self.gradient_tolerance, greater_than(0),
          "largest entry of the gradient at which to stop");
    visit("max_iterations", self.max_iterations, at_least(1), "Newton steps");
  }
  bool operator==(const NewtonOptions&) const = default;
};

/// A convex, twice differentiable function.
struct SmoothFunction {
  std::function<double(VectorArg)> value = {};
  /// Value, gradient and Hessian at one point.
  std::function<double(VectorArg, Vector&, Matrix&)> derivatives = {};
};

enum class NewtonStatus {
  converged,        // |gradient| <= tolerance, and the Newton step there is small, too
  stalled,          // no step decreases the value although the gradient is above its tolerance
  iteration_limit,  // typical of a function without a minimiser: the steps do not shrink
};

struct NewtonResult {
  NewtonStatus status = NewtonStatus::iteration_limit;
  Vector point = {};
  double value = 0;
  double gradient_norm = 0;  // largest entry
  double decrement = 0;  // ½ gᵀH⁻¹g: how far the value is from its minimum, to second order
  int iterations = 0;
  bool singular = false;  // a Hessian was singular: steps were taken inside its range
};

/// Damped Newton with Armijo backtracking. A function like e^{-t} has a small gradient far out and
/// no minimiser; it is told apart by its Newton step, which does not shrink: convergence asks for
/// ‖step‖∞ ≤ 1e-6·(1 + ‖point‖∞) as well.
[[nodiscard]] NewtonResult minimize_newton(const SmoothFunction& function, const Vector& start,
                                           const NewtonOptions& options = {});

}  // namespace ellice
