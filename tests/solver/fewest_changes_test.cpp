#include "solver/fewest_changes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "solver/mixed_problems.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using mixed_problems::brute_force;
using mixed_problems::random_problem;
using mixed_problems::Shape;
using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

/// The smallest number of changes that leads anywhere, and the least cost with so many.
void expect_fewest(const BoxFactor& factor, const Oracle& oracle, const MixedProblem& problem) {
  const FewestChanges fewest = solve_fewest(factor, problem);
  MixedProblem limited = problem;
  for (std::size_t changes = 1; changes <= problem.units.size(); ++changes) {
    limited.max_changes = changes;
    const double expected = brute_force({factor}, {oracle}, limited);
    if (std::isinf(expected)) continue;
    if (problem.max_changes && changes > *problem.max_changes) break;
    ASSERT_EQ(fewest.result.status, MixedStatus::optimal);
    EXPECT_TRUE(fewest.proved);
    EXPECT_EQ(fewest.changes, changes);
    EXPECT_NEAR(fewest.result.objective, expected, 1e-8 * expected + 1e-12);
    EXPECT_LE(fewest.result.lower_bound, fewest.result.objective);
    EXPECT_GE(fewest.result.lower_bound, fewest.result.objective * (1 - 1e-9));
    EXPECT_GE(oracle(fewest.result.point, problem.epsilon).g, problem.threshold);
    return;
  }
  EXPECT_EQ(fewest.result.status, MixedStatus::infeasible);
}

TEST(FewestChanges, EqualsBruteForce) {
  int moved = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 400)) {
    SCOPED_TRACE(seed);
    const Index d = 3 + static_cast<Index>(seed % 5);
    const Instance instance = random_instance(d, 30, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    const auto shape = static_cast<Shape>(seed % 3);
    MixedProblem problem = random_problem(d, shape, seed % 5 == 0 ? 0 : 0.02, seed + 2000);
    if (oracle(problem.query, problem.epsilon).g >= problem.threshold) continue;
    ++moved;
    expect_fewest(factor, oracle, problem);
    if (problem.units.size() > 2) {
      problem.forbidden = {{0}, {1, 2}};
      expect_fewest(factor, oracle, problem);
    }
    for (MixedUnit& unit : problem.units) {
      unit.charge = 0.3;
      for (MixedOption& option : unit.options) option.cost += 0.3;
    }
    problem.max_changes = 2;
    expect_fewest(factor, oracle, problem);
  }
  EXPECT_GT(moved, 150);
}

TEST(FewestChanges, ALimitNeverMakesAFalseClaim) {
  int ended = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 24)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(36, 80, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(36, Shape::squares, 0.02, seed + 1000);
    if (oracle(problem.query, problem.epsilon).g >= problem.threshold) continue;
    const FewestChanges whole = solve_fewest(factor, problem);
    problem.node_limit = 1;
    const FewestChanges part = solve_fewest(factor, problem);
    if (!whole.result.found) {
      EXPECT_FALSE(part.result.found);
      continue;
    }
    if (part.result.status == MixedStatus::limit || !part.proved) ++ended;
    if (part.result.found && part.proved) {
      EXPECT_EQ(part.changes, whole.changes);
      EXPECT_LE(part.result.lower_bound, whole.result.objective * (1 + 1e-9));
      EXPECT_GE(part.result.objective, whole.result.objective * (1 - 1e-9));
    }
  }
  EXPECT_GT(ended, 3);
}

}  // namespace
}  // namespace ellice
