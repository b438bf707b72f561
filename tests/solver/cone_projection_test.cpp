#include "solver/cone_projection.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cstring>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "solver/allocation_count.hpp"
#include "solver/robust_problems.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::Oracle;
using robust_problems::random_instance;

struct Setting {
  Index d;
  double condition;
  double share;  // of ε_max
  double gap;
  double slack;  // |g − t| / scale
};

Vector query_of(const Setting& setting, std::uint64_t seed) {
  return Random(seed).normal_vector(setting.d);
}

double weighted_norm(const Vector& v, const Vector& weights) {
  return std::sqrt(v.cwiseAbs2().cwiseProduct(weights).sum());
}

void expect_optimal(const Instance& instance, const Oracle& oracle, const ConeProblem& problem,
                    const Vector& x0, const ConeTarget& target, const ConeProjection& answer,
                    const Setting& setting) {
  const Vector weights =
      problem.weights.size() > 0 ? problem.weights : Vector::Ones(instance.theta.size() - 1);
  const Oracle::Value at = oracle(answer.point, target.epsilon);
  const double distance = weighted_norm(answer.point - x0, weights);
  ASSERT_EQ(answer.summary.status, ConeStatus::optimal);
  EXPECT_NEAR(std::sqrt(answer.summary.distance_squared), distance, 1e-11 * (distance + x0.norm()));
  EXPECT_LE(std::abs(at.g - target.threshold), setting.slack * at.scale);
  const double bound = oracle.distance_bound(answer.point, x0, target.epsilon, target.threshold,
                                             weights, problem.movable, answer.summary.multiplier,
                                             setting.condition >= 1e4 && setting.d < 500 ? 3 : 0);
  const double rounding = 1e-12 * at.scale / at.gradient.norm();
  EXPECT_LE(distance - bound, setting.gap * distance + rounding);
  EXPECT_LE(answer.summary.relative_gap, setting.gap + rounding / distance);
  EXPECT_GE(answer.summary.margin, 0);
  // Measured before the last step; what it costs in distance is its square.
  EXPECT_LE(answer.summary.kkt_residual, 10 * std::sqrt(setting.gap) * 1e-3);
  for (Index i = 0; i < x0.size(); ++i) {
    if (!problem.movable.empty() && !problem.movable[static_cast<std::size_t>(i)]) {
      EXPECT_EQ(answer.point[i], x0[i]);
    }
  }
}

TEST(ConeProjection, IsCertifiedOptimalOnRandomProblems) {
  std::uint64_t seed = 1;
  for (const Index d : {2, 5, 20, 61, 150}) {
    for (const double condition : {1e1, 1e4, 1e8}) {
      const Instance instance = random_instance(d, condition, seed++);
      const Oracle oracle(instance);
      const ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
      const ConeFactor factor(problem);
      for (const double share : {0.0, 1e-6, 0.5, 0.99, 0.9999}) {
        const bool hard = condition > 1e4;
        const Setting setting = {d, condition, share, hard ? 1e-6 : 1e-9, hard ? 1e-7 : 1e-10};
        for (int k = 0; k < 6; ++k) {
          const Vector x0 = query_of(setting, seed++);
          const ConeTarget target = {.epsilon = share * factor.max_epsilon(),
                                     .threshold = k % 3 - 1.0};
          if (oracle(x0, target.epsilon).g >= target.threshold) continue;
          SCOPED_TRACE(testing::Message() << "d " << d << " condition " << condition << " share "
                                          << share << " query " << k);
          expect_optimal(instance, oracle, problem, x0, target, factor.project(x0, target),
                         setting);
        }
      }
    }
  }
}

TEST(ConeProjection, IsCertifiedOptimalInFiveHundredDimensions) {
  const Setting setting = {500, 1e4, 0.5, 1e-9, 1e-10};
  const Instance instance = random_instance(setting.d, setting.condition, 5);
  const Oracle oracle(instance);
  const ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
  const ConeFactor factor(problem);
  for (const double share : {1e-6, 0.5, 0.9999}) {
    const Vector x0 = query_of(setting, 6);
    const ConeTarget target = {.epsilon = share * factor.max_epsilon(), .threshold = 100};
    expect_optimal(instance, oracle, problem, x0, target, factor.project(x0, target), setting);
  }
}

TEST(ConeProjection, IsCertifiedOptimalWithMasksAndWeights) {
  std::uint64_t seed = 100;
  for (const Index d : {3, 12, 40}) {
    for (const double condition : {1e1, 1e4}) {
      const Instance instance = random_instance(d, condition, seed++);
      const Oracle oracle(instance);
      ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
      Random random(seed++);
      problem.weights = random.normal_vector(d).array().exp();
      for (Index i = 0; i < d; ++i) problem.movable.push_back(i == 0 || random.uniform() < 0.6);
      const ConeFactor factor(problem);
      for (const double share : {0.0, 0.01, 0.5, 0.99}) {
        const Setting setting = {d, condition, share, 1e-9, 1e-10};
        for (int k = 0; k < 8; ++k) {
          const Vector x0 = query_of(setting, seed++);
          const ConeTarget target = {.epsilon = share * factor.max_epsilon(),
                                     .threshold = k % 2 - 0.5};
          if (oracle(x0, target.epsilon).g >= target.threshold) continue;
          expect_optimal(instance, oracle, problem, x0, target, factor.project(x0, target),
                         setting);
        }
      }
    }
  }
}

TEST(ConeProjection, BeyondMaxEpsilonIsSolvedOrProvedInfeasible) {
  int solved = 0;
  int refused = 0;
  std::uint64_t seed = 300;
  for (const Index d : {1, 4, 30}) {
    for (const double share : {1.0001, 1.5, 20.0}) {
      const Instance instance = random_instance(d, 1e2, seed++);
      const Oracle oracle(instance);
      ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
      problem.movable.assign(static_cast<std::size_t>(d), true);
      if (d > 1) problem.movable[0] = false;
      const ConeFactor factor(problem);
      for (int k = 0; k < 20; ++k) {
        const Setting setting = {d, 1e2, share, 1e-9, 1e-10};
        const Vector x0 = 3 * query_of(setting, seed++);
        const ConeTarget target = {.epsilon = share * factor.max_epsilon(),
                                   .threshold = -1.5 + 0.1 * k};
        const Oracle::Value start = oracle(x0, target.epsilon);
        const ConeProjection answer = factor.project(x0, target);
        EXPECT_EQ(answer.summary.status == ConeStatus::infeasible,
                  target.epsilon > factor.max_epsilon(x0, target.threshold));
        if (start.g >= target.threshold) {
          EXPECT_EQ(answer.summary.status, ConeStatus::already_feasible);
        } else if (answer.summary.status == ConeStatus::infeasible) {
          ++refused;
          // The point maximises the concave g: its gradient vanishes where it may move.
          const Oracle::Value best = oracle(answer.point, target.epsilon);
          EXPECT_NEAR(best.g - target.threshold, answer.summary.margin, 1e-9 * best.scale);
          EXPECT_LT(answer.summary.margin, 0);
          for (Index i = d > 1 ? 1 : 0; i < d; ++i) {
            EXPECT_NEAR(best.gradient[i], 0, 1e-8 * instance.theta.norm());
          }
        } else {
          ++solved;
          expect_optimal(instance, oracle, problem, x0, target, answer, setting);
        }
      }
    }
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(refused, 20);
}

TEST(ConeProjection, MaxEpsilonIsWhereFeasibilityEnds) {
  const Instance instance = random_instance(6, 1e2, 42);
  ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
  problem.movable = {false, true, true, false, true, true};
  const ConeFactor factor(problem);
  int beyond = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
    SCOPED_TRACE(seed);
    const Vector x0 = 2 * Random(seed).normal_vector(6);
    const double threshold = seed % 2 ? 0.3 : -4;  // the second one often holds beyond ε_max
    const double limit = factor.max_epsilon(x0, threshold);
    beyond += limit > factor.max_epsilon();
    const auto status = [&](double epsilon) {
      return factor.project(x0, {.epsilon = epsilon, .threshold = threshold}).summary.status;
    };
    EXPECT_NE(status(limit * (1 - 1e-6)), ConeStatus::infeasible);
    EXPECT_EQ(status(limit * (1 + 1e-6)), ConeStatus::infeasible);
  }
  EXPECT_GT(beyond, 5);
}

TEST(ConeProjection, NoGridPointInThePlaneIsNearer) {
  for (const std::uint64_t seed : testing_support::seeds(0, 6)) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(2, 30, 500 + seed);
    const Oracle oracle(instance);
    const ConeFactor factor({.theta = instance.theta, .hessian = instance.hessian});
    const Vector x0 = Random(seed).normal_vector(2);
    const ConeTarget target = {.epsilon = 0.4 * factor.max_epsilon(), .threshold = 0.5};
    const ConeProjection answer = factor.project(x0, target);
    const double distance = (answer.point - x0).norm();
    double nearest = infinity;
    const int steps = 300;
    const double width = 1.5 * distance;
    for (int i = -steps; i <= steps; ++i) {
      for (int j = -steps; j <= steps; ++j) {
        const Vector x = x0 + width / steps * (Vector(2) << i, j).finished();
        if (oracle(x, target.epsilon).g >= target.threshold) {
          nearest = std::min(nearest, (x - x0).norm());
        }
      }
    }
    EXPECT_LE(distance, nearest + 1e-12);
    EXPECT_LE(nearest, distance + 3 * width / steps);
  }
}

// N0 = c + Σ aᵢe0ᵢw0ᵢ is affine in the query, so moving along any line meets N0 = 0, where the
// usual secular equation has its hard case. With a bracketing pair the bisection below finds it
// through the multiplier, which passes ν0 there: ν = μ/s is compared on both sides.
TEST(ConeProjection, PassesThroughTheHardCaseSmoothly) {
  const Instance instance = random_instance(7, 50, 900);
  const Oracle oracle(instance);
  const ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
  const ConeFactor factor(problem);
  const ConeTarget target = {.epsilon = 0.5 * factor.max_epsilon(), .threshold = 0};
  // ν0 from its definition: the largest ν with I − ν(a a′ − Π) ⪰ 0, i.e. ν0 = 1/λmax(aa′ − Π),
  // which in x-coordinates is the pencil (ww′ − M_xx, I).
  const Matrix inverse = instance.hessian.inverse();
  const Vector w = instance.theta.head(7);
  const Matrix pencil = w * w.transpose() - 2 * target.epsilon * inverse.topLeftCorner(7, 7);
  const double nu0 = 1 / Eigen::SelfAdjointEigenSolver<Matrix>(pencil).eigenvalues().maxCoeff();
  const auto excess = [&](const Vector& x0) {
    const ConeProjection answer = factor.project(x0, target);
    const Oracle::Value at = oracle(answer.point, target.epsilon);
    return answer.summary.multiplier / (at.logit - at.g) - nu0;
  };
  Vector below = -0.05 * w;
  Vector above = -40 * w;
  ASSERT_LT(excess(below), 0);
  ASSERT_GT(excess(above), 0);
  for (int i = 0; i < 200 && (above - below).norm() > 0; ++i) {
    const Vector middle = (above + below) / 2;
    if (middle == below || middle == above) break;
    (excess(middle) < 0 ? below : above) = middle;
    expect_optimal(instance, oracle, problem, middle, target, factor.project(middle, target),
                   {7, 50, 0.5, 1e-9, 1e-10});
  }
}

TEST(ConeProjection, EpsilonZeroIsTheProjectionOntoTheHalfSpace) {
  const Instance instance = random_instance(9, 1e3, 4);
  const ConeFactor factor({.theta = instance.theta, .hessian = instance.hessian});
  const Vector w = instance.theta.head(9);
  const Vector x0 = -2 * w;
  const ConeProjection answer = factor.project(x0, {.epsilon = 0, .threshold = 0.7});
  const double missing = 0.7 - instance.theta[9] - w.dot(x0);
  EXPECT_LE((answer.point - (x0 + missing / w.squaredNorm() * w)).norm(), 1e-12 * x0.norm());
}

TEST(ConeProjection, AFeasibleQueryIsReturnedUnchanged) {
  const Instance instance = random_instance(9, 1e3, 4);
  const ConeFactor factor({.theta = instance.theta, .hessian = instance.hessian});
  const ConeTarget target = {.epsilon = 0.3 * factor.max_epsilon(), .threshold = 0.2};
  const Vector x0 = Random(3).normal_vector(9);
  const ConeProjection first = factor.project(x0, target);
  const ConeProjection second = factor.project(first.point, target);
  EXPECT_EQ(second.summary.status, ConeStatus::already_feasible);
  EXPECT_EQ(second.point, first.point);
  EXPECT_EQ(second.summary.distance_squared, 0);
}

TEST(ConeProjection, IsOneLipschitzInTheQuery) {
  const Instance instance = random_instance(12, 1e3, 8);
  const ConeFactor factor({.theta = instance.theta, .hessian = instance.hessian});
  const ConeTarget target = {.epsilon = 0.6 * factor.max_epsilon(), .threshold = 0};
  Random random(1);
  for (int k = 0; k < 200; ++k) {
    const Vector first = 2 * random.normal_vector(12);
    const Vector second = first + std::pow(10.0, -random.uniform() * 8) * random.normal_vector(12);
    const double apart =
        (factor.project(first, target).point - factor.project(second, target).point).norm();
    EXPECT_LE(apart, (first - second).norm() * (1 + 1e-9) + 1e-10);
  }
}

TEST(ConeProjection, DistanceGrowsStrictlyWithEpsilon) {
  const Instance instance = random_instance(10, 1e2, 9);
  const ConeFactor factor({.theta = instance.theta, .hessian = instance.hessian});
  for (const std::uint64_t seed : testing_support::seeds(0, 10)) {
    SCOPED_TRACE(seed);
    const Vector x0 = Random(seed).normal_vector(10);
    double before = 0;
    for (int k = 1; k < 100; ++k) {
      const ConeTarget target = {.epsilon = k / 100.0 * factor.max_epsilon(), .threshold = 0};
      const double now = factor.project(x0, target).summary.distance_squared;
      if (before > 0) {
        EXPECT_GT(now, before);
      }
      before = now;
    }
  }
}

// Class 0 asks that the largest logit be at most t: brute force over models on the ellipsoid's
// boundary.
TEST(ConeProjection, NegatedModelAndThresholdServeTheOtherClass) {
  const Instance instance = random_instance(4, 20, 11);
  const double t = 0.4;
  const ConeFactor factor({.theta = -instance.theta, .hessian = instance.hessian});
  const double epsilon = 0.5 * factor.max_epsilon();
  const Vector x0 = 3 * instance.theta.head(4);
  const ConeProjection answer = factor.project(x0, {.epsilon = epsilon, .threshold = -t});
  ASSERT_EQ(answer.summary.status, ConeStatus::optimal);
  Vector lifted(5);
  lifted << answer.point, 1;
  const Eigen::LLT<Matrix> cholesky(instance.hessian);
  Random random(2);
  double largest = -infinity;
  for (int k = 0; k < 20000; ++k) {
    Vector direction = cholesky.matrixU().solve(random.normal_vector(5));
    direction *= std::sqrt(2 * epsilon / direction.dot(instance.hessian * direction));
    largest = std::max(largest, lifted.dot(instance.theta + direction));
  }
  EXPECT_LE(largest, t + 1e-10);
  const Vector worst = cholesky.solve(lifted);
  const double top = lifted.dot(instance.theta) + std::sqrt(2 * epsilon * lifted.dot(worst));
  EXPECT_NEAR(top, t, 1e-10);
}

TEST(ConeProjection, RowsAgreeWithSingleQueriesAndWithAnyNumberOfThreads) {
  for (const bool masked : {false, true}) {
    for (const Index d : {3, 20, 61}) {
      const Instance instance = random_instance(d, 1e3, 12);
      ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
      if (masked) {
        problem.movable.assign(static_cast<std::size_t>(d), true);
        problem.movable[1] = false;
        if (d > 3) problem.movable[5] = false;
      }
      const ConeFactor factor(problem);
      const Index rows = 2 * factor.block_rows() + 37;
      RowMatrix queries(rows, d);
      for (Index i = 0; i < rows; ++i) {
        queries.row(i) = Random(static_cast<std::uint64_t>(i)).normal_vector(d).transpose();
      }
      for (const double share : {0.0, 0.3, 1.5}) {
        const ConeTarget target = {.epsilon = share * factor.max_epsilon(), .threshold = 0.1};
        const ConeBatch one = factor.project_rows(queries, target);
        const ConeBatch four = factor.project_rows(queries, target, {.threads = 4});
        EXPECT_EQ(std::memcmp(one.points.data(), four.points.data(),
                              static_cast<std::size_t>(one.points.size()) * sizeof(double)),
                  0);
        for (Index i = 0; i < rows; i += 13) {
          const ConeProjection single = factor.project(queries.row(i).transpose(), target);
          const ConeSummary& summary = one.summaries[static_cast<std::size_t>(i)];
          EXPECT_EQ(summary.status, four.summaries[static_cast<std::size_t>(i)].status);
          EXPECT_EQ(summary.status, single.summary.status);
          EXPECT_LE((one.points.row(i).transpose() - single.point).norm(),
                    1e-12 * (1 + single.point.norm()));
        }
      }
    }
  }
}

TEST(ConeProjection, AllocatesNothingPerRow) {
  const Instance instance = random_instance(8, 1e2, 13);
  ConeProblem problem = {.theta = instance.theta, .hessian = instance.hessian};
  problem.movable = {true, true, true, false, true, true, true, true};
  const ConeFactor factor(problem);
  const auto allocations = [&](Index rows) {
    RowMatrix queries = RowMatrix::Constant(rows, 8, -1);
    RowMatrix points(rows, 8);
    std::vector<ConeSummary> summaries(static_cast<std::size_t>(rows));
    const ConeTarget target = {.epsilon = 0.3 * factor.max_epsilon()};
    factor.project_rows_into(queries, target, points, summaries);
    const std::optional<std::size_t> before = allocation_count();
    factor.project_rows_into(queries, target, points, summaries);
    return before ? std::optional(*allocation_count() - *before) : std::nullopt;
  };
  if (!allocation_count()) GTEST_SKIP() << "skipped: this build has an allocator of its own";
  EXPECT_EQ(*allocations(2048), *allocations(65536));
  EXPECT_GT(*allocations(2048), 0U);  // the counter works: the workspace is counted
}

TEST(ConeProjection, WithNothingMovableTheQueryDecides) {
  const Instance instance = random_instance(3, 10, 14);
  const Oracle oracle(instance);
  const ConeFactor factor(
      {.theta = instance.theta, .hessian = instance.hessian, .movable = {false, false, false}});
  const Vector x0 = Random(1).normal_vector(3);
  const double g = oracle(x0, 0.01).g;
  const ConeProjection no = factor.project(x0, {.epsilon = 0.01, .threshold = g + 0.1});
  EXPECT_EQ(no.summary.status, ConeStatus::infeasible);
  EXPECT_NEAR(no.summary.margin, -0.1, 1e-12);
  EXPECT_EQ(no.point, x0);
  const ConeProjection yes = factor.project(x0, {.epsilon = 0.01, .threshold = g - 0.1});
  EXPECT_EQ(yes.summary.status, ConeStatus::already_feasible);
}

TEST(ConeProjection, RefusesBadArguments) {
  const Instance instance = random_instance(3, 10, 14);
  const ConeProblem good = {.theta = instance.theta, .hessian = instance.hessian};
  ConeProblem bad = good;
  bad.hessian *= -1;
  EXPECT_THROW(ConeFactor{bad}, Error);
  bad = good;
  bad.hessian(0, 0) = -1;
  EXPECT_THROW(ConeFactor{bad}, Error);
  bad = good;
  bad.weights = Vector::Zero(3);
  EXPECT_THROW(ConeFactor{bad}, Error);
  bad = good;
  bad.movable = {true};
  EXPECT_THROW(ConeFactor{bad}, Error);
  const ConeFactor factor(good);
  const Vector x0 = Vector::Zero(3);
  EXPECT_THROW((void)factor.project(x0, {.epsilon = -1}), Error);
  EXPECT_THROW((void)factor.project(x0, {.epsilon = infinity}), Error);
  EXPECT_THROW((void)factor.project(Vector::Zero(2), {}), Error);
  EXPECT_THROW((void)factor.project(Vector::Constant(3, std::nan("")), {}), Error);
}

}  // namespace
}  // namespace ellice
