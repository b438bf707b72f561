#include "solver/absolute_path.hpp"

#include <gtest/gtest.h>

#include "solver/box_problems.hpp"
#include "solver/cone_projection.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::Oracle;

/// Where the conditions of theory.md, Result 6, fail most at a point, as a share of the price.
double worst_condition(const BoxProblem& problem, const Vector& x, const Vector& gradient,
                       double multiplier) {
  double worst = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double c = problem.cost.absolute[i];
    const double pull = multiplier * gradient[i] / c;  // upwards
    const double up = x[i] >= problem.query[i] ? 1 : -1;
    const double down = x[i] <= problem.query[i] ? -1 : 1;
    if (x[i] < problem.upper[i]) worst = std::max(worst, pull - up);
    if (x[i] > problem.lower[i]) worst = std::max(worst, down - pull);
  }
  return worst;
}

/// The path of a problem, from where it begins.
struct Followed {
  bool is_needed = false;
  bool arrives = false;
  Vector point = {};
  double multiplier = 0;
};

Followed follow(const Instance& instance, const BoxProblem& problem) {
  const BoxFactor factor(instance.theta, instance.hessian);
  const RobustLogit logit(factor.theta(), factor.inverse(), problem.epsilon);
  const BoxCost cost = {.d = Vector::Zero(problem.query.size()),
                        .c = problem.cost.absolute,
                        .center = problem.query,
                        .query = problem.query,
                        .lower = problem.lower,
                        .upper = problem.upper};
  RobustLogit::State state;
  state.x = problem.query.cwiseMax(problem.lower).cwiseMin(problem.upper);
  logit.evaluate(state);
  AbsolutePath path;
  Followed result{.is_needed = state.value < problem.threshold};
  result.arrives = result.is_needed && path.run(logit, cost, problem.threshold, state);
  result.point = state.x;
  result.multiplier = path.multiplier();
  return result;
}

/// Whether some point of the box passes.
bool is_possible(const Instance& instance, const BoxProblem& problem) {
  const BoxFactor factor(instance.theta, instance.hessian);
  return factor.maximize(problem.lower, problem.upper, problem.epsilon).logit > problem.threshold;
}

TEST(AbsolutePath, EndsAtTheThresholdWhereTheConditionsHold) {
  int reached = 0;
  int missed = 0;
  for (const Index d : {1, 3, 20, 67}) {
    for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
      SCOPED_TRACE(testing::Message() << "d " << d << " seed " << seed);
      const Instance instance = robust_problems::random_instance(d, 1e2, seed);
      const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian});
      const double epsilon = (seed % 2 == 0 ? 0.02 : 0.3) * cone.max_epsilon();
      const BoxProblem problem =
          box_problems::random_problem(instance, box_problems::Kind::absolute, epsilon, seed);
      const Followed found = follow(instance, problem);
      if (!found.is_needed) continue;
      if (!found.arrives) {
        missed += is_possible(instance, problem) ? 1 : 0;
        continue;
      }
      ++reached;
      const Oracle::Value at = Oracle(instance)(found.point, epsilon);
      EXPECT_NEAR(at.g, problem.threshold, 1e-11 * at.scale);
      EXPECT_LE(worst_condition(problem, found.point, at.gradient, found.multiplier), 1e-9);
    }
  }
  EXPECT_GT(reached, 60);
  EXPECT_LE(missed, reached / 50);
}

// Of a small ε what the score and the costs have in common is large, and nearly cancels.
TEST(AbsolutePath, KeepsItsDigitsWhereEpsilonIsSmall) {
  int reached = 0;
  for (const Index d : {1, 2, 5}) {
    for (const std::uint64_t seed : testing_support::seeds(0, 80)) {
      SCOPED_TRACE(testing::Message() << "d " << d << " seed " << seed);
      const Instance instance = robust_problems::random_instance(d, 1e4, seed);
      const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian});
      const double epsilon = 1e-5 * cone.max_epsilon();
      const BoxProblem problem =
          box_problems::random_problem(instance, box_problems::Kind::absolute, epsilon, seed);
      const Followed found = follow(instance, problem);
      if (!found.arrives) continue;
      ++reached;
      const Oracle::Value at = Oracle(instance)(found.point, epsilon);
      EXPECT_NEAR(at.g, problem.threshold, 1e-11 * at.scale);
    }
  }
  EXPECT_GT(reached, 60);
}

TEST(AbsolutePath, IsNotLostWhereManyChangeAtOnce) {
  int reached = 0;
  for (const Index d : {2, 5, 9, 20, 40}) {
    for (const std::uint64_t seed : testing_support::seeds(0, 30)) {
      SCOPED_TRACE(testing::Message() << "d " << d << " seed " << seed);
      const Instance instance = {.theta = Vector::Ones(d + 1),
                                 .hessian = Matrix::Identity(d + 1, d + 1)};
      Random random(seed);
      BoxProblem problem{.query = Vector::Zero(d),
                         .lower = Vector::Zero(d),
                         .upper = Vector(d),
                         .cost = {.absolute = Vector::Ones(d)},
                         .epsilon = 0.05};
      for (double& side : problem.upper) side = 1 + static_cast<double>(random.below(3));
      problem.threshold = 0.6 * static_cast<double>(d);
      const Followed found = follow(instance, problem);
      if (!found.is_needed || !is_possible(instance, problem)) continue;
      EXPECT_TRUE(found.arrives);
      ++reached;
    }
  }
  EXPECT_GT(reached, 60);
}

}  // namespace
}  // namespace ellice
