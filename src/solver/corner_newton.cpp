#include "solver/corner_newton.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr double corner_roundoff = std::numeric_limits<double>::epsilon();
// Of the largest curvature: directions that only the corners hold get this one, which changes the
// steps and not where they end.
constexpr double corner_curvature = 1e-11;
constexpr double corner_decrease = 1e-4;
constexpr double shortest_corner_step = 1e-12;
constexpr double corner_settled = 1e-6;  // of the point: a step that is no growth without end

double largest_subgradient(const Vector& gradient, VectorArg l, const Vector& x) {
  double largest = 0;
  for (Index j = 0; j < x.size(); ++j) {
    const double rest = x(j) == 0 ? std::max(std::abs(gradient(j)) - l(j), 0.0)
                                  : std::abs(gradient(j) + (x(j) > 0 ? l(j) : -l(j)));
    largest = std::max(largest, rest);
  }
  return largest;
}

}  // namespace

Vector corner_minimum(MatrixArg q, VectorArg c, VectorArg l, Vector x) {
  Vector signs = x.cwiseSign();
  Index entering = -1;  // leaves 0 in this round
  std::vector<Index> free;
  const Index most_rounds = 50 + 10 * x.size();
  for (Index round = 0; round < most_rounds; ++round) {
    free.clear();
    for (Index j = 0; j < x.size(); ++j) {
      if (x(j) != 0 || l(j) == 0 || j == entering) free.push_back(j);
    }
    const Vector here = x(free);
    const Vector slopes = c(free) + l(free).cwiseProduct(signs(free));
    const Vector there =
        free.empty() ? Vector() : Vector(Eigen::LLT<Matrix>(Matrix(q(free, free))).solve(-slopes));
    if (!there.allFinite()) return x;
    // On the way to the pattern's minimiser the function falls; where a sign changes it is another.
    double share = 1;
    Index hit = -1;
    for (Index k = 0; k < here.size(); ++k) {
      const Index j = free[static_cast<std::size_t>(k)];
      if (l(j) == 0 || there(k) * signs(j) > 0) continue;
      const double crossing = here(k) == 0 ? 0 : here(k) / (here(k) - there(k));
      if (crossing >= share && hit >= 0) continue;
      share = crossing;
      hit = j;
    }
    x(free) = hit < 0 ? there : Vector(here + share * (there - here));
    if (hit >= 0) {
      if (hit == entering) return x;  // its slope was rounding
      x(hit) = 0;
      signs(hit) = 0;
      entering = -1;
      continue;
    }
    entering = -1;
    double steepest = 0;
    for (Index j = 0; j < x.size(); ++j) {
      if (x(j) != 0 || l(j) == 0) continue;
      const double slope = q.row(j).dot(x) + c(j);
      const double rounding =
          8 * corner_roundoff * (q.row(j).cwiseAbs().dot(x.cwiseAbs()) + std::abs(c(j)));
      const double beyond = std::abs(slope) - l(j) - rounding;
      if (beyond <= steepest) continue;
      steepest = beyond;
      entering = j;
      signs(j) = slope > 0 ? -1 : 1;
    }
    for (Index j = 0; j < x.size(); ++j) {
      if (x(j) == 0 && j != entering) signs(j) = 0;
    }
    if (entering < 0) return x;
  }
  return x;
}

NewtonResult minimize_with_corners(const SmoothFunction& function, VectorArg l, const Vector& start,
                                   const NewtonOptions& options) {
  NewtonResult result{.point = start};
  Vector& x = result.point;
  Vector gradient;
  Matrix hessian;
  for (; result.iterations <= options.max_iterations; ++result.iterations) {
    check_stop();
    result.value = function.derivatives(x, gradient, hessian);
    hessian.diagonal().array() +=
        corner_curvature * std::max(hessian.diagonal().maxCoeff(), corner_roundoff);
    const Vector next = corner_minimum(hessian, gradient - hessian * x, l, x);
    const Vector step = next - x;
    const double decrease = -gradient.dot(step) - l.dot(next.cwiseAbs()) + l.dot(x.cwiseAbs());
    result.decrement = std::max(decrease, 0.0) / 2;
    result.gradient_norm = largest_subgradient(gradient, l, x);
    const double size = 1 + x.cwiseAbs().maxCoeff();
    if (result.gradient_norm <= options.gradient_tolerance &&
        step.cwiseAbs().maxCoeff() <= corner_settled * size) {
      result.status = NewtonStatus::converged;
      return result;
    }
    const auto is_lower = [&](double length, const Vector& at) {
      return function.value(at) <= result.value - corner_decrease * length * decrease;
    };
    const bool is_rounding = decrease <= 8 * corner_roundoff * (1 + std::abs(result.value));
    if (is_rounding || is_lower(1, next)) {
      x = next;
      continue;
    }
    double length = 0.5;
    while (length > shortest_corner_step && !is_lower(length, x + length * step)) length /= 2;
    if (length <= shortest_corner_step) {
      result.status = NewtonStatus::stalled;
      return result;
    }
    x += length * step;
  }
  result.status = NewtonStatus::iteration_limit;
  return result;
}

}  // namespace ellice
