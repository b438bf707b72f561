#include "solver/cone_intersection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

enum class CostShape { squares, absolutes, both };

/// A random intersection with everything that keeps it alive.
struct Case {
  std::vector<Instance> instances;
  std::vector<BoxFactor> factors;
  std::vector<Oracle> oracles;
  IntersectionProblem problem;
};

struct Traits {
  Index d = 4;
  int cones = 2;
  int rules = 1;
  CostShape shape = CostShape::squares;
  bool equality = false;
  bool infinite = false;
  double epsilon = 0.01;
  double condition = 100;
};

Case random_case(const Traits& traits, std::uint64_t seed) {
  Random random(seed);
  const Index d = traits.d;
  Case result;
  IntersectionProblem& problem = result.problem;
  problem.query = random.normal_vector(d);
  problem.lower = problem.query.array() - 3 * random.uniform();
  problem.upper = problem.query.array() + 3 * random.uniform();
  for (Index i = 0; i < d; ++i) {
    if (random.below(6) == 0) problem.lower[i] = problem.query[i] + 0.2;  // the query lies outside
    if (random.below(8) == 0)
      problem.upper[i] = problem.lower[i] = problem.query[i] + 0.1 * random.normal();
    if (traits.infinite && random.below(2) == 0) problem.upper[i] = infinity;
    if (problem.upper[i] < problem.lower[i]) problem.upper[i] = problem.lower[i] + 1;
  }
  Vector weights(d);
  for (Index i = 0; i < d; ++i) weights[i] = std::exp(random.normal());
  if (traits.shape != CostShape::absolutes) problem.cost.quadratic = 2 * weights;
  if (traits.shape != CostShape::squares) problem.cost.absolute = weights;
  // Cones around similar models, so that points in all of them are common.
  const Instance first = random_instance(d, traits.condition, seed + 1000);
  for (int k = 0; k < traits.cones; ++k) {
    Instance instance =
        random_instance(d, traits.condition, seed + 2000 + static_cast<std::uint64_t>(k));
    instance.theta = first.theta + 0.7 * instance.theta;
    result.instances.push_back(instance);
  }
  for (const Instance& instance : result.instances) {
    result.factors.emplace_back(instance.theta, instance.hessian);
    result.oracles.emplace_back(instance);
  }
  for (const BoxFactor& factor : result.factors) {
    problem.cones.push_back(
        {.factor = &factor,
         .epsilon = traits.epsilon,
         .threshold = factor.theta().dot(Vector::Unit(d + 1, d)) + random.normal()});
  }
  for (int r = 0; r < traits.rules; ++r) {
    LinearRule rule{.coefficients = Vector::Zero(d)};
    for (Index i = 0; i < d; ++i) {
      if (random.below(2) == 0) rule.coefficients[i] = random.normal();
    }
    const double value = rule.coefficients.dot(problem.query);
    const double bound = value + 0.5 * random.normal();
    rule.tolerance = 1e-13 * (1 + std::abs(bound));
    if (traits.equality && r == 0) {
      rule.lower = rule.upper = bound;
    } else if (random.below(2) == 0) {
      rule.upper = bound;
    } else {
      rule.lower = bound;
    }
    problem.rules.push_back(rule);
  }
  return result;
}

double cost_by_hand(const IntersectionProblem& problem, const Vector& x) {
  double sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double move = x[i] - problem.query[i];
    if (problem.cost.quadratic.size() > 0) sum += problem.cost.quadratic[i] / 2 * move * move;
    if (problem.cost.absolute.size() > 0) sum += problem.cost.absolute[i] * std::abs(move);
  }
  return sum;
}

/// How far the point is from satisfying everything; ≤ 0 where it does.
double violation(const Case& at, const Vector& x) {
  const IntersectionProblem& problem = at.problem;
  double worst = -infinity;
  for (std::size_t k = 0; k < at.oracles.size(); ++k) {
    const Oracle::Value value = at.oracles[k](x, problem.cones[k].epsilon);
    worst = std::max(worst, (problem.cones[k].threshold - value.g) / value.scale);
  }
  for (const LinearRule& rule : problem.rules) {
    double value = 0;
    double size = 0;
    for (Index i = 0; i < x.size(); ++i) {
      value += rule.coefficients[i] * x[i];
      size += std::abs(rule.coefficients[i] * x[i]);
    }
    const double allowed = 1e-12 * (size + 1);
    worst = std::max({worst, value - rule.upper - allowed, rule.lower - value - allowed});
  }
  for (Index i = 0; i < x.size(); ++i)
    worst = std::max({worst, x[i] - problem.upper[i], problem.lower[i] - x[i]});
  return worst;
}

/// The half-space of a proof from its parts, after checking that each is what it claims to be.
Vector half_space_by_hand(const Case& at, const ConeWeights& weights) {
  const IntersectionProblem& problem = at.problem;
  const Index d = problem.query.size();
  Vector plane = Vector::Zero(d + 1);
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    const double mu = weights.cones[static_cast<Index>(k)];
    EXPECT_GE(mu, 0);
    const Vector away = weights.models[k] - at.instances[k].theta;
    const double excess = 0.5 * away.dot(at.instances[k].hessian * away);
    if (mu > 0) {
      EXPECT_LE(excess, problem.cones[k].epsilon * (1 + 1e-9) + 1e-15);
    }
    plane += mu * weights.models[k];
    plane[d] -= mu * problem.cones[k].threshold;
  }
  for (std::size_t r = 0; r < problem.rules.size(); ++r) {
    const double lambda = weights.rules[static_cast<Index>(r)];
    if (lambda == 0) continue;
    plane.head(d) -= lambda * problem.rules[r].coefficients;
    plane[d] += lambda * (lambda > 0 ? problem.rules[r].upper : problem.rules[r].lower);
  }
  return plane;
}

/// min over the box of cost − plane, coordinate by coordinate: of a convex function on an interval
/// by ternary search.
double bound_by_hand(const IntersectionProblem& problem, const Vector& plane) {
  double sum = -plane[problem.query.size()];
  for (Index i = 0; i < problem.query.size(); ++i) {
    const double q = problem.cost.quadratic.size() > 0 ? problem.cost.quadratic[i] / 2 : 0;
    const double c = problem.cost.absolute.size() > 0 ? problem.cost.absolute[i] : 0;
    const auto value = [&](double x) {
      const double move = x - problem.query[i];
      return q * move * move + c * std::abs(move) - plane[i] * x;
    };
    double low = std::max(problem.lower[i], -1e4);
    double high = std::min(problem.upper[i], 1e4);
    double best = std::min(value(low), value(high));
    if (problem.query[i] >= low && problem.query[i] <= high)
      best = std::min(best, value(problem.query[i]));
    for (int step = 0; step < 200; ++step) {
      const double a = low + (high - low) / 3;
      const double b = high - (high - low) / 3;
      (value(a) < value(b) ? high : low) = value(a) < value(b) ? b : a;
    }
    sum += std::min(best, value((low + high) / 2));
  }
  return sum;
}

double maximum_by_hand(const IntersectionProblem& problem, const Vector& plane) {
  double sum = plane[problem.query.size()];
  for (Index i = 0; i < problem.query.size(); ++i) {
    // What cancellation leaves of a coefficient does not count on an infinite side.
    const bool is_dust = std::abs(plane[i]) <= 1e-10 * plane.cwiseAbs().maxCoeff();
    if (plane[i] == 0 || (is_dust && std::isinf(problem.upper[i]))) continue;
    sum += std::max(plane[i] * problem.lower[i], plane[i] * problem.upper[i]);
  }
  return sum;
}

struct IntersectionTally {
  int optimal = 0;
  int infeasible = 0;
  int inexact = 0;
  double worst_gap = 0;
  int iterations = 0;
};

void check(const Traits& traits, std::uint64_t seed, IntersectionTally& tally) {
  const Case at = random_case(traits, seed);
  const IntersectionProblem& problem = at.problem;
  const ConeIntersection found = intersect_cones(problem);
  tally.iterations += found.iterations;
  const Vector plane = half_space_by_hand(at, found.weights);
  if (found.status == IntersectionStatus::infeasible) {
    ++tally.infeasible;
    EXPECT_LT(maximum_by_hand(problem, plane), 0) << "seed " << seed;
    return;
  }
  if (found.status == IntersectionStatus::inexact) {
    // In infinite boxes a half-space must ignore a coordinate altogether to be a proof; that there
    // is no answer then shows in the bound alone.
    ++tally.inexact;
    EXPECT_TRUE(traits.infinite && !found.feasible && found.lower_bound > 1e12)
        << "seed " << seed << ": " << found.objective << " against " << found.lower_bound;
    return;
  }
  ++tally.optimal;
  ASSERT_TRUE(found.feasible);
  // H is inverted in double precision.
  EXPECT_LE(violation(at, found.point), 1e-13 + 1e-17 * traits.condition) << "seed " << seed;
  const double cost = cost_by_hand(problem, found.point);
  EXPECT_NEAR(found.objective, cost, 1e-12 * (1 + cost));
  if (found.lower_bound >= found.objective) return;  // nothing to move: no proof is needed
  const double bound = std::max(bound_by_hand(problem, plane), 0.0);
  EXPECT_NEAR(bound, found.lower_bound, 1e-8 * (1 + cost)) << "seed " << seed;
  const double gap = (cost - found.lower_bound) / cost;
  tally.worst_gap = std::max(tally.worst_gap, gap);
  EXPECT_LE(gap, traits.condition > 1e7 ? 1e-6 : 1e-9) << "seed " << seed;
}

TEST(ConeIntersection, ProvesItsAnswersOnRandomProblems) {
  IntersectionTally tally;
  std::uint64_t seed = 1;
  for (const CostShape shape : {CostShape::squares, CostShape::absolutes, CostShape::both}) {
    for (const int cones : {0, 1, 2, 3, 9}) {
      for (const int rules : {0, 1, 2, 4}) {
        for (const Index d : {1, 2, 5, 12}) {
          for (const double epsilon : {0.0, 0.001, 0.05}) {
            check({.d = d,
                   .cones = cones,
                   .rules = rules,
                   .shape = shape,
                   .equality = seed % 3 == 0,
                   .epsilon = epsilon},
                  seed, tally);
            ++seed;
          }
        }
      }
    }
  }
  EXPECT_GT(tally.optimal, 200);
  EXPECT_GT(tally.infeasible, 100);
  EXPECT_LT(tally.worst_gap, 1e-10);
}

TEST(ConeIntersection, ProvesItsAnswersOnHardProblems) {
  IntersectionTally tally;
  std::uint64_t seed = 5000;
  for (const CostShape shape : {CostShape::squares, CostShape::absolutes, CostShape::both}) {
    for (const double condition : {1e2, 1e5, 1e8}) {
      for (const Index d : {3, 8, 30}) {
        for (const bool infinite : {false, true}) {
          for (int i = 0; i < 8; ++i) {
            check({.d = d,
                   .cones = 1 + static_cast<int>(seed % 9),
                   .rules = static_cast<int>(seed % 5),
                   .shape = shape,
                   .equality = seed % 2 == 0,
                   .infinite = infinite,
                   .epsilon = 1e-3 / std::sqrt(condition),
                   .condition = condition},
                  seed, tally);
            ++seed;
          }
        }
      }
    }
  }
  EXPECT_GT(tally.optimal, 200);
  EXPECT_GT(tally.infeasible, 50);
  EXPECT_LT(tally.inexact, 5);
}

/// No random point near the answer that satisfies everything is cheaper, and rays towards other
/// feasible points rise.
TEST(ConeIntersection, IsNotBeatenByRandomFeasiblePoints) {
  int tried = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 60)) {
    SCOPED_TRACE(seed);
    const Case at = random_case({.d = 3, .cones = 3, .rules = 2}, 100 + seed);
    const ConeIntersection found = intersect_cones(at.problem);
    Random random(seed);
    for (int i = 0; i < 3000; ++i) {
      Vector x(3);
      for (Index j = 0; j < 3; ++j) {
        x[j] = at.problem.lower[j] + random.uniform() * (at.problem.upper[j] - at.problem.lower[j]);
      }
      if (i % 2 == 0 && found.feasible) x = found.point + 0.05 * random.normal_vector(3);
      if (violation(at, x) > 0) continue;
      ++tried;
      EXPECT_NE(found.status, IntersectionStatus::infeasible);
      EXPECT_GE(cost_by_hand(at.problem, x), found.objective * (1 - 1e-12)) << "seed " << seed;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(ConeIntersection, OfOneConeManyTimesIsThatOfTheCone) {
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    SCOPED_TRACE(seed);
    Case at = random_case({.d = 6, .cones = 1, .rules = 0}, 700 + seed);
    const BoxProjection alone = at.factors[0].project({.query = at.problem.query,
                                                       .lower = at.problem.lower,
                                                       .upper = at.problem.upper,
                                                       .cost = at.problem.cost,
                                                       .epsilon = at.problem.cones[0].epsilon,
                                                       .threshold = at.problem.cones[0].threshold});
    for (int k = 0; k < 4; ++k) at.problem.cones.push_back(at.problem.cones[0]);
    // A rule that binds as well, twice.
    LinearRule rule{.coefficients = Vector::Ones(6)};
    rule.upper = rule.coefficients.dot(alone.point) + 1e3;
    at.problem.rules = {rule, rule};
    const ConeIntersection found = intersect_cones(at.problem);
    EXPECT_EQ(found.status == IntersectionStatus::infeasible,
              alone.status == BoxStatus::infeasible);
    if (alone.status == BoxStatus::infeasible) continue;
    EXPECT_NEAR(found.objective, alone.objective, 1e-9 * (1 + alone.objective));
    // Tighter, the rules do bind: twice the same, and all cones the same.
    at.problem.rules[0].upper = at.problem.rules[1].upper =
        rule.coefficients.dot(alone.point) - 0.05;
    at.problem.rules[0].tolerance = at.problem.rules[1].tolerance = 1e-12;
    const ConeIntersection tight = intersect_cones(at.problem);
    at.problem.rules.pop_back();
    at.problem.cones.resize(1);
    const ConeIntersection once = intersect_cones(at.problem);
    ASSERT_EQ(tight.status, once.status) << "seed " << seed;
    EXPECT_NE(once.status, IntersectionStatus::inexact);
    if (once.status == IntersectionStatus::optimal) {
      EXPECT_NEAR(tight.objective, once.objective, 1e-9 * (1 + once.objective));
    }
  }
}

TEST(ConeIntersection, HandlesRulesWithoutInterior) {
  // x0 + x1 = 1 and x0 − x1 = 0 leave one point; the same equality twice changes nothing; another
  // value for it leaves none.
  const Instance instance{.theta = Vector{{1, 1, 0}}, .hessian = Matrix::Identity(3, 3)};
  const BoxFactor factor(instance.theta, instance.hessian);
  IntersectionProblem problem{.query = Vector{{0, 0}},
                              .lower = Vector{{-5, -5}},
                              .upper = Vector{{5, 5}},
                              .cones = {{.factor = &factor, .epsilon = 0.001, .threshold = 0.5}}};
  problem.rules = {{.coefficients = Vector{{1, 1}}, .lower = 1, .upper = 1, .tolerance = 1e-13},
                   {.coefficients = Vector{{1, -1}}, .lower = 0, .upper = 0, .tolerance = 1e-13},
                   {.coefficients = Vector{{2, 2}}, .lower = 2, .upper = 2, .tolerance = 1e-13}};
  const ConeIntersection found = intersect_cones(problem);
  ASSERT_EQ(found.status, IntersectionStatus::optimal);
  EXPECT_NEAR(found.point[0], 0.5, 1e-12);
  EXPECT_NEAR(found.point[1], 0.5, 1e-12);
  problem.rules[2].lower = problem.rules[2].upper = 2.001;
  const ConeIntersection none = intersect_cones(problem);
  EXPECT_EQ(none.status, IntersectionStatus::infeasible);
  EXPECT_LT(half_space_maximum(problem, none.weights), 0);
}

TEST(ConeIntersection, FindsCommonPointsOrProvesThatThereAreNone) {
  int found = 0;
  int none = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 200)) {
    SCOPED_TRACE(seed);
    const Case at =
        random_case({.d = 4, .cones = 3, .rules = 2, .equality = seed % 2 == 0}, 9000 + seed);
    const CommonPoint common = find_common_point(at.problem);
    const ConeIntersection nearest = intersect_cones(at.problem);
    if (common.status == CommonPoint::Status::found) {
      ++found;
      EXPECT_LE(violation(at, common.point), 1e-13) << "seed " << seed;
      EXPECT_NE(nearest.status, IntersectionStatus::infeasible);
    } else {
      ++none;
      ASSERT_EQ(common.status, CommonPoint::Status::none) << "seed " << seed;
      EXPECT_LT(maximum_by_hand(at.problem, half_space_by_hand(at, common.weights)), 0);
      EXPECT_EQ(nearest.status, IntersectionStatus::infeasible);
    }
  }
  EXPECT_GT(found, 20);
  EXPECT_GT(none, 30);
}

TEST(ConeIntersection, ProofsAreByModelsOfTheSetsHoweverFarAwayCoordinatesAreHeld) {
  // A score of something that far away is rounding, and so is whatever is a difference of such.
  for (const double far : {1.0, 1e3, 1e7, 1e16, 1e98}) {
    int proofs = 0;
    for (const std::uint64_t seed : testing_support::seeds(1, 60)) {
      SCOPED_TRACE(fmt::format("seed {}, {} away", seed, far));
      Case at =
          random_case({.d = 4, .cones = 2, .rules = 1, .infinite = seed % 2 == 0}, 7000 + seed);
      IntersectionProblem& problem = at.problem;
      Random random(seed);
      for (Index i = 0; i < 2; ++i) {
        problem.query[i] = far * random.normal();
        problem.lower[i] = problem.upper[i] = problem.query[i];
        if (seed % 3 == 0) problem.upper[i] = infinity;
      }
      std::vector<ConeWeights> claimed;
      const CommonPoint common = find_common_point(problem);
      if (common.status == CommonPoint::Status::none) claimed.push_back(common.weights);
      const ConeIntersection nearest = intersect_cones(problem);
      if (nearest.status == IntersectionStatus::infeasible) claimed.push_back(nearest.weights);
      for (const ConeWeights& weights : claimed) {
        ++proofs;
        for (std::size_t k = 0; k < at.instances.size(); ++k) {
          if (weights.cones[static_cast<Index>(k)] == 0) continue;
          const auto away = (weights.models[k] - at.instances[k].theta).cast<long double>().eval();
          const auto hessian = at.instances[k].hessian.cast<long double>().eval();
          EXPECT_LE(static_cast<double>(away.dot(hessian * away) / 2),
                    problem.cones[k].epsilon * 1.01);
        }
      }
    }
    if (far < 1e4) {
      EXPECT_GT(proofs, 20);
    }
  }
}

TEST(ConeIntersection, RefusesWhatCannotBe) {
  const BoxFactor factor(Vector{{1, 0}}, Matrix::Identity(2, 2));
  IntersectionProblem problem{.query = Vector{{0}}, .lower = Vector{{1}}, .upper = Vector{{-1}}};
  EXPECT_THROW((void)intersect_cones(problem), Error);
  problem.upper[0] = 2;
  problem.cones = {{.factor = &factor, .epsilon = -1}};
  EXPECT_THROW((void)intersect_cones(problem), Error);
  problem.cones = {};
  problem.rules = {{.coefficients = Vector{{1, 2}}, .upper = 1}};
  EXPECT_THROW((void)intersect_cones(problem), Error);
  problem.rules = {{.coefficients = Vector{{1}}, .lower = 2, .upper = 1}};
  EXPECT_THROW((void)intersect_cones(problem), Error);
}

}  // namespace
}  // namespace ellice
