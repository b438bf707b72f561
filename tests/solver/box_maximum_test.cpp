#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/box_problems.hpp"
#include "solver/box_projection.hpp"
#include "solver/cone_projection.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using box_problems::Kind;
using box_problems::random_problem;
using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

TEST(BoxMaximum, DistanceGrowsWithEpsilonUntilTheLargestFeasibleOne) {
  const Instance instance = random_instance(8, 1e2, 50);
  const BoxFactor factor(instance.theta, instance.hessian);
  int checked = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 12)) {
    SCOPED_TRACE(seed);
    BoxProblem problem = random_problem(instance, Kind::plain, 0, 60 + seed);
    problem.lower = problem.lower.cwiseMax(-8);
    problem.upper = problem.upper.cwiseMin(8);
    const BoxRadius radius = factor.max_epsilon(problem.lower, problem.upper, problem.threshold);
    EXPECT_FALSE(radius.truncated);
    EXPECT_LE(radius.upper_bound - radius.epsilon, 1e-9 * radius.epsilon);
    if (radius.epsilon == 0) continue;
    ++checked;
    double before = -1;
    for (const double share : {0.01, 0.3, 0.6, 0.9, 0.999, 1 - 1e-6}) {
      problem.epsilon = share * radius.epsilon;
      const BoxProjection answer = factor.project(problem);
      ASSERT_NE(answer.status, BoxStatus::infeasible) << share;
      EXPECT_GE(answer.margin, 0);
      EXPECT_GE(answer.objective, before * (1 - 1e-12));
      before = answer.objective;
    }
    problem.epsilon = radius.upper_bound * (1 + 1e-6);
    EXPECT_EQ(factor.project(problem).status, BoxStatus::infeasible);
  }
  EXPECT_GT(checked, 6);
}

TEST(BoxMaximum, NoGridPointIsRobustBeyondTheLargestEpsilon) {
  int checked = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 10)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(2, 30, 800 + seed);
    const Oracle oracle(instance);
    const Vector lower = Vector::Constant(2, -2);
    const Vector upper = Vector::Constant(2, 1.5);
    const BoxRadius radius =
        BoxFactor(instance.theta, instance.hessian).max_epsilon(lower, upper, 0.5);
    double best = 0;
    for (int i = 0; i <= 200; ++i) {
      for (int j = 0; j <= 200; ++j) {
        const Vector x = (Vector(2) << -2 + 3.5 * i / 200, -2 + 3.5 * j / 200).finished();
        const Oracle::Value at = oracle(x, 0);
        if (at.logit <= 0.5) continue;
        best = std::max(best, 0.5 * std::pow((at.logit - 0.5) / at.radius, 2));
      }
    }
    EXPECT_LE(best, radius.upper_bound * (1 + 1e-12));
    EXPECT_GE(best, 0.99 * radius.epsilon - 1e-6);
    checked += best > 0;
  }
  EXPECT_GT(checked, 4);
}

TEST(BoxMaximum, TheLargestEpsilonWithoutBoundsIsTheClosedForm) {
  const Instance instance = random_instance(6, 1e2, 42);
  const BoxFactor box(instance.theta, instance.hessian);
  const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian});
  const Vector unbounded = Vector::Constant(6, infinity);
  for (const double threshold : {-6.0, -3.0, 0.5}) {
    const BoxRadius radius = box.max_epsilon(-unbounded, unbounded, threshold);
    EXPECT_TRUE(radius.truncated);
    EXPECT_NEAR(radius.epsilon, cone.max_epsilon(Vector::Zero(6), threshold),
                1e-5 * radius.epsilon);
  }
}

TEST(BoxMaximum, TheMaximumOverTheBoxHasAMatchingBound) {
  for (const Index d : {1, 6, 30}) {
    const Instance instance = random_instance(d, 1e3, 70);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    Random random(3);
    for (const double epsilon : {0.0, 1e-3, 0.1, 3.0}) {
      const Vector lower = random.normal_vector(d).array() - 1.5;
      const Vector upper = lower.array() + 2 * random.normal_vector(d).array().abs();
      const BoxMaximum best = factor.maximize(lower, upper, epsilon);
      const Oracle::Value at = oracle(best.point, epsilon);
      EXPECT_NEAR(best.logit, at.g, 1e-10 * at.scale);
      EXPECT_LE(best.logit_bound - best.logit, 1e-10 * at.scale);
      for (int k = 0; k < 200; ++k) {
        Vector x(d);
        for (Index i = 0; i < d; ++i) x[i] = lower[i] + random.uniform() * (upper[i] - lower[i]);
        EXPECT_LE(oracle(x, epsilon).g, best.logit_bound + 1e-10 * at.scale);
      }
    }
  }
}

TEST(BoxMaximum, AnUnboundedMaximumComesWithARay) {
  const Instance instance = random_instance(4, 10, 71);
  const Oracle oracle(instance);
  const BoxFactor factor(instance.theta, instance.hessian);
  const double limit =
      ConeFactor({.theta = instance.theta, .hessian = instance.hessian}).max_epsilon();
  const Vector unbounded = Vector::Constant(4, infinity);
  const BoxMaximum below = factor.maximize(-unbounded, unbounded, 0.8 * limit);
  ASSERT_TRUE(below.ray);
  EXPECT_GT(oracle(below.point + 1e6 * *below.ray, 0.8 * limit).g, below.logit + 1);
  EXPECT_EQ(below.logit_bound, infinity);
  const BoxMaximum above = factor.maximize(-unbounded, unbounded, 1.5 * limit);
  EXPECT_FALSE(above.ray);
  EXPECT_NEAR(above.logit_bound, above.logit, 1e-6 * (1 + std::abs(above.logit)));
}

}  // namespace
}  // namespace ellice
