#include "solver/branch_and_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
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

void expect_equal(const std::vector<BoxFactor>& factors, const std::vector<Oracle>& oracles,
                  const MixedProblem& problem) {
  const MixedResult result = solve_mixed(factors, problem);
  const double expected = brute_force(factors, oracles, problem);
  if (std::isinf(expected)) {
    EXPECT_EQ(result.status, MixedStatus::infeasible);
    return;
  }
  // Where several constraints bind, a leaf may end with a gap that it states.
  const bool is_single = factors.size() == 1 && problem.rules.empty();
  ASSERT_TRUE(result.status == MixedStatus::optimal || (!is_single && result.found));
  EXPECT_NEAR(result.objective, expected, (is_single ? 1e-8 : 1e-7) * expected + 1e-12);
  EXPECT_LE(result.lower_bound, result.objective);
  EXPECT_GE(result.lower_bound, result.objective * (1 - (is_single ? 1e-9 : 1e-6)));
  for (const Oracle& oracle : oracles) {
    EXPECT_GE(oracle(result.point, problem.epsilon).g, problem.threshold);
  }
  for (const LinearRule& rule : problem.rules) {
    EXPECT_LE(rule.coefficients.dot(result.point), rule.upper + 1e-12);
    EXPECT_GE(rule.coefficients.dot(result.point), rule.lower - 1e-12);
  }
}

void expect_equal(const BoxFactor& factor, const Oracle& oracle, const MixedProblem& problem) {
  expect_equal(std::vector{factor}, std::vector{oracle}, problem);
}

TEST(BranchAndBound, EqualsBruteForce) {
  int moved = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 300)) {
    SCOPED_TRACE(seed);
    const Index d = 3 + static_cast<Index>(seed % 4);
    const Instance instance = random_instance(d, 30, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    const auto shape = static_cast<Shape>(seed % 3);
    MixedProblem problem = random_problem(d, shape, seed % 5 == 0 ? 0 : 0.02, seed + 1000);
    if (oracle(problem.query, problem.epsilon).g >= problem.threshold) continue;
    ++moved;
    expect_equal(factor, oracle, problem);
    problem.max_changes = 1 + seed % 3;
    expect_equal(factor, oracle, problem);
    for (MixedUnit& unit : problem.units) {
      unit.charge = 0.3;
      for (MixedOption& option : unit.options) option.cost += 0.3;
    }
    expect_equal(factor, oracle, problem);
    problem.max_changes.reset();
    expect_equal(factor, oracle, problem);
    problem.forbidden = {{0}, {1, 2}};
    if (problem.units.size() > 2) expect_equal(factor, oracle, problem);
  }
  EXPECT_GT(moved, 100);
}

TEST(BranchAndBound, ALimitLeavesABoundAndSaysSo) {
  int ended = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 60)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(24, 300, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(24, Shape::squares, 0.02, seed + 1000);
    problem.threshold += 4;
    if (oracle(problem.query, problem.epsilon).g >= problem.threshold) continue;
    const MixedResult whole = solve_mixed(factor, problem);
    problem.node_limit = 2;
    const MixedResult part = solve_mixed(factor, problem);
    EXPECT_LE(part.nodes, 2U);
    if (whole.found) {
      EXPECT_LE(part.lower_bound, whole.objective * (1 + 1e-9));
    }
    if (part.found) {
      EXPECT_GE(part.objective, whole.objective * (1 - 1e-9));
    }
    ended += part.status == MixedStatus::limit ? 1 : 0;
    EXPECT_NE(whole.status, MixedStatus::limit);
  }
  EXPECT_GT(ended, 5);
}

TEST(BranchAndBound, EqualsBruteForceUnderRulesAndSeveralCones) {
  int moved = 0;
  int bound = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 300)) {
    SCOPED_TRACE(seed);
    const Index d = 3 + static_cast<Index>(seed % 3);
    const Instance first = random_instance(d, 30, seed);
    std::vector<BoxFactor> factors;
    std::vector<Oracle> oracles;
    for (std::uint64_t k = 0; k < 1 + seed % 3; ++k) {
      Instance instance = random_instance(d, 30, seed + 7000 * k);
      if (k > 0) instance.theta = first.theta + 0.5 * instance.theta;
      factors.emplace_back(instance.theta, instance.hessian);
      oracles.emplace_back(instance);
    }
    const auto shape = static_cast<Shape>(seed % 3);
    MixedProblem problem = random_problem(d, shape, seed % 5 == 0 ? 0 : 0.02, seed + 1000);
    const MixedResult free = solve_mixed(factors, problem);
    // Where next to nothing is to do, the margin above the threshold is a part of the cost.
    if (!free.found || free.objective < 1e-3) continue;
    ++moved;
    expect_equal(factors, oracles, problem);
    // A rule that the answer without it breaks, and one that it may break.
    Random random(seed);
    const Vector normal = random.normal_vector(d);
    LinearRule rule{.coefficients = normal, .tolerance = 1e-13};
    const double at_free = normal.dot(free.point);
    const double at_query = normal.dot(problem.query);
    (at_free > at_query ? rule.upper : rule.lower) = 0.7 * at_free + 0.3 * at_query;
    problem.rules = {rule};
    expect_equal(factors, oracles, problem);
    LinearRule other{.coefficients = random.normal_vector(d), .tolerance = 1e-13};
    other.upper = other.coefficients.dot(free.point) + 0.2;
    other.lower = other.upper - 1.5;
    problem.rules.push_back(other);
    expect_equal(factors, oracles, problem);
    problem.max_changes = 2;
    expect_equal(factors, oracles, problem);
    problem.max_changes.reset();
    for (MixedUnit& unit : problem.units) unit.charge = 0.2;
    for (MixedUnit& unit : problem.units) {
      for (MixedOption& option : unit.options) option.cost += 0.2;
    }
    expect_equal(factors, oracles, problem);
    bound += solve_mixed(factors, problem).found ? 1 : 0;
  }
  EXPECT_GT(moved, 60);
  EXPECT_GT(bound, 20);
}

TEST(BranchAndBound, EqualityRulesHoldOnGrids) {
  // Whole numbers with 3a + 2b = 13: enumeration finds the best pair that is robust.
  const Instance instance{.theta = Vector{{1, 0.2, -2.5}}, .hessian = Matrix::Identity(3, 3)};
  const Oracle oracle(instance);
  const BoxFactor factor(instance.theta, instance.hessian);
  MixedProblem problem{.query = Vector{{1, 2}}, .epsilon = 0.001, .threshold = 0.1};
  for (const Index column : {0, 1}) {
    problem.units.push_back(
        {.column = column, .lower = -20, .upper = 20, .step = 1, .quadratic = 2});
  }
  problem.rules = {{.coefficients = Vector{{3, 2}}, .lower = 13, .upper = 13, .tolerance = 1e-12}};
  double best = infinity;
  for (int a = -20; a <= 20; ++a) {
    for (int b = -20; b <= 20; ++b) {
      const Vector x{{static_cast<double>(a), static_cast<double>(b)}};
      if (3 * a + 2 * b == 13 && oracle(x, problem.epsilon).g >= problem.threshold)
        best = std::min(best, (x - problem.query).squaredNorm());
    }
  }
  const MixedResult found = solve_mixed(factor, problem);
  ASSERT_EQ(found.status, MixedStatus::optimal);
  EXPECT_NEAR(found.objective, best, 1e-9);
  EXPECT_NEAR(3 * found.point[0] + 2 * found.point[1], 13, 1e-9);
}

TEST(BranchAndBound, AUnitThatMayNotStayMoves) {
  for (const std::uint64_t seed : testing_support::seeds(0, 60)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(4, 30, seed);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(4, static_cast<Shape>(seed % 3), 0.02, seed + 400);
    MixedUnit& unit = problem.units.front();
    unit.stays = false;
    if (!unit.is_group()) unit.lower = problem.query[unit.column] + 0.5;
    if (!unit.is_group()) unit.upper = unit.lower + 3;
    const MixedResult result = solve_mixed(factor, problem);
    if (!result.found) continue;
    EXPECT_NE(result.point.segment(unit.column, unit.width),
              problem.query.segment(unit.column, unit.width));
  }
}

TEST(BranchAndBound, NothingBeyondTheCutoffCounts) {
  int cut = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 60)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(5, 30, seed);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(5, Shape::both, 0.02, seed + 1000);
    const MixedResult free = solve_mixed(factor, problem);
    if (!free.found || free.objective == 0) continue;
    ++cut;
    problem.cutoff = 1.01 * free.objective;
    EXPECT_NEAR(solve_mixed(factor, problem).objective, free.objective, 1e-9 * free.objective);
    problem.cutoff = 0.99 * free.objective;
    EXPECT_EQ(solve_mixed(factor, problem).status, MixedStatus::infeasible);
  }
  EXPECT_GT(cut, 10);
}

TEST(BranchAndBound, RefusesWhatCannotBe) {
  const Instance instance = random_instance(2, 3, 1);
  const BoxFactor factor(instance.theta, instance.hessian);
  EXPECT_THROW((void)solve_mixed(factor, {.query = Vector::Zero(3)}), Error);
  EXPECT_THROW((void)solve_mixed(factor, {.query = Vector::Zero(2), .units = {{.column = 2}}}),
               Error);
  EXPECT_THROW((void)solve_mixed(factor, {.query = Vector::Zero(2), .units = {{}}}), Error);
  EXPECT_THROW((void)solve_mixed(factor, {.query = Vector::Zero(2), .forbidden = {{0}}}), Error);
}

}  // namespace
}  // namespace ellice
