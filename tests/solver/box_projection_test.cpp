#include "solver/box_projection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "solver/allocation_count.hpp"
#include "solver/box_cost.hpp"
#include "solver/box_problems.hpp"
#include "solver/cone_projection.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

/// The dual of an absolute cost with one linear constraint, by all its corners.
double best_dual_bound(const BoxCost& cost, const RobustLogit::State& state, double threshold) {
  double best = 0;
  for (Index j = 0; j < cost.c.size(); ++j) {
    const double m = cost.c[j] / std::abs(state.gradient[j]);
    long double sum = -static_cast<long double>(m) * (state.value - threshold);
    for (Index i = 0; i < cost.c.size(); ++i) {
      const auto paid = [&](double x) {
        return cost.c[i] * std::abs(static_cast<long double>(x) - cost.query[i]) -
               static_cast<long double>(m) * state.gradient[i] * (x - state.x[i]);
      };
      sum += std::min({paid(cost.lower[i]), paid(cost.upper[i]), paid(cost.query[i])});
    }
    best = std::max(best, static_cast<double>(sum));
  }
  return best;
}

TEST(Linearised, AbsoluteCostsHaveTheirBestMultiplierAtAJump) {
  int above = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index d = 1 + static_cast<Index>(random.below(20));
    BoxCost cost;
    cost.d = Vector::Zero(d);
    cost.c = random.normal_vector(d).cwiseAbs().array() + 0.1;
    cost.center = cost.query = random.normal_vector(d);
    cost.lower = cost.query.array() - 2;
    cost.upper = cost.query.array() + 2;
    RobustLogit::State state;
    state.x = cost.query;
    state.gradient = random.normal_vector(d);
    state.scale = 1;
    const double reach = 2 * state.gradient.cwiseAbs().sum();
    const double threshold = 1.2 * reach * random.uniform();
    const Linearised linearised(cost, state, threshold);
    for (const double guess : {0.0, 1e-6, 1.0, 1e6}) {
      EXPECT_EQ(linearised.multiplier(guess).has_value(), threshold <= reach);
      if (threshold > reach) continue;
      const double expected = best_dual_bound(cost, state, threshold);
      EXPECT_NEAR(linearised.best_bound(guess).value, expected, 1e-12 * (1 + expected));
    }
    above += threshold > reach;
  }
  EXPECT_GT(above, 5);
}

using box_problems::Kind;
using box_problems::random_problem;
using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

double cost_of(const BoxProblem& problem, const Vector& x) {
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double move = x[i] - problem.query[i];
    const double quadratic = problem.cost.quadratic.size() > 0  ? problem.cost.quadratic[i]
                             : problem.cost.absolute.size() > 0 ? 0
                                                                : 1;
    sum += 0.5 * quadratic * move * move;
    if (problem.cost.absolute.size() > 0) sum += problem.cost.absolute[i] * std::abs(move);
  }
  return sum;
}

// min over [lo, hi] of ½q(x−x0)² + c|x−x0| − v(x − xh), by trying every candidate for the minimum.
double coordinate_minimum(double q, double c, double x0, double lo, double hi, double v,
                          double xh) {
  std::vector<double> candidates = {lo, hi, std::clamp(x0, lo, hi)};
  if (q > 0) {
    candidates.push_back(std::clamp(x0 + (v - c) / q, lo, hi));
    candidates.push_back(std::clamp(x0 + (v + c) / q, lo, hi));
  } else if ((hi == infinity && v > c) || (lo == -infinity && v < -c)) {
    return -infinity;
  }
  double best = infinity;
  for (const double x : candidates) {
    if (!std::isfinite(x)) continue;
    best = std::min(best, 0.5 * q * (x - x0) * (x - x0) + c * std::abs(x - x0) - v * (x - xh));
  }
  return best;
}

// The dual bound of the linearisation of g at the point, maximised over the multiplier by ternary
// search.
double dual_bound(const BoxProblem& problem, const Oracle::Value& at, const Vector& x,
                  double multiplier) {
  const auto bound = [&](double m) {
    double sum = -m * (at.g - problem.threshold);
    for (Index i = 0; i < x.size(); ++i) {
      const double c = problem.cost.absolute.size() > 0 ? problem.cost.absolute[i] : 0;
      const double q = problem.cost.quadratic.size() > 0  ? problem.cost.quadratic[i]
                       : problem.cost.absolute.size() > 0 ? 0
                                                          : 1;
      sum += coordinate_minimum(q, c, problem.query[i], problem.lower[i], problem.upper[i],
                                m * at.gradient[i], x[i]);
    }
    return sum;
  };
  double low = 0.5 * multiplier;
  double high = 2 * multiplier;
  for (int i = 0; i < 200; ++i) {
    const double first = low + (high - low) / 3;
    const double second = high - (high - low) / 3;
    (bound(first) < bound(second) ? low : high) = bound(first) < bound(second) ? first : second;
  }
  return std::max({bound(low), bound(high), bound(multiplier)});
}

void expect_in_box(const BoxProblem& problem, const Vector& x) {
  EXPECT_TRUE((x.array() >= problem.lower.array()).all());
  EXPECT_TRUE((x.array() <= problem.upper.array()).all());
}

void expect_optimal(const Oracle& oracle, const BoxProblem& problem, const BoxProjection& answer,
                    double gap, double slack) {
  ASSERT_EQ(answer.status, BoxStatus::optimal)
      << "gap " << answer.relative_gap << " margin " << answer.margin << " bound "
      << answer.logit_bound << " iterations " << answer.iterations;
  expect_in_box(problem, answer.point);
  const Oracle::Value at = oracle(answer.point, problem.epsilon);
  EXPECT_LE(std::abs(at.g - problem.threshold), slack * at.scale);
  const double cost = cost_of(problem, answer.point);
  EXPECT_NEAR(answer.objective, cost, 1e-12 * cost);
  const double rounding = 1e-12 * at.scale * answer.multiplier;
  EXPECT_LE(cost - dual_bound(problem, at, answer.point, answer.multiplier), gap * cost + rounding);
  EXPECT_LE(answer.relative_gap, gap + rounding / cost);
  EXPECT_GE(answer.margin, 0);
}

void expect_infeasible(const Oracle& oracle, const BoxProblem& problem,
                       const BoxProjection& answer) {
  ASSERT_EQ(answer.status, BoxStatus::infeasible);
  expect_in_box(problem, answer.point);
  const Oracle::Value at = oracle(answer.point, problem.epsilon);
  double bound = at.g;
  for (Index i = 0; i < answer.point.size(); ++i) {
    const double gradient = at.gradient[i];
    const double reach = (gradient > 0 ? problem.upper[i] : problem.lower[i]) - answer.point[i];
    if (std::isfinite(reach)) bound += gradient * reach;
  }
  EXPECT_LT(bound, problem.threshold + 1e-9 * at.scale);
  EXPECT_LT(answer.logit_bound, problem.threshold);
  EXPECT_LE(at.g, answer.logit_bound + 1e-9 * at.scale);
}

struct Tally {
  int optimal = 0, infeasible = 0, feasible = 0;
};

Tally check_random_problems(Kind kind, Index d, double condition, int count, double gap,
                            double slack, std::uint64_t seed) {
  Tally tally;
  const Instance instance = random_instance(d, condition, seed);
  const Oracle oracle(instance);
  const BoxFactor factor(instance.theta, instance.hessian);
  const double max_epsilon =
      ConeFactor({.theta = instance.theta, .hessian = instance.hessian}).max_epsilon();
  for (const double share : {0.0, 1e-6, 0.01, 0.1, 0.5, 0.99, 1.5}) {
    for (int k = 0; k < count; ++k) {
      const BoxProblem problem = random_problem(instance, kind, share * max_epsilon, ++seed * 7919);
      SCOPED_TRACE(testing::Message() << "d " << d << " condition " << condition << " share "
                                      << share << " problem " << k);
      const BoxProjection answer = factor.project(problem);
      const Vector nearest = problem.query.cwiseMax(problem.lower).cwiseMin(problem.upper);
      if (oracle(nearest, problem.epsilon).g >= problem.threshold) {
        ++tally.feasible;
        EXPECT_EQ(answer.point, nearest);
      } else if (answer.status == BoxStatus::infeasible) {
        ++tally.infeasible;
        expect_infeasible(oracle, problem, answer);
      } else {
        ++tally.optimal;
        expect_optimal(oracle, problem, answer, gap, slack);
      }
    }
  }
  return tally;
}

TEST(BoxProjection, IsCertifiedOptimalOrInfeasibleForWeightedSquares) {
  Tally sum;
  for (const Index d : {1, 2, 4, 11, 20, 67}) {
    for (const double condition : {1e1, 1e4}) {
      const Tally tally = check_random_problems(Kind::weighted, d, condition, d < 50 ? 15 : 5, 1e-9,
                                                1e-10, static_cast<std::uint64_t>(d));
      sum.optimal += tally.optimal;
      sum.infeasible += tally.infeasible;
    }
  }
  EXPECT_GT(sum.optimal, 200);
  EXPECT_GT(sum.infeasible, 100);
}

TEST(BoxProjection, IsCertifiedOptimalForIllConditionedCurvature) {
  check_random_problems(Kind::plain, 12, 1e8, 15, 1e-6, 1e-7, 77);
  check_random_problems(Kind::weighted, 40, 1e8, 5, 1e-6, 1e-7, 78);
}

TEST(BoxProjection, IsCertifiedOptimalForWeightedAbsoluteValues) {
  for (const Index d : {2, 5, 20}) {
    const Tally tally = check_random_problems(Kind::absolute, d, 1e2, 12, 1e-9, 1e-10,
                                              1000 + static_cast<std::uint64_t>(d));
    EXPECT_GT(tally.optimal, 10);
  }
}

TEST(BoxProjection, IsCertifiedOptimalForAbsoluteValuesAndSquares) {
  for (const Index d : {2, 5, 20}) {
    const Tally tally = check_random_problems(Kind::both, d, 1e3, 12, 1e-9, 1e-10,
                                              2000 + static_cast<std::uint64_t>(d));
    EXPECT_GT(tally.optimal, 10);
  }
}

TEST(BoxProjection, IsCertifiedOptimalInThreeHundredDimensions) {
  const Tally tally = check_random_problems(Kind::plain, 300, 1e3, 1, 1e-9, 1e-10, 31);
  EXPECT_GE(tally.optimal, 2);
}

TEST(BoxProjection, WithoutBoundsItIsTheConeProjection) {
  for (const Index d : {3, 20}) {
    const Instance instance = random_instance(d, 1e2, 5);
    const BoxFactor box(instance.theta, instance.hessian);
    Vector weights = Random(4).normal_vector(d).array().exp();
    const ConeFactor cone(
        {.theta = instance.theta, .hessian = instance.hessian, .weights = weights});
    for (const std::uint64_t seed : testing_support::seeds(0, 10)) {
      SCOPED_TRACE(seed);
      const Vector x0 = Random(seed).normal_vector(d);
      BoxProblem problem = {.query = x0,
                            .lower = Vector::Constant(d, -infinity),
                            .upper = Vector::Constant(d, infinity),
                            .cost = {.quadratic = weights},
                            .epsilon = 0.4 * cone.max_epsilon(),
                            .threshold = 1};
      const ConeProjection expected =
          cone.project(x0, {.epsilon = problem.epsilon, .threshold = 1});
      const BoxProjection cold = box.project(problem);
      EXPECT_LE((cold.point - expected.point).norm(), 1e-7 * (1 + expected.point.norm()));
      EXPECT_NEAR(2 * cold.objective, expected.summary.distance_squared,
                  1e-9 * expected.summary.distance_squared);
      if (expected.summary.status != ConeStatus::optimal) continue;
      problem.start = {expected.point, expected.summary.multiplier};
      const BoxProjection warm = box.project(problem);
      EXPECT_LE(warm.iterations, 2);
      EXPECT_NEAR(warm.objective, cold.objective, 1e-11 * cold.objective);
    }
  }
}

TEST(BoxProjection, AnImmutableCoordinateIsABoxOfWidthZero) {
  const Index d = 9;
  const Instance instance = random_instance(d, 1e2, 6);
  const BoxFactor box(instance.theta, instance.hessian);
  std::vector<bool> movable(static_cast<std::size_t>(d), true);
  movable[0] = movable[4] = false;
  const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian, .movable = movable});
  for (const std::uint64_t seed : testing_support::seeds(0, 20)) {
    SCOPED_TRACE(seed);
    const Vector x0 = Random(seed).normal_vector(d);
    BoxProblem problem = {.query = x0,
                          .lower = Vector::Constant(d, -infinity),
                          .upper = Vector::Constant(d, infinity),
                          .epsilon = (seed % 2 ? 0.5 : 1.3) * cone.max_epsilon(),
                          .threshold = 0.2};
    for (const Index i : {0, 4}) problem.lower[i] = problem.upper[i] = x0[i];
    const ConeProjection expected =
        cone.project(x0, {.epsilon = problem.epsilon, .threshold = 0.2});
    const BoxProjection answer = box.project(problem);
    ASSERT_EQ(answer.status == BoxStatus::infeasible,
              expected.summary.status == ConeStatus::infeasible);
    if (answer.status == BoxStatus::infeasible) {
      EXPECT_NEAR(answer.logit_bound - 0.2, expected.summary.margin, 1e-6);
    } else {
      EXPECT_LE((answer.point - expected.point).norm(), 1e-7 * (1 + expected.point.norm()));
    }
  }
}

// The best of a fine grid can beat the answer by rounding only, and comes near it.
// What a solve costs are its factorisations, and one that does not find its way has many.
TEST(BoxProjection, FromTheConeProjectionItTakesFewFactorisations) {
  int solved = 0;
  int factorisations = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(40, 1e3, seed);
    const ConeFactor cone({.theta = instance.theta, .hessian = instance.hessian});
    const double epsilon = 0.1 * cone.max_epsilon();
    Random random(seed);
    BoxProblem problem{.query = random.normal_vector(40), .epsilon = epsilon};
    const ConeProjection free = cone.project(problem.query, {.epsilon = epsilon});
    const double move = (free.point - problem.query).cwiseAbs().mean();
    problem.lower = problem.query.array() - 3 * move;
    problem.upper = problem.query.array() + 2 * move;
    problem.start = BoxStart{.point = free.point, .multiplier = free.summary.multiplier};
    const BoxProjection found = BoxFactor(instance.theta, instance.hessian).project(problem);
    if (found.status != BoxStatus::optimal) continue;
    ++solved;
    factorisations += found.factorisations;
  }
  EXPECT_GT(solved, 20);
  EXPECT_LT(factorisations, 5 * solved);
}

TEST(BoxProjection, NoGridPointInThePlaneIsCheaper) {
  int compared = 0;
  int near = 0;   // to the best of the grid
  int found = 0;  // by the grid
  for (const Kind kind : {Kind::weighted, Kind::absolute, Kind::both}) {
    for (const std::uint64_t seed : testing_support::seeds(0, 10)) {
      SCOPED_TRACE(seed);
      const Instance instance = random_instance(2, 20, 600 + seed);
      const Oracle oracle(instance);
      const BoxFactor factor(instance.theta, instance.hessian);
      BoxProblem problem = random_problem(instance, kind, 0.01, 700 + seed);
      problem.lower =
          problem.lower.cwiseMax(problem.query.array().matrix() - Vector::Constant(2, 4));
      problem.upper =
          problem.upper.cwiseMin(problem.query.array().matrix() + Vector::Constant(2, 4));
      const BoxProjection answer = factor.project(problem);
      double cheapest = infinity;
      const int steps = 200;
      for (int i = 0; i <= steps; ++i) {
        for (int j = 0; j <= steps; ++j) {
          Vector x(2);
          x << problem.lower[0] + (problem.upper[0] - problem.lower[0]) * i / steps,
              problem.lower[1] + (problem.upper[1] - problem.lower[1]) * j / steps;
          if (oracle(x, problem.epsilon).g < problem.threshold) continue;
          cheapest = std::min(cheapest, cost_of(problem, x));
        }
      }
      if (answer.status == BoxStatus::infeasible) {
        EXPECT_EQ(cheapest, infinity);
      } else {
        ++compared;
        EXPECT_LE(answer.objective, cheapest * (1 + 1e-12));
        near += cheapest <= answer.objective + 0.15 * (1 + answer.objective) ? 1 : 0;
        found += cheapest < infinity ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 8);
  EXPECT_GE(near, found * 9 / 10);  // the grid is fine enough to say something
}

// A slow method that shares nothing with the solver: bisection on μ, and for each μ projected
// gradient ascent of μ·g − cost with backtracking.
TEST(BoxProjection, AgreesWithBisectionAndProjectedGradients) {
  const Instance instance = random_instance(5, 10, 21);
  const Oracle oracle(instance);
  const BoxFactor factor(instance.theta, instance.hessian);
  int compared = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 6)) {
    SCOPED_TRACE(seed);
    const BoxProblem problem = random_problem(instance, Kind::plain, 0.02, 40 + seed);
    const BoxProjection answer = factor.project(problem);
    if (answer.status != BoxStatus::optimal || answer.multiplier == 0) continue;
    ++compared;
    Vector x = problem.query.cwiseMax(problem.lower).cwiseMin(problem.upper);
    double low = 0;
    double high = 1e3;
    for (int i = 0; i < 45; ++i) {
      const double mu = (low + high) / 2;
      double step = 1;
      for (int k = 0; k < 400; ++k) {
        const Oracle::Value at = oracle(x, problem.epsilon);
        const Vector slope = x - problem.query - mu * at.gradient;
        const double before = cost_of(problem, x) - mu * at.g;
        Vector next = x;
        for (step *= 2;; step /= 2) {
          next = (x - step * slope).cwiseMax(problem.lower).cwiseMin(problem.upper);
          const double after = cost_of(problem, next) - mu * oracle(next, problem.epsilon).g;
          if (after <= before - 0.3 / step * (next - x).squaredNorm() || step < 1e-12) break;
        }
        const double moved = (next - x).norm();
        x = next;
        if (moved < 1e-11) break;
      }
      (oracle(x, problem.epsilon).g < problem.threshold ? low : high) = mu;
    }
    EXPECT_LE((x - answer.point).norm(), 1e-5 * (1 + x.norm()));
  }
  EXPECT_GT(compared, 2);
}

TEST(BoxProjection, RefusesBadArguments) {
  const Instance instance = random_instance(2, 10, 14);
  const BoxFactor factor(instance.theta, instance.hessian);
  const BoxProblem good = {
      .query = Vector::Zero(2), .lower = Vector::Constant(2, -1), .upper = Vector::Constant(2, 1)};
  EXPECT_NO_THROW((void)factor.project(good));
  BoxProblem bad = good;
  bad.lower[0] = 2;
  EXPECT_THROW((void)factor.project(bad), Error);
  bad = good;
  bad.query[0] = std::nan("");
  EXPECT_THROW((void)factor.project(bad), Error);
  bad = good;
  bad.epsilon = -1;
  EXPECT_THROW((void)factor.project(bad), Error);
  bad = good;
  bad.cost.quadratic = (Vector(2) << 1, 0).finished();
  EXPECT_THROW((void)factor.project(bad), Error);
  bad = good;
  bad.cost.absolute = Vector::Zero(2);
  EXPECT_THROW((void)factor.project(bad), Error);
  EXPECT_THROW(BoxFactor(instance.theta, -instance.hessian), Error);
}

// Threads keep the storage of their solves: what was solved before must not show.
TEST(BoxProjection, DoesNotDependOnWhatTheThreadSolvedBefore) {
  for (const std::uint64_t seed : testing_support::seeds(900, 12)) {
    std::vector<Instance> instances;
    std::vector<BoxProblem> problems;
    for (const Index d : {9, 21, 21, 4, 9, 1, 21}) {
      const std::uint64_t own = 100 * seed + problems.size();
      instances.push_back(random_instance(d, 100, own));
      problems.push_back(random_problem(instances.back(), static_cast<Kind>(own % 4), 0.02, own));
    }
    for (std::size_t k = 0; k < problems.size(); ++k) {
      const BoxFactor factor(instances[k].theta, instances[k].hessian);
      const BoxProjection here = factor.project(problems[k]);
      BoxProjection alone;
      std::thread([&] { alone = factor.project(problems[k]); }).join();
      EXPECT_EQ(here.point, alone.point) << "seed " << seed << ", problem " << k;
      EXPECT_EQ(here.status, alone.status);
      EXPECT_EQ(here.lower_bound, alone.lower_bound);
      EXPECT_EQ(here.multiplier, alone.multiplier);
      EXPECT_EQ(here.factorisations, alone.factorisations);
    }
  }
}

TEST(BoxProjection, AllocatesNothingButItsResult) {
  if (!allocation_count()) GTEST_SKIP() << "skipped: this build has an allocator of its own";
  const Instance instance = random_instance(20, 100, 31);
  const BoxFactor factor(instance.theta, instance.hessian);
  int solved = 0;
  int lean = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const BoxProblem problem = random_problem(instance, Kind::plain, 0.01, seed);
    const BoxProjection first = factor.project(problem);
    if (first.status != BoxStatus::optimal || first.factorisations == 0) continue;
    ++solved;
    const std::size_t before = *allocation_count();
    const BoxProjection second = factor.project(problem);
    lean += *allocation_count() - before <= 1 ? 1 : 0;
    EXPECT_EQ(first.point, second.point);
  }
  EXPECT_GT(solved, 5);
  EXPECT_GE(10 * lean, 9 * solved) << "the slow path has storage of its own, but is rare";
}

}  // namespace
}  // namespace ellice
