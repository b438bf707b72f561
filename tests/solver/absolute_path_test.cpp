#include "solver/absolute_path.hpp"

#include <gtest/gtest.h>

#include "solver/box_problems.hpp"
#include "solver/cone_projection.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

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

TEST(AbsolutePath, EndsAtTheThresholdWhereTheConditionsHold) {
  int reached = 0;
  int missed = 0;
  for (const Index d : {1, 3, 20, 67}) {
    for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
      SCOPED_TRACE(testing::Message() << "d " << d << " seed " << seed);
      const robust_problems::Instance instance = robust_problems::random_instance(d, 1e2, seed);
      const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian});
      const double epsilon = (seed % 2 == 0 ? 0.02 : 0.3) * cone.max_epsilon();
      const BoxProblem problem =
          box_problems::random_problem(instance, box_problems::Kind::absolute, epsilon, seed);
      const BoxFactor factor(instance.theta, instance.hessian);
      const RobustLogit logit(factor.theta(), factor.inverse(), epsilon);
      const BoxCost cost = {.d = Vector::Zero(d),
                            .c = problem.cost.absolute,
                            .center = problem.query,
                            .query = problem.query,
                            .lower = problem.lower,
                            .upper = problem.upper};
      RobustLogit::State state;
      state.x = problem.query.cwiseMax(problem.lower).cwiseMin(problem.upper);
      logit.evaluate(state);
      if (state.value >= problem.threshold) continue;
      AbsolutePath path;
      if (!path.run(logit, cost, problem.threshold, state)) {
        const BoxMaximum most = factor.maximize(problem.lower, problem.upper, epsilon);
        missed += most.logit > problem.threshold;
        continue;
      }
      ++reached;
      const Oracle::Value at = Oracle(instance)(state.x, epsilon);
      EXPECT_NEAR(at.g, problem.threshold, 1e-11 * at.scale);
      EXPECT_LE(worst_condition(problem, state.x, at.gradient, path.multiplier()), 1e-9);
    }
  }
  EXPECT_GT(reached, 60);
  EXPECT_LE(missed, reached / 50);
}

}  // namespace
}  // namespace ellice
