#include "solver/newton.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

TEST(Newton, ReachesTheMinimumOfAQuadraticInOneStep) {
  const Matrix h = problem_zoo::random_hessian(6, 100, Random(1));
  Random random(2);
  const Vector minimum = random.normal_vector(6);
  const SmoothFunction quadratic{
      .value = [&](VectorArg x) { return (x - minimum).dot(h * (x - minimum)) / 2; },
      .derivatives =
          [&](VectorArg x, Vector& g, Matrix& hessian) {
            g = h * (x - minimum);
            hessian = h;
            return (x - minimum).dot(h * (x - minimum)) / 2;
          }};
  const NewtonResult result = minimize_newton(quadratic, Vector::Zero(6));
  EXPECT_EQ(result.status, NewtonStatus::converged);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_LE((result.point - minimum).norm(), 1e-12);
}

/// Σ log cosh(aᵢᵀx): convex, nearly flat far out, where an undamped Newton step overshoots.
TEST(Newton, IsDampedWhereTheFullStepOvershoots) {
  const auto value = [](double t) {
    return std::abs(t) + std::log1p(std::exp(-2 * std::abs(t))) - std::log(2.0);
  };
  const SmoothFunction function{
      .value = [&](VectorArg x) { return value(x(0)) + 1e-3 * x(0) * x(0) / 2; },
      .derivatives =
          [&](VectorArg x, Vector& g, Matrix& h) {
            g(0) = std::tanh(x(0)) + 1e-3 * x(0);
            h(0, 0) = 1 / (std::cosh(x(0)) * std::cosh(x(0))) + 1e-3;
            return value(x(0)) + 1e-3 * x(0) * x(0) / 2;
          }};
  const NewtonResult result = minimize_newton(function, Vector::Constant(1, 20));
  EXPECT_EQ(result.status, NewtonStatus::converged);
  EXPECT_NEAR(result.point(0), 0, 1e-10);
}

TEST(Newton, DoesNotCallAFunctionWithoutMinimiserConverged) {
  const SmoothFunction decay{.value = [](VectorArg x) { return std::exp(-x(0)); },
                             .derivatives =
                                 [](VectorArg x, Vector& g, Matrix& h) {
                                   g(0) = -std::exp(-x(0));
                                   h(0, 0) = std::exp(-x(0));
                                   return h(0, 0);
                                 }};
  const NewtonResult result = minimize_newton(decay, Vector::Zero(1), {.max_iterations = 100});
  EXPECT_LT(result.gradient_norm, 1e-10);
  EXPECT_EQ(result.status, NewtonStatus::iteration_limit);
}

TEST(Newton, StaysInTheRangeOfASingularHessian) {
  // ½(x₀ + x₁ − 2)²: every point of a line is a minimum; the one nearest to the start is found.
  const SmoothFunction valley{.value = [](VectorArg x) { return std::pow(x.sum() - 2, 2) / 2; },
                              .derivatives =
                                  [](VectorArg x, Vector& g, Matrix& h) {
                                    g.setConstant(x.sum() - 2);
                                    h.setOnes();
                                    return std::pow(x.sum() - 2, 2) / 2;
                                  }};
  const NewtonResult result = minimize_newton(valley, Vector::Zero(2));
  EXPECT_EQ(result.status, NewtonStatus::converged);
  EXPECT_TRUE(result.singular);
  EXPECT_NEAR(result.point(0), 1, 1e-12);
  EXPECT_NEAR(result.point(1), 1, 1e-12);
}

TEST(Newton, ChecksItsOptions) {
  EXPECT_THROW((void)minimize_newton({}, Vector::Zero(1), {.gradient_tolerance = 0}), Error);
  EXPECT_THROW((void)minimize_newton({}, Vector::Zero(1), {.max_iterations = 0}), Error);
}

}  // namespace
}  // namespace ellice
