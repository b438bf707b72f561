#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

struct Rows {
  RowMatrix features = {};
  std::vector<int> labels = {};
  Penalty penalty = {};
  Index classes = 3;
};

Rows random_rows(Index count, Index columns, Index classes, std::uint64_t seed, Penalty penalty) {
  Random random(seed);
  Rows rows{.features = RowMatrix(count, columns), .penalty = penalty, .classes = classes};
  Matrix truth(columns, classes);
  for (Index k = 0; k < classes; ++k) truth.col(k) = random.normal_vector(columns);
  for (Index i = 0; i < count; ++i) {
    rows.features.row(i) = random.normal_vector(columns).transpose();
    const Vector scores =
        truth.transpose() * rows.features.row(i).transpose() + 1.5 * random.normal_vector(classes);
    Index label = 0;
    scores.maxCoeff(&label);
    rows.labels.push_back(static_cast<int>(label));
  }
  return rows;
}

/// The objective from its definition, row by row and class by class.
double plain_objective(const Rows& rows, const Vector& theta, Vector& gradient) {
  const Index p = rows.features.cols() + 1;
  const auto n = static_cast<double>(rows.features.rows());
  gradient = Vector::Zero(theta.size());
  double value = 0;
  for (Index i = 0; i < rows.features.rows(); ++i) {
    const Vector x = with_one(rows.features.row(i).transpose());
    double total = 0;
    for (Index k = 0; k < rows.classes; ++k) total += std::exp(theta.segment(k * p, p).dot(x));
    const auto label = static_cast<Index>(rows.labels[static_cast<std::size_t>(i)]);
    value += (std::log(total) - theta.segment(label * p, p).dot(x)) / n;
    for (Index k = 0; k < rows.classes; ++k) {
      const double share = std::exp(theta.segment(k * p, p).dot(x)) / total;
      gradient.segment(k * p, p) += (share - (k == label ? 1 : 0)) / n * x;
    }
  }
  for (Index k = 0; k < rows.classes; ++k) {
    const Index penalized = rows.penalty.penalize_bias ? p : p - 1;
    value += rows.penalty.l2 / 2 * theta.segment(k * p, penalized).squaredNorm();
    gradient.segment(k * p, penalized) += rows.penalty.l2 * theta.segment(k * p, penalized);
  }
  return value;
}

Vector plain_minimiser(const Rows& rows, const Vector& extra, Vector from) {
  return oracles::minimize_lbfgs(
      [&](const Vector& theta, Vector& gradient) {
        const double value = plain_objective(rows, theta, gradient) + extra.dot(theta);
        gradient += extra;
        return value;
      },
      std::move(from));
}

TrueSet set_of(const Rows& rows, const Vector& minimiser, double epsilon) {
  return {rows.features, rows.labels, LossKind::softmax, rows.classes, rows.penalty,
          minimiser,     epsilon};
}

Vector direction(const Vector& x, Index wanted, Index rival, Index classes) {
  Vector c = Vector::Zero(x.size() * classes);
  c.segment(wanted * x.size(), x.size()) = x;
  c.segment(rival * x.size(), x.size()) = -x;
  return c;
}

void expect_minimum(const Rows& rows, double epsilon, const Vector& x, Index wanted, Index rival) {
  const Vector zero = Vector::Zero(rows.classes * x.size());
  const Vector optimum = plain_minimiser(rows, zero, zero);
  const Vector c = direction(x, wanted, rival, rows.classes);
  const WorstHead worst = set_of(rows, optimum, epsilon).worst(c);
  const double penalty = optimum.dot(c) - worst.attained;
  EXPECT_GT(penalty, 0);
  EXPECT_LE(worst.proved, worst.attained);
  EXPECT_LE(worst.attained - worst.proved, 1e-7 * penalty);
  // By bisection for the multiplier, each step a minimisation.
  Vector unused;
  const double level = plain_objective(rows, optimum, unused) + epsilon;
  Vector theta = optimum;
  const auto objective_at = [&](double tau) {
    theta = plain_minimiser(rows, tau * c, theta);
    return plain_objective(rows, theta, unused);
  };
  double low = 0;
  double high = 1e-3;
  while (objective_at(high) < level) high *= 2;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (objective_at(middle) < level ? low : high) = middle;
  }
  (void)objective_at((low + high) / 2);
  EXPECT_NEAR(worst.attained, theta.dot(c), 1e-5 * penalty);
  EXPECT_LE(plain_objective(rows, worst.model, unused), level + 1e-13);
}

TEST(TrueSetOfClasses, WorstMarginIsThatOfAnIndependentSolver) {
  Random random(3);
  for (const std::uint64_t seed : {1U, 2U}) {
    const Rows rows = random_rows(150, 3, 3, seed, {.l2 = 1e-2});
    for (const double epsilon : {1e-3, 0.02}) {
      expect_minimum(rows, epsilon, with_one(random.normal_vector(3)), 0, 2);
      expect_minimum(rows, epsilon, with_one(random.normal_vector(3)), 2, 1);
    }
  }
}

TEST(TrueSetOfClasses, BoundsMeetHoweverLargeTheSet) {
  Random random(6);
  const Rows rows = random_rows(60, 2, 3, 5, {.l2 = 1e-3});
  const Vector zero = Vector::Zero(9);
  const Vector optimum = plain_minimiser(rows, zero, zero);
  Vector unused;
  for (const double epsilon : {1.0, 10.0}) {
    const TrueSet set = set_of(rows, optimum, epsilon);
    for (int k = 0; k < 6; ++k) {
      const Vector c =
          direction(with_one((k + 1) * random.normal_vector(2)), k % 3, (k + 1) % 3, 3);
      const WorstHead worst = set.worst(c);
      const double penalty = optimum.dot(c) - worst.attained;
      EXPECT_LE(worst.proved, worst.attained);
      EXPECT_LE(worst.attained - worst.proved, 1e-6 * penalty);
      const double level = plain_objective(rows, optimum, unused) + epsilon;
      EXPECT_LE(plain_objective(rows, worst.model, unused), level * (1 + 1e-12));
      EXPECT_NEAR(set.radius(c, worst.attained), epsilon, 1e-5 * epsilon);
    }
  }
}

TEST(TrueSetOfClasses, BoundHoldsWithoutPenaltyOnTheBiasAndWithoutAny) {
  const Vector x = with_one(Random(4).normal_vector(3));
  expect_minimum(random_rows(150, 3, 3, 5, {.l2 = 1e-2, .penalize_bias = false}), 0.01, x, 1, 0);
  expect_minimum(random_rows(150, 3, 4, 6, {.l2 = 0}), 0.005, x, 3, 1);
}

TEST(TrueSetOfClasses, OfTwoClassesIsTheLogisticTrueSetWithHalfThePenalty) {
  const Rows rows = random_rows(200, 4, 2, 9, {.l2 = 2e-2});
  const Vector zero = Vector::Zero(10);
  const Vector optimum = plain_minimiser(rows, zero, zero);
  const Vector difference = optimum.tail(5) - optimum.head(5);
  Random random(1);
  for (const double epsilon : {1e-3, 0.01, 0.05}) {
    const TrueSet softmax = set_of(rows, optimum, epsilon);
    const TrueSet binary(rows.features, rows.labels, LossKind::logistic, 1, {.l2 = 1e-2},
                         difference, epsilon);
    EXPECT_NEAR(softmax.optimum(), binary.optimum(), 1e-12);
    for (int k = 0; k < 5; ++k) {
      const Vector x = with_one(random.normal_vector(4));
      const WorstHead expected = binary.worst(x);
      const WorstHead found = softmax.worst(direction(x, 1, 0, 2));
      EXPECT_NEAR(found.attained, expected.attained, 1e-8);
      EXPECT_NEAR(found.proved, expected.proved, 1e-8);
      EXPECT_LT((found.model.tail(5) - found.model.head(5) - expected.model).norm(), 1e-5);
    }
  }
}

TEST(TrueSetOfClasses, WarmStartEndsAtTheSameHeads) {
  const Rows rows = random_rows(150, 3, 3, 8, {.l2 = 1e-2});
  const Vector zero = Vector::Zero(12);
  const TrueSet set = set_of(rows, plain_minimiser(rows, zero, zero), 0.02);
  Random random(2);
  Vector x = with_one(random.normal_vector(3));
  const WorstHead near = set.worst(direction(x, 0, 1, 3));
  x.head(3) += 0.2 * random.normal_vector(3);
  const Vector c = direction(x, 0, 1, 3);
  const WorstHead cold = set.worst(c);
  const WorstHead warm = set.worst(c, &near);
  EXPECT_NEAR(warm.attained, cold.attained, 1e-9);
  EXPECT_EQ(set.worst(c, &warm).iterations, 0);
}

TEST(TrueSetOfClasses, RadiusIsTheEpsilonAtWhichTheWorstMarginMeetsTheThreshold) {
  Random random(12);
  for (const Penalty& penalty :
       {Penalty{.l2 = 1e-2}, Penalty{.l2 = 1e-2, .penalize_bias = false}}) {
    const Rows rows = random_rows(150, 3, 3, 13, penalty);
    const Vector zero = Vector::Zero(12);
    const TrueSet set = set_of(rows, plain_minimiser(rows, zero, zero), 0.01);
    int positive = 0;
    for (int draw = 0; draw < 8; ++draw) {
      const Vector c = direction(with_one(random.normal_vector(3)), 2, 0, 3);
      const double radius = set.radius(c, 0.1);
      EXPECT_EQ(radius > 0, set.center().dot(c) > 0.1);
      if (!(radius > 1e-6)) continue;
      ++positive;
      EXPECT_GE(set.with_epsilon(radius * (1 - 1e-5))->worst(c).proved, 0.1);
      EXPECT_LT(set.with_epsilon(radius * (1 + 1e-5))->worst(c).attained, 0.1);
    }
    EXPECT_GT(positive, 2);
  }
}

TEST(TrueSetOfClasses, RefusesWhatIsNoMinimiserAndWhatIsNoClass) {
  const Rows rows = random_rows(100, 2, 3, 7, {.l2 = 1e-2});
  const Vector zero = Vector::Zero(9);
  const Vector heads = plain_minimiser(rows, zero, zero);
  const auto make = [&](const Vector& minimiser, double epsilon, std::vector<int> labels) {
    return TrueSet(rows.features, std::move(labels), LossKind::softmax, minimiser.size() / 3,
                   rows.penalty, minimiser, epsilon);
  };
  EXPECT_THROW((void)make(2 * heads, 1e-3, rows.labels), Error);
  EXPECT_THROW((void)make(heads, 1e-13, rows.labels), Error);
  EXPECT_THROW((void)make(heads.head(6), 1e-3, rows.labels), Error);  // a label is 2
  EXPECT_THROW((void)make(heads, 1e-3, {0, 1}), Error);
  EXPECT_THROW((void)make(heads, 1e-3, rows.labels).worst(Vector::Ones(3)), Error);
}

}  // namespace
}  // namespace ellice
