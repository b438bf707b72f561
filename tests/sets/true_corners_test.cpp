// The true set of objectives with an l1 penalty (theory.md, Result 58), against sampled models and
// against searches over one parameter after the other.

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <functional>

#include "core/random.hpp"
#include "ellice/model/training.hpp"
#include "model/head_objective.hpp"
#include "sets/true_set.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

struct CorneredFit {
  RowMatrix features = {};
  std::vector<int> labels = {};
  LossKind loss = LossKind::logistic;
  Penalty penalty = {};
  Vector minimiser = {};

  [[nodiscard]] HeadObjective objective() const { return {features, labels, loss, 1, penalty}; }
  [[nodiscard]] TrueSet set(double epsilon) const {
    return {features, labels, loss, 1, penalty, minimiser, epsilon};
  }
};

CorneredFit lasso(Index columns, std::uint64_t seed, double l2, double l1,
                  LossKind loss = LossKind::logistic) {
  const auto data = problem_zoo::random_rows(columns == 2 ? 50 : 150, columns, seed);
  CorneredFit fit{
      .features = data.features,
      .labels = data.labels,
      .loss = loss,
      .penalty = {.l2 = l2, .penalize_bias = false, .l1 = Vector::Constant(columns, l1)}};
  Random random(seed);
  for (double& entry : fit.penalty.l1) entry *= 0.5 + random.uniform();
  fit.minimiser = fit.objective().minimize({}, "rows").point;
  return fit;
}

/// L by plain loops, from its definition.
double cornered_value(const CorneredFit& fit, const Vector& theta) {
  const Index d = fit.features.cols();
  long double sum = 0;
  for (Index i = 0; i < fit.features.rows(); ++i) {
    long double score = theta(d);
    for (Index j = 0; j < d; ++j) score += theta(j) * fit.features(i, j);
    const long double sign = fit.labels[static_cast<std::size_t>(i)] == 1 ? 1 : -1;
    sum += fit.loss == LossKind::squared ? (score - sign) * (score - sign) / 2
                                         : std::log1p(std::exp(-sign * score));
  }
  long double rest = 0;
  for (Index j = 0; j < d; ++j) {
    rest += fit.penalty.l2 / 2 * theta(j) * theta(j) + fit.penalty.l1(j) * std::abs(theta(j));
  }
  return static_cast<double>(sum / fit.features.rows() + rest);
}

/// The least value of a convex function between two ends, by golden sections.
double least(double from, double to, const std::function<double(double)>& f) {
  constexpr double golden = 0.6180339887498949;
  double left = to - golden * (to - from);
  double right = from + golden * (to - from);
  double at_left = f(left);
  double at_right = f(right);
  for (int k = 0; k < 42; ++k) {
    if (at_left < at_right) {
      to = right;
      right = left;
      at_right = at_left;
      left = to - golden * (to - from);
      at_left = f(left);
    } else {
      from = left;
      left = right;
      at_left = at_right;
      right = from + golden * (to - from);
      at_right = f(right);
    }
  }
  return std::min(at_left, at_right);
}

class Lasso : public testing::TestWithParam<std::tuple<double, double, LossKind>> {
 protected:
  [[nodiscard]] static CorneredFit fit(Index columns, std::uint64_t seed) {
    return lasso(columns, seed, std::get<0>(GetParam()), std::get<1>(GetParam()),
                 std::get<2>(GetParam()));
  }
};

TEST_P(Lasso, CentreIsTheMinimiser) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const CorneredFit one = fit(5, seed);
    const double lowest = cornered_value(one, one.minimiser);
    EXPECT_NEAR(one.objective().value(one.minimiser), lowest, 1e-13);
    Random random(seed);
    for (int k = 0; k < 300; ++k) {
      const double size = std::pow(10, -5 * random.uniform());
      EXPECT_GE(cornered_value(one, one.minimiser + size * random.normal_vector(6)),
                lowest - 1e-15);
    }
  }
}

TEST_P(Lasso, NoSampledModelInsideScoresBelowTheBound) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const CorneredFit one = fit(5, seed);
    for (const double epsilon : {1e-4, 0.01, 0.2}) {
      const TrueSet set = one.set(epsilon);
      const double level = cornered_value(one, one.minimiser) + epsilon;
      Random random(seed);
      const WorstHead* nearby = nullptr;
      WorstHead worst;
      for (int people = 0; people < 4; ++people) {
        const Vector x = with_one(random.normal_vector(5));
        worst = set.worst(x, nearby);
        nearby = &worst;
        EXPECT_LE(worst.attained - worst.proved, 1e-8 * (1 + std::abs(worst.attained)));
        EXPECT_LE(cornered_value(one, worst.model), level + 1e-14);
        EXPECT_NEAR(cornered_value(one, worst.model), level, 1e-7 * epsilon);
        for (int k = 0; k < 30; ++k) {
          // To the border along a direction at random, often one in which entries become 0.
          const Vector start = k % 2 == 0 ? one.minimiser : worst.model;
          Vector direction = random.normal_vector(6);
          for (Index j = 0; j < 5; ++j) {
            if (random.below(3) == 0) direction(j) = -start(j);
          }
          double inside = 0;
          double outside = 1;
          while (cornered_value(one, start + outside * direction) <= level && outside < 1e6)
            outside *= 2;
          for (int step = 0; step < 45; ++step) {
            const double middle = (inside + outside) / 2;
            (cornered_value(one, start + middle * direction) <= level ? inside : outside) = middle;
          }
          EXPECT_GE(x.dot(start + inside * direction), worst.proved - 1e-12);
        }
        EXPECT_NEAR(set.radius(x, worst.attained), epsilon, 1e-7 * epsilon + 1e-12);
        // A radius is proved from below, and models beyond it show that it is near.
        const double threshold = x.dot(one.minimiser) - 0.3;
        const double radius = set.radius(x, threshold);
        EXPECT_LE(set.at(radius).worst(x).attained, threshold + 1e-6);
        EXPECT_GE(set.at(radius).worst(x).proved, threshold - 1e-7);
      }
    }
  }
}

TEST_P(Lasso, WorstScoresAreThoseOfNestedSearches) {
  for (const std::uint64_t seed : {5U, 6U}) {
    const CorneredFit one = fit(2, seed);
    const double epsilon = 0.03;
    const double level = cornered_value(one, one.minimiser) + epsilon;
    Random random(seed);
    const Vector x = with_one(random.normal_vector(2));
    // The least score with given weights: the lowest intercept that the level allows.
    const auto lowest_score = [&](double first, double second) {
      Vector theta(3);
      const auto at = [&](double intercept) {
        theta << first, second, intercept;
        return cornered_value(one, theta);
      };
      double middle = one.minimiser(2);
      for (int k = 0; k < 8; ++k) {  // Newton's, by differences, for a point inside
        const double h = 1e-4;
        const double slope = (at(middle + h) - at(middle - h)) / (2 * h);
        const double bend = (at(middle + h) - 2 * at(middle) + at(middle - h)) / (h * h);
        middle -= slope / bend;
      }
      if (at(middle) > level) return 1e3 * (1 + at(middle) - level);
      double inside = middle;
      double outside = middle - 20;
      for (int k = 0; k < 45; ++k) {
        const double half = (inside + outside) / 2;
        (at(half) <= level ? inside : outside) = half;
      }
      return x(0) * first + x(1) * second + inside;
    };
    const double found = least(one.minimiser(0) - 3, one.minimiser(0) + 3, [&](double first) {
      return least(one.minimiser(1) - 3, one.minimiser(1) + 3,
                   [&](double second) { return lowest_score(first, second); });
    });
    const WorstHead worst = one.set(epsilon).worst(x);
    EXPECT_NEAR(worst.attained, found, 1e-6);
    EXPECT_LE(worst.proved, found + 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lasso,
                         testing::Values(std::tuple{0.0, 0.02, LossKind::logistic},
                                         std::tuple{0.0, 0.2, LossKind::logistic},
                                         std::tuple{0.05, 0.02, LossKind::logistic},
                                         std::tuple{0.0, 0.05, LossKind::squared},
                                         std::tuple{0.0, 1e-5, LossKind::logistic}));

TEST(TrueCorners, LevelsThatOnlyTheCornersTellApart) {
  // Two indicators that add up to 1 and the intercept: the loss does not know one direction.
  CorneredFit fit = lasso(3, 9, 0, 0.01);
  fit.features.col(1) = (fit.features.col(0).array() > 0).cast<double>();
  fit.features.col(2) = 1 - fit.features.col(1).array();
  fit.minimiser = fit.objective().minimize({}, "rows").point;
  const double epsilon = 0.02;
  const TrueSet set = fit.set(epsilon);
  const double level = cornered_value(fit, fit.minimiser) + epsilon;
  Random random(2);
  for (int k = 0; k < 10; ++k) {
    const double indicator = k % 2;
    const Vector x{{random.normal(), indicator, 1 - indicator, 1}};
    const WorstHead worst = set.worst(x);
    EXPECT_LE(worst.attained - worst.proved, 1e-7);
    EXPECT_LE(cornered_value(fit, worst.model), level + 1e-14);
    for (int draws = 0; draws < 100; ++draws) {
      const Vector direction = random.normal_vector(4);
      double inside = 0;
      double outside = 1;
      while (cornered_value(fit, worst.model + outside * direction) <= level) outside *= 2;
      for (int step = 0; step < 45; ++step) {
        const double middle = (inside + outside) / 2;
        (cornered_value(fit, worst.model + middle * direction) <= level ? inside : outside) =
            middle;
      }
      EXPECT_GE(x.dot(worst.model + inside * direction), worst.proved - 1e-12);
    }
  }
}

TEST(TrueCorners, AnEllipsoidInsideTouchesTheSetAtTheWorstModel) {
  int flat = 0;
  for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
    const CorneredFit fit = lasso(6, 21, 1e-3, 0.05, loss);
    for (const double epsilon : {0.003, 0.1}) {
      const TrueSet set = fit.set(epsilon);
      Random random(22);
      for (int trial = 0; trial < 10; ++trial) {
        Vector a(7);
        a << random.normal_vector(6), 1;
        const WorstHead worst = set.worst(a);
        const std::optional<InnerEllipsoid> inner = set.touching(worst);
        ASSERT_TRUE(inner);
        const double fall = std::sqrt(2 * epsilon * a.dot(inner->inverse * a));
        const double penalty = fit.minimiser.dot(a) - worst.attained;
        EXPECT_NEAR(inner->center.dot(a) - fall, worst.attained, 1e-3 * penalty);
        EXPECT_GE(inner->center.dot(a) - fall, worst.proved);
        const Eigen::SelfAdjointEigenSolver<Matrix> axes(inner->inverse);
        flat += axes.eigenvalues()(0) <= 1e-12 * axes.eigenvalues()(6) ? 1 : 0;
        for (int k = 0; k < 200; ++k) {
          const Vector direction = random.normal_vector(7).normalized();
          const Vector away = axes.eigenvectors() *
                              axes.eigenvalues().cwiseMax(0).cwiseSqrt().cwiseProduct(direction);
          EXPECT_LE(cornered_value(fit, inner->center + std::sqrt(2 * epsilon) * away),
                    set.level() + 1e-12);
        }
      }
    }
  }
  EXPECT_GT(flat, 3);
}

}  // namespace
}  // namespace ellice
