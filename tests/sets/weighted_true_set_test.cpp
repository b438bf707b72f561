// The true set of objectives with weights of rows and factors of columns.

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "ellice/model/training.hpp"
#include "model/head_objective.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

struct Fit {
  StoredRows rows = {};
  Penalty penalty = {};
  Vector minimiser = {};
};

Fit weighted_fit(std::uint64_t seed, bool penalize_bias, double l2 = 0.02) {
  const auto data = problem_zoo::random_rows(250, 4, seed);
  Random random(seed + 50);
  Fit fit{.rows = {.encoded = data.features, .labels = data.labels, .weights = Vector(250)},
          .penalty = {.l2 = l2,
                      .penalize_bias = penalize_bias,
                      .factors = random.normal_vector(4).array().exp()}};
  for (double& weight : fit.rows.weights) weight = static_cast<double>(1 + random.below(5));
  fit.minimiser =
      HeadObjective(labelled(fit.rows), LossKind::logistic, 1, fit.penalty).minimize({}, "x").point;
  return fit;
}

TrueSet set_of(const Fit& fit, double epsilon) {
  return {fit.rows.encoded,
          fit.rows.labels,
          LossKind::logistic,
          1,
          fit.penalty,
          fit.minimiser,
          epsilon,
          1,
          fit.rows.weights};
}

/// L by plain loops, from its definition.
double plain(const Fit& fit, const Vector& theta) {
  long double sum = 0;
  long double mass = 0;
  for (Index i = 0; i < fit.rows.encoded.rows(); ++i) {
    long double score = theta(4);
    for (Index j = 0; j < 4; ++j) score += theta(j) * fit.rows.encoded(i, j);
    const bool yes = fit.rows.labels[static_cast<std::size_t>(i)] == 1;
    sum += fit.rows.weights(i) * std::log1p(std::exp(yes ? -score : score));
    mass += fit.rows.weights(i);
  }
  long double squares = fit.penalty.penalize_bias ? theta(4) * theta(4) : 0;
  for (Index j = 0; j < 4; ++j) squares += fit.penalty.factors(j) * theta(j) * theta(j);
  return static_cast<double>(sum / mass + fit.penalty.l2 / 2 * squares);
}

TEST(WeightedTrueSet, NoSampledModelInsideScoresBelowTheBound) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const bool penalize_bias : {true, false}) {
      const Fit fit = weighted_fit(seed, penalize_bias);
      const double epsilon = 0.03;
      const TrueSet set = set_of(fit, epsilon);
      const double level = plain(fit, fit.minimiser) + epsilon;
      Random random(seed);
      const Vector x = with_one(random.normal_vector(4));
      const WorstHead worst = set.worst(x);
      EXPECT_LE(worst.attained - worst.proved, 1e-7);
      EXPECT_LE(plain(fit, worst.model), level + 1e-14);
      EXPECT_NEAR(plain(fit, worst.model), level, 1e-8);
      double lowest = INFINITY;
      for (int k = 0; k < 300; ++k) {
        // To the border of the set along a direction at random, by bisection; every second one
        // starts from the worst model.
        const Vector start = k % 2 == 0 ? fit.minimiser : worst.model;
        const Vector direction = random.normal_vector(5);
        double inside = 0;
        double outside = 1;
        while (plain(fit, start + outside * direction) <= level) outside *= 2;
        for (int step = 0; step < 50; ++step) {
          const double middle = (inside + outside) / 2;
          (plain(fit, start + middle * direction) <= level ? inside : outside) = middle;
        }
        lowest = std::min(lowest, x.dot(start + inside * direction));
      }
      EXPECT_GE(lowest, worst.proved - 1e-12);
      EXPECT_LT(lowest, x.dot(fit.minimiser));
      // The cheapest model with that score is at the border, and so says the radius.
      EXPECT_NEAR(set.radius(x, worst.attained), epsilon, 1e-7);
    }
  }
}

TEST(WeightedTrueSet, IsThatOfRowsThatStandThereAsOftenAsTheyWeigh) {
  for (const bool penalize_bias : {true, false}) {
    for (const double l2 : {0.02, 0.0}) {
      const Fit fit = weighted_fit(7, penalize_bias, l2);
      std::vector<Index> order;
      for (Index i = 0; i < fit.rows.weights.size(); ++i)
        order.insert(order.end(), static_cast<std::size_t>(fit.rows.weights(i)), i);
      Fit repeated = fit;
      repeated.rows = {.encoded = fit.rows.encoded(order, Eigen::all)};
      for (const Index i : order)
        repeated.rows.labels.push_back(fit.rows.labels[static_cast<std::size_t>(i)]);
      const TrueSet one = set_of(fit, 0.02);
      const TrueSet other = set_of(repeated, 0.02);
      EXPECT_LE((one.hessian() - other.hessian()).norm(), 1e-12);
      Random random(5);
      for (int k = 0; k < 20; ++k) {
        const Vector x = with_one(random.normal_vector(4));
        EXPECT_NEAR(one.worst(x).proved, other.worst(x).proved, 1e-8);
        const double threshold = fit.minimiser.dot(x) - 0.3;
        EXPECT_NEAR(one.radius(x, threshold), other.radius(x, threshold), 1e-9);
      }
    }
  }
}

/// Of three classes, by plain loops.
double plain_classes(const Fit& fit, const Vector& theta) {
  long double sum = 0;
  for (Index i = 0; i < fit.rows.encoded.rows(); ++i) {
    long double total = 0;
    long double own = 0;
    for (Index k = 0; k < 3; ++k) {
      long double score = theta(5 * k + 4);
      for (Index j = 0; j < 4; ++j) score += theta(5 * k + j) * fit.rows.encoded(i, j);
      total += std::exp(score);
      if (fit.rows.labels[static_cast<std::size_t>(i)] == k) own = score;
    }
    sum += fit.rows.weights(i) * (std::log(total) - own);
  }
  long double squares = 0;
  for (Index k = 0; k < 3; ++k) {
    for (Index j = 0; j < 4; ++j)
      squares += fit.penalty.factors(j) * theta(5 * k + j) * theta(5 * k + j);
    if (fit.penalty.penalize_bias) squares += theta(5 * k + 4) * theta(5 * k + 4);
  }
  return static_cast<double>(sum / fit.rows.weights.sum() + fit.penalty.l2 / 2 * squares);
}

TEST(WeightedTrueSet, HoldsForSeveralClasses) {
  for (const bool penalize_bias : {true, false}) {
    Fit fit = weighted_fit(11, penalize_bias);
    Random random(4);
    for (std::size_t i = 0; i < fit.rows.labels.size(); ++i) {
      const double score = fit.rows.encoded(static_cast<Index>(i), 0) + random.normal();
      fit.rows.labels[i] = score < -0.5 ? 0 : score < 0.5 ? 1 : 2;
    }
    LabelledRows view = labelled(fit.rows);
    view.classes = 3;
    fit.minimiser = HeadObjective(view, LossKind::softmax, 3, fit.penalty).minimize({}, "x").point;
    const double epsilon = 0.03;
    const TrueSet set(fit.rows.encoded, fit.rows.labels, LossKind::softmax, 3, fit.penalty,
                      fit.minimiser, epsilon, 1, fit.rows.weights);
    const double level = plain_classes(fit, fit.minimiser) + epsilon;
    const Vector x = with_one(random.normal_vector(4));
    Vector a = Vector::Zero(15);  // by how much class 2 is ahead of class 0
    a.segment(10, 5) = x;
    a.head(5) = -x;
    const WorstHead worst = set.worst(a);
    EXPECT_LE(worst.attained - worst.proved, 1e-6);
    EXPECT_LE(plain_classes(fit, worst.model), level + 1e-14);
    for (int k = 0; k < 200; ++k) {
      const Vector start = k % 2 == 0 ? fit.minimiser : worst.model;
      const Vector direction = random.normal_vector(15);
      double inside = 0;
      double outside = 1;
      while (plain_classes(fit, start + outside * direction) <= level) outside *= 2;
      for (int step = 0; step < 40; ++step) {
        const double middle = (inside + outside) / 2;
        (plain_classes(fit, start + middle * direction) <= level ? inside : outside) = middle;
      }
      EXPECT_GE(a.dot(start + inside * direction), worst.proved - 1e-12);
    }
  }
}

}  // namespace
}  // namespace ellice
