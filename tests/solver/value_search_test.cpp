#include "solver/value_search.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "solver/mixed_problems.hpp"
#include "solver/mixed_search.hpp"
#include "solver/value_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::random_instance;
using value_problems::Enumeration;

/// What lies within this of the threshold may count or not.
constexpr double unclear = 1e-9;

void expect_best(const Instance& instance, const MixedProblem& problem) {
  const BoxFactor factor(instance.theta, instance.hessian);
  const MixedResult result = ValueSearch(factor, problem).run();
  Enumeration enumeration(instance, problem);
  const double at_least = enumeration.best(-unclear);
  const double at_most = enumeration.best(unclear);
  ASSERT_NE(result.status, MixedStatus::limit);
  if (!result.found) {
    EXPECT_EQ(result.status, MixedStatus::infeasible);
    EXPECT_EQ(at_most, infinity);
    return;
  }
  EXPECT_EQ(result.status, MixedStatus::optimal);
  EXPECT_GE(result.objective, at_least * (1 - 1e-9) - 1e-12);
  EXPECT_LE(result.objective, at_most * (1 + 1e-9) + 1e-12);
  EXPECT_LE(result.lower_bound, result.objective);
  EXPECT_GE(result.lower_bound, result.objective * (1 - 1e-9));
  std::vector<bool> changed;
  EXPECT_NEAR(enumeration.cost_of(result.point, changed), result.objective,
              1e-9 * (1 + result.objective));
  EXPECT_TRUE(enumeration.is_allowed(changed, result.point));
  EXPECT_GE(enumeration.robust_logit(result.point), problem.threshold - 1e-12);
}

TEST(ValueSearch, EqualsEnumeration) {
  int tried = 0;
  int found = 0;
  int none = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 4000)) {
    SCOPED_TRACE(seed);
    const Index columns = 2 + static_cast<Index>(seed % 5);
    const Instance instance = random_instance(columns, seed % 3 == 0 ? 1000 : 30, seed + 1);
    MixedProblem problem = value_problems::random_problem(columns, seed + 77);
    if (seed % 4 != 0) {
      problem.threshold = Enumeration(instance, problem).robust_logit(problem.query) + 0.1 +
                          0.3 * static_cast<double>(seed % 11);
    }
    if (Enumeration(instance, problem).combinations() > 30000) continue;
    ++tried;
    expect_best(instance, problem);
    const BoxFactor factor(instance.theta, instance.hessian);
    const MixedResult result = ValueSearch(factor, problem).run();
    found += result.found && result.objective > 0 ? 1 : 0;
    none += result.found ? 0 : 1;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tried, 2500);
  EXPECT_GT(found, 700);
  EXPECT_GT(none, 300);
}

/// Numbers on grids of which hardly any row is robust: the threshold lies the share `below` of the
/// way from the most that the box reaches to what the query has.
MixedProblem nearly_out_of_reach(const Instance& instance, Index columns, double below,
                                 std::uint64_t seed) {
  Random random(seed);
  MixedProblem problem{.query = 0.5 * random.normal_vector(columns), .epsilon = 0.1};
  Vector lower = problem.query;
  Vector upper = problem.query;
  for (Index column = 0; column < columns; ++column) {
    MixedUnit unit{.column = column, .quadratic = 2 * std::exp(0.5 * random.normal())};
    unit.step = 0.04 + 0.1 * random.uniform() + (random.below(3) == 0 ? 0.4 : 0);
    unit.offset = problem.query[column];
    lower[column] = unit.lower = problem.query[column] - 1 - random.uniform();
    upper[column] = unit.upper = problem.query[column] + 1 + random.uniform();
    problem.units.push_back(std::move(unit));
  }
  const BoxFactor factor(instance.theta, instance.hessian);
  const double most = factor.maximize(lower, upper, problem.epsilon).logit;
  const double own = Enumeration(instance, problem).robust_logit(problem.query);
  problem.threshold = most - below * (most - own);
  return problem;
}

TEST(ValueSearch, EqualsEnumerationNearTheLargestEpsilon) {
  int found = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 150)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(3, seed % 2 == 0 ? 1000 : 30, seed + 1);
    const MixedProblem problem =
        nearly_out_of_reach(instance, 3, seed % 3 == 0 ? 0.005 : 0.05, seed);
    expect_best(instance, problem);
    found += Enumeration(instance, problem).best(unclear) < infinity ? 1 : 0;
  }
  EXPECT_GT(found, 30);
}

// Dives alone found nothing there, and multipliers of sweeps proved next to nothing.
TEST(ValueSearch, FindsRowsNearTheLargestEpsilon) {
  for (const std::uint64_t seed : testing_support::seeds(0, 6)) {
    SCOPED_TRACE(seed);
    const Index columns = 18;
    const Instance instance = random_instance(columns, 300, seed + 1);
    MixedProblem problem = nearly_out_of_reach(instance, columns, 0.15, seed);
    problem.node_limit = 1000;
    const MixedResult result =
        ValueSearch(BoxFactor(instance.theta, instance.hessian), problem).run();
    ASSERT_TRUE(result.found);
    EXPECT_GE(result.lower_bound, 0.4 * result.objective);
    const Enumeration judge(instance, problem);
    std::vector<bool> changed;
    EXPECT_NEAR(judge.cost_of(result.point, changed), result.objective, 1e-9 * result.objective);
    EXPECT_GE(judge.robust_logit(result.point), problem.threshold - 1e-12);
  }
}

/// Larger problems, numbers without grid and infinite ranges among them.
MixedProblem larger_problem(Index columns, std::uint64_t seed) {
  const auto shape = static_cast<mixed_problems::Shape>(seed % 3);
  MixedProblem problem = mixed_problems::random_problem(columns, shape, 0.01, seed);
  Random random(seed);
  for (MixedUnit& unit : problem.units) {
    if (unit.is_group() || unit.has_grid()) continue;
    if (random.below(3) == 0) continue;  // stays a number without grid
    unit.step = 0.05 + 0.3 * random.uniform();
    unit.offset = random.below(2) == 0 ? problem.query[unit.column] : 0.1;
    if (random.below(3) == 0) unit.lower = -infinity;
    if (random.below(3) == 0) unit.upper = infinity;
  }
  if (seed % 4 == 1) {
    LinearRule rule{.coefficients = random.normal_vector(columns), .tolerance = 1e-12};
    rule.upper = rule.coefficients.dot(problem.query) + 0.2;
    problem.rules.push_back(rule);
  }
  if (seed % 4 == 2) problem.max_changes = 3;
  if (seed % 4 == 3) problem.forbidden = {{0, 1}, {2}};
  return problem;
}

TEST(ValueSearch, IsNeverDearerThanBestFirst) {
  int compared = 0;
  int cheaper = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 150)) {
    SCOPED_TRACE(seed);
    const Index columns = 8 + static_cast<Index>(seed % 9);
    const Instance instance = random_instance(columns, 100, seed + 5);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = larger_problem(columns, seed + 9000);
    problem.threshold = robust_problems::Oracle(instance)(problem.query, problem.epsilon).g + 1.5;
    problem.node_limit = 300;
    const MixedResult now = ValueSearch(factor, problem).run();
    problem.node_limit = 20;
    ConicOracle oracle(factor, problem.epsilon);
    const MixedResult before = MixedSearch(oracle, problem).run();
    if (before.found) {
      ASSERT_TRUE(now.found);
      EXPECT_LE(now.objective, before.objective * (1 + 1e-8) + 1e-10);
      EXPECT_LE(now.lower_bound, before.objective * (1 + 1e-8) + 1e-10);
      ++compared;
      cheaper += now.objective < before.objective * (1 - 1e-8) ? 1 : 0;
    }
    if (now.found) {
      EXPECT_LE(before.lower_bound, now.objective * (1 + 1e-8) + 1e-10);
      EXPECT_NE(before.status, MixedStatus::infeasible);
    }
  }
  EXPECT_GT(compared, 80);
  EXPECT_GT(cheaper, 0);
}

TEST(ValueSearch, ARuleThatBindsNothingChangesNothing) {
  // Under rules numbers are solved by other code, whose last digits must not lose a part.
  int compared = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 150)) {
    Random random(seed);
    const robust_problems::Instance instance = robust_problems::random_instance(6, 100, seed);
    const double far = std::pow(10, static_cast<double>(random.below(4)));
    MixedProblem problem{.query = Vector::Zero(6), .epsilon = 0.03, .threshold = random.normal()};
    MixedUnit group{.column = 1, .width = 4};
    for (Index k = 0; k < 3; ++k)
      group.options.push_back({.values = Vector::Unit(4, k), .cost = random.uniform()});
    problem.query(4) = 1;  // his own option
    problem.units = {group};
    for (const Index column : {0, 5}) {
      problem.query(column) = far * random.normal();
      const double side = problem.query(column) > 0 ? 1 : -1;
      problem.units.push_back({.column = column,
                               .lower = side > 0 ? -2 : problem.query(column),
                               .upper = side > 0 ? problem.query(column) : 2,
                               .quadratic = 2});
    }
    const BoxFactor factor(instance.theta, instance.hessian);
    const MixedResult free = solve_mixed(factor, problem);
    problem.rules = {{.coefficients = Vector::Unit(6, 0), .lower = -1e6 * far, .tolerance = 1e-7}};
    const MixedResult ruled = solve_mixed(factor, problem);
    ASSERT_EQ(free.found, ruled.found) << seed;
    if (!free.found) continue;
    EXPECT_NEAR(free.objective, ruled.objective, 1e-8 * (1 + free.objective)) << seed;
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST(ValueSearch, WithFewChangesIsTheCheapestOfAllSetsOfUnits) {
  // Fine grids, where a set of changes that is not allowed has thousands of points.
  constexpr Index columns = 9;
  constexpr std::size_t most = 3;
  std::size_t nodes = 0;
  int limited = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 20)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(columns, 100, seed + 31);
    const BoxFactor factor(instance.theta, instance.hessian);
    Random random(seed);
    MixedProblem problem{.query = random.normal_vector(columns), .epsilon = 0.02};
    for (Index column = 0; column < columns; ++column) {
      problem.units.push_back({.column = column,
                               .lower = problem.query[column] - 3,
                               .upper = problem.query[column] + 3,
                               .step = 0.002 + 0.01 * random.uniform(),
                               .offset = problem.query[column],
                               .quadratic = 1 + random.uniform()});
    }
    problem.threshold = robust_problems::Oracle(instance)(problem.query, problem.epsilon).g + 3;
    const MixedResult free = ValueSearch(factor, problem).run();
    double cheapest = infinity;
    for (std::size_t i = 0; i < problem.units.size(); ++i) {
      for (std::size_t j = i + 1; j < problem.units.size(); ++j) {
        for (std::size_t k = j + 1; k < problem.units.size(); ++k) {
          MixedProblem part = problem;
          part.units = {problem.units[i], problem.units[j], problem.units[k]};
          const MixedResult best = ValueSearch(factor, part).run();
          ASSERT_NE(best.status, MixedStatus::limit);
          if (best.found) cheapest = std::min(cheapest, best.objective);
        }
      }
    }
    problem.max_changes = most;
    const MixedResult result = ValueSearch(factor, problem).run();
    ASSERT_EQ(result.found, cheapest < infinity);
    if (!result.found) continue;
    EXPECT_NEAR(result.objective, cheapest, 1e-9 * (1 + cheapest));
    limited += result.objective > free.objective * (1 + 1e-9) ? 1 : 0;
    nodes += result.nodes;
  }
  EXPECT_GT(limited, 5);
  EXPECT_LT(nodes, 100U);
}

/// Many numbers on fine grids that lean on each other, all of whose costs are linear: what a search
/// leaves open there is what its relaxation did not settle.
TEST(ValueSearch, ProvesTheNearestWhereCostsAreLinear) {
  int proved = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
    SCOPED_TRACE(seed);
    const Index columns = 13;
    const Instance instance = random_instance(columns, 300, seed + 11);
    const BoxFactor factor(instance.theta, instance.hessian);
    Random random(seed);
    MixedProblem problem{.query = random.normal_vector(columns), .epsilon = 0.01};
    BoxProblem relaxed{.query = problem.query,
                       .lower = problem.query.array() - 3,
                       .upper = problem.query.array() + 3,
                       .cost = {.absolute = Vector::Ones(columns)},
                       .epsilon = problem.epsilon};
    for (Index i = 0; i < columns; ++i) {
      problem.units.push_back({.column = i,
                               .lower = relaxed.lower[i],
                               .upper = relaxed.upper[i],
                               .step = 0.02 + 0.06 * random.uniform(),
                               .offset = problem.query[i],
                               .absolute = 1});
    }
    problem.threshold = robust_problems::Oracle(instance)(problem.query, problem.epsilon).g + 3;
    relaxed.threshold = problem.threshold;
    problem.node_limit = 50;
    const MixedResult result = ValueSearch(factor, problem).run();
    const BoxProjection between = factor.project(relaxed);  // by another solver, without grids
    if (between.status == BoxStatus::infeasible) {
      EXPECT_EQ(result.status, MixedStatus::infeasible);
      continue;
    }
    ASSERT_EQ(result.status, MixedStatus::optimal);
    EXPECT_GE(result.objective, between.lower_bound * (1 - 1e-9));
    EXPECT_LE(result.objective, between.objective + 0.08 * static_cast<double>(columns));
    ++proved;
  }
  EXPECT_GT(proved, 20);
}

TEST(ValueSearch, GivesTheSameTwice) {
  int limited = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 20)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(20, 100, seed + 5);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = larger_problem(20, seed + 300);
    problem.threshold = robust_problems::Oracle(instance)(problem.query, problem.epsilon).g + 2;
    problem.node_limit = 1;
    const MixedResult first = ValueSearch(factor, problem).run();
    const MixedResult second = ValueSearch(factor, problem).run();
    EXPECT_EQ(first.found, second.found);
    EXPECT_EQ(first.nodes, second.nodes);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    if (first.found) {
      EXPECT_EQ(first.point, second.point);
    }
    limited += first.status == MixedStatus::limit ? 1 : 0;
  }
  EXPECT_GT(limited, 0);
}

}  // namespace
}  // namespace ellice
