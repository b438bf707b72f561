#include "solver/newton.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "core/stop.hpp"

namespace ellice {

namespace {

struct Direction {
  Vector step = {};
  bool singular = false;
};

/// −H⁻¹g, or for a singular H its pseudo-inverse: the gradient of the functions that we minimise
/// lies in the range of their Hessian, so that nothing of it is lost.
Direction newton_direction(const Matrix& hessian, const Vector& gradient) {
  const Eigen::LLT<Matrix> llt(hessian);
  if (llt.info() == Eigen::Success && llt.rcond() > 1e-14) return {.step = -llt.solve(gradient)};
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(hessian);
  const Vector& values = eigen.eigenvalues();
  const double cutoff = 1e-13 * values.cwiseAbs().maxCoeff();
  Vector coordinates = eigen.eigenvectors().transpose() * gradient;
  for (Index i = 0; i < values.size(); ++i) {
    coordinates(i) = values(i) > cutoff ? coordinates(i) / values(i) : 0.0;
  }
  return {.step = -(eigen.eigenvectors() * coordinates), .singular = true};
}

}  // namespace

NewtonResult minimize_newton(const SmoothFunction& function, const Vector& start,
                             const NewtonOptions& options) {
  validate(options, "NewtonOptions");
  NewtonResult result{.point = start};
  Vector gradient(start.size());
  Matrix hessian(start.size(), start.size());

  for (; result.iterations <= options.max_iterations; ++result.iterations) {
    check_stop();
    result.value = function.derivatives(result.point, gradient, hessian);
    result.gradient_norm = gradient.cwiseAbs().maxCoeff();
    const Direction direction = newton_direction(hessian, gradient);
    result.singular = result.singular || direction.singular;
    const double slope = gradient.dot(direction.step);  // = −gᵀH⁻¹g
    result.decrement = -slope / 2;
    const double step_norm = direction.step.cwiseAbs().maxCoeff();
    const bool small_step = step_norm <= 1e-6 * (1 + result.point.cwiseAbs().maxCoeff());
    if (result.gradient_norm <= options.gradient_tolerance && small_step) {
      result.status = NewtonStatus::converged;
      return result;
    }
    if (result.iterations == options.max_iterations) break;

    // Armijo: value(x + t·d) ≤ value(x) + 1e-4·t·slope, up to the rounding of the values
    // themselves, which near the optimum is larger than the decrease that is left.
    const double rounding = 1e-15 * (1 + std::abs(result.value));
    double t = 1;
    Vector candidate = result.point + direction.step;
    while (!(function.value(candidate) <= result.value + 1e-4 * t * slope + rounding)) {
      t /= 2;
      if (t < 1e-12) {
        result.status = NewtonStatus::stalled;
        return result;
      }
      candidate = result.point + t * direction.step;
    }
    result.point = candidate;
  }
  result.status = NewtonStatus::iteration_limit;
  return result;
}

}  // namespace ellice
