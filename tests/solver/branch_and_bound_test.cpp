#include "ellice/solver/branch_and_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/solver/fewest_changes.hpp"
#include "solver/robust_problems.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

constexpr double infinity = std::numeric_limits<double>::infinity();

enum class Shape { squares, absolutes, both };

/// Some units of every kind, in the columns of an instance.
MixedProblem random_problem(Index d, Shape shape, double epsilon, std::uint64_t seed) {
  Random random(seed);
  MixedProblem problem{
      .query = random.normal_vector(d), .epsilon = epsilon, .threshold = random.normal()};
  for (Index column = 0; column < d;) {
    MixedUnit unit{.column = column};
    const std::uint64_t kind = random.below(5);
    if (kind == 0 && column + 3 <= d) {  // a category of three levels
      unit.width = 3;
      problem.query.segment(column, 3) = Vector::Unit(3, 0);
      const double weight = std::exp(random.normal());
      for (Index k = 1; k < 3; ++k)
        unit.options.push_back({.values = Vector::Unit(3, k), .cost = 2 * weight});
    } else {
      const double weight = std::exp(random.normal());
      if (shape != Shape::absolutes) unit.quadratic = 2 * weight;
      if (shape != Shape::squares) unit.absolute = weight;
      const double query = problem.query[column];
      unit.lower = query - 2 * random.uniform();
      unit.upper = query + 2 * random.uniform();
      if (random.below(4) == 0) unit.lower = query + 0.3;  // the query lies outside
      if (unit.upper < unit.lower) unit.upper = unit.lower + 1;
      if (kind == 1 || kind == 0) {
        unit.step = 0.2 + 0.5 * random.uniform();
        unit.offset = random.below(2) == 0 ? query : random.normal();
      } else if (kind == 2) {
        for (int k = 0; k < 4; ++k) unit.values.push_back(query + 1.5 * random.normal());
        std::sort(unit.values.begin(), unit.values.end());
        unit.lower = -infinity;
        unit.upper = infinity;
      }
    }
    column += unit.width;
    problem.units.push_back(unit);
  }
  return problem;
}

/// Everything that a unit may do by itself: own value, grid values, options; a number without grid
/// moves freely (one entry for that).
struct Deed {
  bool moves = false;
  bool free = false;
  Vector values = {};
  double cost = 0;
};

std::vector<Deed> deeds(const MixedUnit& unit, double query) {
  std::vector<Deed> result = {{}};
  const auto number = [&](double value) {
    if (value < unit.lower || value > unit.upper || std::abs(value - query) < 1e-9) return;
    const double move = value - query;
    result.push_back(
        {.moves = true,
         .values = Vector::Constant(1, value),
         .cost = unit.quadratic / 2 * move * move + unit.absolute * std::abs(move) + unit.charge});
  };
  if (unit.is_group()) {
    for (const MixedOption& option : unit.options)
      result.push_back({.moves = true, .values = option.values, .cost = option.cost});
  } else if (unit.step) {
    for (int k = -200; k <= 200; ++k) number(unit.offset + k * *unit.step);
  } else if (!unit.values.empty()) {
    for (const double value : unit.values) number(value);
  } else {
    result.push_back({.moves = true, .free = true, .cost = unit.charge});
  }
  return result;
}

/// Tries every combination; the numbers without grid are solved for each.
double brute_force(const std::vector<BoxFactor>& factors, const std::vector<Oracle>& oracles,
                   const MixedProblem& problem) {
  std::vector<std::vector<Deed>> all;
  for (const MixedUnit& unit : problem.units)
    all.push_back(deeds(unit, problem.query[unit.column]));
  double best = infinity;
  std::vector<std::size_t> pick(all.size(), 0);
  const std::size_t most = problem.max_changes.value_or(all.size());
  const std::function<void(std::size_t, std::size_t, double)> visit =
      [&](std::size_t u, std::size_t changes, double paid) {
        if (changes > most || paid >= best) return;
        if (u < all.size()) {
          for (pick[u] = 0; pick[u] < all[u].size(); ++pick[u]) {
            const Deed& deed = all[u][pick[u]];
            visit(u + 1, changes + (deed.moves ? 1 : 0), paid + deed.cost);
          }
          return;
        }
        for (const auto& set : problem.forbidden) {
          if (std::all_of(set.begin(), set.end(), [&](std::size_t v) { return pick[v] > 0; }))
            return;
        }
        const Index d = problem.query.size();
        BoxProblem box{.query = problem.query,
                       .lower = problem.query,
                       .upper = problem.query,
                       .cost = {.quadratic = Vector::Zero(d), .absolute = Vector::Zero(d)},
                       .epsilon = problem.epsilon,
                       .threshold = problem.threshold};
        bool free = false;
        for (std::size_t v = 0; v < all.size(); ++v) {
          const MixedUnit& unit = problem.units[v];
          const Deed& deed = all[v][pick[v]];
          if (deed.free) {
            free = true;
            box.lower[unit.column] = unit.lower;
            box.upper[unit.column] = unit.upper;
          } else if (deed.moves) {
            box.query.segment(unit.column, unit.width) = deed.values;
            box.lower.segment(unit.column, unit.width) = deed.values;
            box.upper.segment(unit.column, unit.width) = deed.values;
          }
          // Held columns cost nothing, but the solver wants weights for all.
          box.cost.quadratic.segment(unit.column, unit.width).setConstant(unit.quadratic);
          box.cost.absolute.segment(unit.column, unit.width).setConstant(unit.absolute);
        }
        const double quadratic = box.cost.quadratic.maxCoeff();
        const double absolute = box.cost.absolute.maxCoeff();
        for (Index i = 0; i < d; ++i) {
          if (quadratic > 0 && box.cost.quadratic[i] == 0) box.cost.quadratic[i] = 1;
          if (quadratic == 0 && absolute > 0 && box.cost.absolute[i] == 0) box.cost.absolute[i] = 1;
        }
        if (!free) {
          for (const Oracle& oracle : oracles) {
            if (oracle(box.lower, problem.epsilon).g < problem.threshold) return;
          }
          for (const LinearRule& rule : problem.rules) {
            const double value = rule.coefficients.dot(box.lower);
            if (value > rule.upper + 1e-12 || value < rule.lower - 1e-12) return;
          }
          best = std::min(best, paid);
          return;
        }
        if (factors.size() == 1 && problem.rules.empty()) {
          const BoxProjection solved = factors[0].project(box);
          if (solved.status == BoxStatus::infeasible || solved.margin < 0) return;
          best = std::min(best, paid + solved.objective);
          return;
        }
        IntersectionProblem rest{.query = box.query,
                                 .lower = box.lower,
                                 .upper = box.upper,
                                 .cost = box.cost,
                                 .rules = problem.rules};
        for (const BoxFactor& factor : factors) {
          rest.cones.push_back(
              {.factor = &factor, .epsilon = problem.epsilon, .threshold = problem.threshold});
        }
        const ConeIntersection solved = intersect_cones(rest);
        if (solved.feasible) best = std::min(best, paid + solved.objective);
      };
  visit(0, 0, 0);
  return best;
}

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
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
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
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Instance instance = random_instance(8, 30, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(8, Shape::squares, 0.02, seed + 1000);
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
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
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
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
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
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
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
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Instance instance = random_instance(14, 30, seed);
    const Oracle oracle(instance);
    const BoxFactor factor(instance.theta, instance.hessian);
    MixedProblem problem = random_problem(14, Shape::squares, 0.02, seed + 1000);
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

TEST(BranchAndBound, NothingBeyondTheCutoffCounts) {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
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
