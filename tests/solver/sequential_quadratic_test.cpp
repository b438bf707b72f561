#include "solver/sequential_quadratic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "allocation_count.hpp"
#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "robust_problems.hpp"
#include "solver/augmented_descent.hpp"
#include "solver/box_projection.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using robust_problems::Instance;
using robust_problems::random_instance;

/// The robust logits of linear models less t: concave, and solved exactly elsewhere.
class RobustLinear final : public SmoothConstraints {
 public:
  RobustLinear(std::vector<Instance> instances, double epsilon, double threshold, bool curved)
      : instances_(std::move(instances)),
        kappa_(std::sqrt(2 * epsilon)),
        threshold_(threshold),
        curved_(curved) {
    for (const Instance& instance : instances_) inverses_.push_back(instance.hessian.inverse());
  }
  [[nodiscard]] Index count() const override { return static_cast<Index>(instances_.size()); }
  void values(VectorArg x, Vector& values) override {
    Matrix unused(x.size(), count());
    gradients(x, values, unused);
  }
  void gradients(VectorArg x, Vector& values, Matrix& gradients) override {
    x_tilde_.resize(x.size() + 1);
    x_tilde_ << x, 1;
    for (Index k = 0; k < count(); ++k) {
      const Instance& instance = instances_[static_cast<std::size_t>(k)];
      const Vector u = inverses_[static_cast<std::size_t>(k)] * x_tilde_;
      const double s = std::sqrt(x_tilde_.dot(u));
      values[k] = instance.theta.dot(x_tilde_) - kappa_ * s - threshold_;
      gradients.col(k) = (instance.theta - kappa_ / s * u).head(x.size());
    }
  }
  [[nodiscard]] bool curvature_root(const Vector& multipliers, Matrix& root) override {
    if (!curved_) return false;
    const Index d = x_tilde_.size() - 1;
    Matrix matrix = Matrix::Zero(d, d);
    for (Index k = 0; k < count(); ++k) {
      const Matrix& inverse = inverses_[static_cast<std::size_t>(k)];
      const Vector u = inverse * x_tilde_;
      const double s = std::sqrt(x_tilde_.dot(u));
      matrix += multipliers[k] * kappa_ / s *
                (inverse.topLeftCorner(d, d) - u.head(d) * u.head(d).transpose() / (s * s));
    }
    root = Eigen::SelfAdjointEigenSolver<Matrix>(matrix).operatorSqrt();
    return true;
  }

 private:
  std::vector<Instance> instances_;
  std::vector<Matrix> inverses_;
  double kappa_, threshold_;
  bool curved_;
  Vector x_tilde_;
};

/// Two-dimensional hills with kinks, not concave: max over random slopes less a parabola's bowl.
class Hills final : public SmoothConstraints {
 public:
  explicit Hills(std::uint64_t seed) {
    Random random(seed);
    for (int k = 0; k < 6; ++k) pieces_.push_back(random.normal_vector(3));
  }
  [[nodiscard]] double operator()(VectorArg x) const {
    double sum = -0.8;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const auto name = static_cast<Index>(k);
      sum += factor(name) * std::max(0.0, input(name, x));
    }
    return sum - 0.05 * x.squaredNorm();
  }
  void values(VectorArg x, Vector& values) override { values[0] = (*this)(x); }
  void gradients(VectorArg x, Vector& values, Matrix& gradients) override {
    values[0] = (*this)(x);
    gradients.col(0) = -0.1 * x;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
      const auto name = static_cast<Index>(k);
      if (input(name, x) > 0) gradients.col(0) += factor(name) * slope(name);
    }
  }
  [[nodiscard]] static double factor(Index k) { return k % 2 == 0 ? 1 : -0.7; }
  [[nodiscard]] Eigen::Vector2d slope(Index k) const { return piece(k).head<2>(); }
  [[nodiscard]] double input(Index k, VectorArg x) const {
    return piece(k)[0] * x[0] + piece(k)[1] * x[1] + piece(k)[2];
  }

 private:
  [[nodiscard]] const Vector& piece(Index k) const { return pieces_[static_cast<std::size_t>(k)]; }

  std::vector<Vector> pieces_;
};

/// The same, and says where it has kinks.
class KinkedHills final : public SmoothConstraints {
 public:
  explicit KinkedHills(std::uint64_t seed) : hills_(seed) {}
  void values(VectorArg x, Vector& values) override { hills_.values(x, values); }
  void gradients(VectorArg x, Vector& values, Matrix& gradients) override {
    at_ = x;
    hills_.gradients(x, values, gradients);
  }
  [[nodiscard]] bool curvature_root(const Vector& multipliers, Matrix& root) override {
    root = std::sqrt(0.1 * multipliers[0]) * Matrix::Identity(2, 2);
    return true;
  }
  void crossed_kinks(VectorArg step, std::vector<Index>& names) override {
    for (Index k = 0; k < 6; ++k) {
      if ((hills_.input(k, at_) > 0) != (hills_.input(k, at_ + step) > 0)) names.push_back(k);
    }
  }
  [[nodiscard]] bool find_kink(Index name, Kink& kink) override {
    const double input = hills_.input(name, at_);
    kink = {.row = 0, .weight = -hills_.factor(name), .distance = std::abs(input)};
    kink.normal = (input > 0 ? 1 : -1) * hills_.slope(name);
    return kink.weight > 0;
  }

 private:
  Hills hills_;
  Vector at_;
};

NearestPoint random_box(Index d, Random& random, double half_width) {
  NearestPoint problem{.query = random.normal_vector(d)};
  problem.lower = problem.query.array() - half_width;
  problem.upper = problem.query.array() + half_width;
  problem.weights = random.normal_vector(d).array().abs() + 0.5;
  problem.lower[0] = problem.upper[0] = problem.query[0];
  problem.lower[d - 1] = problem.query[d - 1];
  return problem;
}

struct Comparison {
  int solved = 0;
  int missed = 0;    // not found, though there is an answer
  double worst = 0;  // relative excess over the exact answer
};

Comparison compare_with_exact(bool curved) {
  Comparison comparison;
  for (const std::uint64_t seed : testing_support::seeds(0, 60)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index d = 3 + static_cast<Index>(random.below(10));
    const Instance instance = random_instance(d, 100, seed);
    const NearestPoint problem = random_box(d, random, seed % 2 == 0 ? 1.0 : 20.0);
    const double epsilon = 0.002;
    const double threshold = 0.5;
    const BoxProjection exact = BoxFactor(instance.theta, instance.hessian)
                                    .project({.query = problem.query,
                                              .lower = problem.lower,
                                              .upper = problem.upper,
                                              .cost = {.quadratic = problem.weights},
                                              .epsilon = epsilon,
                                              .threshold = threshold});
    RobustLinear constraints({instance}, epsilon, threshold, curved);
    SequentialQuadratic solver(problem, 1, {.max_iterations = 100});
    const SequentialQuadraticResult result = solver.solve(constraints, problem.query);
    if (exact.status == BoxStatus::infeasible) {
      EXPECT_FALSE(result.found) << seed;
    } else {
      comparison.missed += result.found ? 0 : 1;
    }
    if (!result.found || exact.status == BoxStatus::already_feasible) continue;
    ++comparison.solved;
    comparison.worst = std::max(comparison.worst, result.objective / exact.objective - 1);
    EXPECT_GE(result.objective, exact.lower_bound * (1 - 1e-9)) << seed;
  }
  return comparison;
}

TEST(SequentialQuadratic, ConcaveConstraintsGiveTheExactAnswer) {
  const Comparison with_curvature = compare_with_exact(true);
  EXPECT_GE(with_curvature.solved, 20);
  EXPECT_EQ(with_curvature.missed, 0);
  EXPECT_LT(with_curvature.worst, 1e-6);
  // By slopes alone a narrow answer takes more steps than there are, now and then.
  const Comparison without = compare_with_exact(false);
  EXPECT_LE(without.missed, 1 + with_curvature.solved / 20);
  EXPECT_LT(without.worst, 1e-4);
}

TEST(SequentialQuadratic, SeveralConstraintsMeetTheOptimalityConditions) {
  int solved = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 40)) {
    SCOPED_TRACE(seed);
    Random random(seed + 1000);
    const Index d = 6;
    const NearestPoint problem = random_box(d, random, 10);
    RobustLinear constraints({random_instance(d, 10, seed), random_instance(d, 10, seed + 500)},
                             0.002, 0.3, true);
    SequentialQuadratic solver(problem, 2, {.max_iterations = 100});
    const SequentialQuadraticResult result = solver.solve(constraints, problem.query);
    if (!result.found) continue;
    ++solved;
    EXPECT_LT(result.residual, 1e-4) << seed;
    // Random feasible points of this convex set are no nearer.
    Vector values(2);
    constraints.values(solver.point(), values);
    EXPECT_GE(values.minCoeff(), 0) << seed;
    for (int k = 0; k < 2000; ++k) {
      Vector other = solver.point() + std::pow(10, -3 * random.uniform()) * random.normal_vector(d);
      other = other.cwiseMax(problem.lower).cwiseMin(problem.upper);
      constraints.values(other, values);
      if (values.minCoeff() < 0) continue;
      const double cost = 0.5 * (other - problem.query).cwiseAbs2().dot(problem.weights);
      EXPECT_GE(cost, result.objective * (1 - 1e-6)) << seed;
    }
  }
  EXPECT_GE(solved, 20);
}

TEST(SequentialQuadratic, KinkedHillsAgreeWithAGridAndNothingIsInfeasible) {
  int nearest = 0;
  int cases = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 200)) {
    SCOPED_TRACE(seed);
    Hills hills(seed);
    Random random(seed);
    const NearestPoint problem{.query = random.normal_vector(2),
                               .lower = Vector::Constant(2, -4),
                               .upper = Vector::Constant(2, 4),
                               .weights = Vector::Ones(2)};
    double grid_best = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= 400; ++i) {
      for (int j = 0; j <= 400; ++j) {
        const Vector x = Eigen::Vector2d(-4 + 0.02 * i, -4 + 0.02 * j);
        if (hills(x) >= 0) grid_best = std::min(grid_best, (x - problem.query).norm());
      }
    }
    SequentialQuadratic solver(problem, 1);
    double best = std::numeric_limits<double>::infinity();
    const auto search = [&](const Vector& start) {
      const SequentialQuadraticResult result = solver.solve(hills, start);
      if (!result.found) return;
      EXPECT_GE(hills(solver.point()), 0) << seed;
      EXPECT_LE(solver.point().cwiseAbs().maxCoeff(), 4) << seed;
      EXPECT_NEAR(result.objective, 0.5 * (solver.point() - problem.query).squaredNorm(), 1e-12);
      best = std::min(best, (solver.point() - problem.query).norm());
    };
    search(problem.query);
    search(augmented_descent(hills, problem, problem.query));
    for (int k = 0; k < 6; ++k) search(2 * random.normal_vector(2));
    if (!std::isfinite(grid_best)) continue;
    ++cases;
    nearest += best <= grid_best + 0.02 ? 1 : 0;
  }
  EXPECT_GE(cases, 100);
  EXPECT_GE(nearest, cases * 97 / 100) << "of " << cases;
}

TEST(SequentialQuadratic, EndsAtKinksWhereItIsTold) {
  int found = 0;
  int at_kinks = 0;
  int ended = 0;
  int ended_untold = 0;
  int dearer = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 300)) {
    SCOPED_TRACE(seed);
    Hills hills(seed);
    KinkedHills told(seed);
    Random random(seed);
    const NearestPoint problem{.query = random.normal_vector(2),
                               .lower = Vector::Constant(2, -4),
                               .upper = Vector::Constant(2, 4),
                               .weights = Vector::Ones(2)};
    const Vector start = 2 * random.normal_vector(2);
    SequentialQuadratic solver(problem, 1);
    const auto is_ended = [&](const SequentialQuadraticResult& result) {
      return result.residual <= 1e-6 * (1 + std::sqrt(2 * result.objective)) ? 1 : 0;
    };
    const SequentialQuadraticResult untold = solver.solve(hills, start);
    const SequentialQuadraticResult result = solver.solve(told, start);
    if (!result.found || !untold.found) continue;
    ++found;
    EXPECT_GE(hills(solver.point()), 0);
    for (Index k = 1; k < 6; k += 2) {
      if (std::abs(hills.input(k, solver.point())) > 1e-7) continue;
      ++at_kinks;
      break;
    }
    ended += is_ended(result);
    ended_untold += is_ended(untold);
    dearer += result.objective > untold.objective * (1 + 1e-6) + 1e-9 ? 1 : 0;
  }
  EXPECT_GE(at_kinks, found / 20);
  EXPECT_GE(ended, found * 95 / 100) << "of " << found << ", untold " << ended_untold;
  EXPECT_GT(ended, ended_untold);
  EXPECT_LE(dearer, found / 50);
}

TEST(SequentialQuadratic, StopsAtTheFirstFeasiblePointWhenAsked) {
  const Instance instance = random_instance(5, 10, 3);
  Random random(3);
  const NearestPoint problem = random_box(5, random, 50);
  RobustLinear constraints({instance}, 1e-3, 1, true);
  SequentialQuadratic full(problem, 1);
  SequentialQuadratic first(problem, 1, {.first_feasible = true});
  const SequentialQuadraticResult a = full.solve(constraints, problem.query);
  const SequentialQuadraticResult b = first.solve(constraints, problem.query);
  ASSERT_TRUE(a.found);
  ASSERT_TRUE(b.found);
  EXPECT_LT(b.evaluations, a.evaluations);
}

TEST(SequentialQuadratic, GivesUpWhereTheCutoffIsOutOfReachAndElseEndsAsEver) {
  int spared = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 100)) {
    SCOPED_TRACE(seed);
    Hills hills(seed);
    Random random(seed);
    const NearestPoint problem{.query = random.normal_vector(2),
                               .lower = Vector::Constant(2, -4),
                               .upper = Vector::Constant(2, 4),
                               .weights = Vector::Ones(2)};
    const Vector start = 2 * random.normal_vector(2);
    SequentialQuadratic solver(problem, 1);
    const SequentialQuadraticResult full = solver.solve(hills, start);
    if (!full.found) continue;
    const Vector point = solver.point();
    // One that this very search stays below does not stop it.
    const SequentialQuadraticResult same = solver.solve(hills, start, 100);
    EXPECT_EQ(same.evaluations, full.evaluations);
    EXPECT_EQ(solver.point(), point);
    const SequentialQuadraticResult less = solver.solve(hills, start, 0.1 * full.objective);
    EXPECT_LE(less.evaluations, full.evaluations);
    if (less.found) {
      EXPECT_GE(less.objective, full.objective);
    }
    spared += full.evaluations - less.evaluations;
  }
  EXPECT_GT(spared, 100);
}

TEST(SequentialQuadratic, EndsWhereItIsAboutToReachAnotherEndOfItsRegion) {
  int spared = 0;
  int given_up = 0;
  int dearer = 0;
  int found = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 200)) {
    SCOPED_TRACE(seed);
    KinkedHills hills(seed);
    Random random(seed);
    const NearestPoint problem{.query = random.normal_vector(2),
                               .lower = Vector::Constant(2, -4),
                               .upper = Vector::Constant(2, 4),
                               .weights = Vector::Ones(2)};
    SequentialQuadratic solver(problem, 1);
    std::vector<Vector> ends;
    double best = std::numeric_limits<double>::infinity();
    double known = best;
    for (int k = 0; k < 6; ++k) {
      const Vector start = 2 * random.normal_vector(2);
      const SequentialQuadraticResult full = solver.solve(hills, start);
      if (full.found) best = std::min(best, full.objective);
      const SequentialQuadraticResult less =
          solver.solve(hills, start, std::numeric_limits<double>::infinity(), ends);
      EXPECT_LE(less.evaluations, full.evaluations);
      spared += full.evaluations - less.evaluations;
      given_up += less.given_up ? 1 : 0;
      if (!less.found) continue;
      EXPECT_GE(less.objective, full.objective);
      known = std::min(known, less.objective);
      if (!less.given_up) ends.push_back(solver.point());
    }
    if (!std::isfinite(best)) continue;
    ++found;
    dearer += known > best * (1 + 1e-6) + 1e-9 ? 1 : 0;
  }
  EXPECT_GT(given_up, found / 2);
  EXPECT_GT(spared, 3 * given_up);
  EXPECT_LE(dearer, found / 50);
}

TEST(SequentialQuadratic, DoesNotAllocateAfterItIsMade) {
  if (!allocation_count()) GTEST_SKIP() << "skipped: allocations are not counted here";
  Hills hills(7);
  const NearestPoint problem{.query = Vector::Zero(2),
                             .lower = Vector::Constant(2, -4),
                             .upper = Vector::Constant(2, 4),
                             .weights = Vector::Ones(2)};
  SequentialQuadratic solver(problem, 1);
  const Vector start = Eigen::Vector2d(2, 3);
  const std::optional<std::size_t> before = allocation_count();
  (void)solver.solve(hills, start);
  EXPECT_EQ(*allocation_count(), *before);
}

TEST(SequentialQuadratic, RefusesAnEmptyBoxAndWeightsThatAreNotPositive) {
  NearestPoint problem{.query = Vector::Zero(2),
                       .lower = Vector::Ones(2),
                       .upper = Vector::Zero(2),
                       .weights = Vector::Ones(2)};
  EXPECT_THROW(SequentialQuadratic(problem, 1), Error);
  problem.upper = Vector::Ones(2);
  problem.weights[0] = 0;
  EXPECT_THROW(SequentialQuadratic(problem, 1), Error);
}

TEST(SequentialQuadratic, GivesUpQuietlyWhereGradientsVanish) {
  class Flat final : public SmoothConstraints {
   public:
    void values(VectorArg, Vector& values) override { values[0] = -1; }
    void gradients(VectorArg, Vector& values, Matrix& gradients) override {
      values[0] = -1;
      gradients.setZero();
    }
  } flat;
  const NearestPoint problem{.query = Vector::Zero(2),
                             .lower = Vector::Constant(2, -1),
                             .upper = Vector::Constant(2, 1),
                             .weights = Vector::Ones(2)};
  SequentialQuadratic solver(problem, 1);
  EXPECT_FALSE(solver.solve(flat, Vector::Ones(2)).found);
}

}  // namespace
}  // namespace ellice
