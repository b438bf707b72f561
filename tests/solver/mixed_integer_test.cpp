#include "solver/mixed_integer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

constexpr double seconds = 30;

#define SKIP_WITHOUT_CBC() \
  if (!has_mixed_integer()) GTEST_SKIP() << "skipped: built without CBC"

/// A knapsack with one continuous item.
MixedInteger random_knapsack(Index items, std::uint64_t seed) {
  Random random(seed);
  MixedInteger problem;
  MixedInteger::Row row{.upper = 2};
  for (Index j = 0; j < items; ++j) {
    const Index item = problem.add_variable({.upper = 1, .cost = -random.uniform(), .whole = true});
    row.terms.push_back({item, random.uniform()});
  }
  const Index part = problem.add_variable({.upper = 0.7, .cost = -0.3});
  row.terms.push_back({part, 0.9});
  problem.add_row(row);
  return problem;
}

/// Every choice of the whole items; the continuous one then takes what is left.
double knapsack_by_enumeration(const MixedInteger& problem) {
  const auto& variables = problem.variables();
  const auto& terms = problem.rows().front().terms;
  const std::size_t items = variables.size() - 1;
  double best = MixedInteger::infinity;
  for (std::size_t choice = 0; choice < (std::size_t{1} << items); ++choice) {
    double weight = 0;
    double cost = 0;
    for (std::size_t j = 0; j < items; ++j) {
      if ((choice >> j & 1) == 0) continue;
      weight += terms[j].factor;
      cost += variables[j].cost;
    }
    const double left = problem.rows().front().upper - weight;
    if (left < 0) continue;
    const double part = std::min(variables.back().upper, left / terms.back().factor);
    best = std::min(best, cost + part * variables.back().cost);
  }
  return best;
}

TEST(MixedInteger, FindsTheBestOfAllChoices) {
  SKIP_WITHOUT_CBC();
  for (const std::uint64_t seed : testing_support::seeds(1, 20)) {
    SCOPED_TRACE(seed);
    const MixedInteger problem = random_knapsack(9, seed);
    const MixedIntegerSolution solution = solve(problem, seconds);
    ASSERT_EQ(solution.status, MixedIntegerStatus::optimal);
    EXPECT_NEAR(solution.objective, knapsack_by_enumeration(problem), 1e-8) << "seed " << seed;
  }
}

TEST(MixedInteger, SolvesALinearProgramExactly) {
  SKIP_WITHOUT_CBC();
  // min x + y over x + 2y ≥ 4, 3x + y ≥ 6, x free below: at x = 1.6, y = 1.2.
  MixedInteger problem;
  const Index x = problem.add_variable({.lower = -MixedInteger::infinity, .cost = 1});
  const Index y = problem.add_variable({.cost = 1});
  problem.add_row({.terms = {{x, 1}, {y, 2}}, .lower = 4});
  problem.add_row({.terms = {{x, 2}, {y, 1}, {x, 1}}, .lower = 6});
  const MixedIntegerSolution solution = solve(problem, seconds);
  ASSERT_EQ(solution.status, MixedIntegerStatus::optimal);
  EXPECT_NEAR(solution.values[x], 1.6, 1e-9);
  EXPECT_NEAR(solution.values[y], 1.2, 1e-9);
  EXPECT_NEAR(solution.objective, 2.8, 1e-9);
}

TEST(MixedInteger, ProvesInfeasibility) {
  SKIP_WITHOUT_CBC();
  for (const bool whole : {false, true}) {
    MixedInteger infeasible;
    const Index v = infeasible.add_variable({.upper = 1, .cost = 1, .whole = whole});
    infeasible.add_row({.terms = {{v, 1}}, .lower = 0.25, .upper = whole ? 0.75 : 0.2});
    EXPECT_EQ(solve(infeasible, seconds).status, MixedIntegerStatus::infeasible);
  }
}

TEST(MixedInteger, IsSilentAndKeepsTheHandlerOfInterrupts) {
  SKIP_WITHOUT_CBC();
  const auto before = std::signal(SIGINT, SIG_IGN);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  (void)solve(random_knapsack(9, 3), seconds);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::signal(SIGINT, before), SIG_IGN);
}

TEST(MixedInteger, GivesTheSameFromSeveralThreads) {
  SKIP_WITHOUT_CBC();
  std::vector<Vector> found(24);
  parallel_for("solving", found.size(), {.threads = 4}, [&](std::size_t i) {
    found[i] = solve(random_knapsack(9, 100 + i % 3), seconds).values;
  });
  for (std::size_t i = 3; i < found.size(); ++i) EXPECT_EQ(found[i], found[i % 3]);
}

TEST(MixedInteger, RefusesVariablesThatDoNotExist) {
  MixedInteger problem;
  EXPECT_THROW(problem.add_row({.terms = {{0, 1}}}), Error);
  EXPECT_THROW(problem.add_variable({.lower = 1, .upper = 0}), Error);
  (void)problem.add_binary();
  EXPECT_THROW((void)solve(problem, 0), Error);
}

}  // namespace
}  // namespace ellice
