#include "model/loss_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"

namespace ellice {
namespace {

/// The textbook formulas in extended precision, with a different branch structure.
struct Expected {
  long double value, slope, curvature;
};
Expected logistic(long double f, int label) {
  const long double m = label == 1 ? f : -f;
  const long double value = m > 0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m));
  const long double q = 1 / (1 + std::exp(m));  // σ(−m)
  const long double p = 1 / (1 + std::exp(-m));
  return {value, label == 1 ? -q : q, p * q};
}

TEST(LossBatch, LogisticIsAccurateForScoresOfEverySize) {
  const Vector special{{0, 1e-20, -1e-20, 0.3, -2, 17, -36, 40, -700, 709, -745, 1e6, -1e300}};
  Vector scores(special.size() + 20001);
  scores << special, Vector::LinSpaced(20001, -45.3, 44.7);
  for (const int label : {0, 1}) {
    LossBatch batch;
    batch.evaluate(LossKind::logistic, scores, Vector::Constant(scores.size(), 2.0 * label - 1));
    for (Index i = 0; i < scores.size(); ++i) {
      const Expected expected = logistic(scores(i), label);
      const auto close = [&](double found, long double wanted) {
        EXPECT_NEAR(found, static_cast<double>(wanted),
                    2e-15 * std::abs(static_cast<double>(wanted)) + 1e-305)
            << "score " << scores(i) << ", label " << label;
      };
      close(batch.value()(i), expected.value);
      close(batch.slope()(i), expected.slope);
      close(batch.curvature()(i), expected.curvature);
    }
    const Vector curvature = batch.curvature();
    batch.evaluate_curvature(LossKind::logistic, scores);
    EXPECT_LE((batch.curvature() - curvature).cwiseAbs().maxCoeff(), 1e-15);
  }
}

TEST(LossBatch, SquaredIsRegressionOnPlusAndMinusOne) {
  LossBatch batch;
  batch.evaluate(LossKind::squared, Vector{{3, 3}}, Vector{{1, -1}});
  EXPECT_EQ(batch.value(), (Vector{{2, 8}}));
  EXPECT_EQ(batch.slope(), (Vector{{2, 4}}));
  EXPECT_EQ(batch.curvature(), (Vector{{1, 1}}));
}

TEST(BendAbove, IsTheLeastFactorThatKeepsTheLossBelowOnTheInterval) {
  Random random(7);
  const auto least_factor = [](long double f, long double u) {
    const Expected there = logistic(f + u, 0);
    const Expected here = logistic(f, 0);
    return 2 * (there.value - here.value - here.slope * u) / (u * u);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const double f = 4 * random.normal();
    const double low = -std::abs(random.normal()) * std::pow(10, 1.5 * random.uniform() - 1);
    const double high = std::abs(random.normal()) * std::pow(10, 1.5 * random.uniform() - 1);
    const double bend = bend_above(LossKind::logistic, f, low, high);
    long double most = 0;
    for (int k = 0; k <= 400; ++k) {
      const long double u = low + (static_cast<long double>(high) - low) * k / 400;
      if (std::abs(u) > 1e-3) most = std::max(most, least_factor(f, u));
    }
    EXPECT_GE(bend, static_cast<double>(most)) << f << " on [" << low << ", " << high << "]";
    EXPECT_GE(bend, static_cast<double>(logistic(f, 0).curvature));
    EXPECT_LE(bend, 1.02 * static_cast<double>(most) + 1e-9)
        << f << " on [" << low << ", " << high << "]";
    EXPECT_EQ(bend_above(LossKind::squared, f, low, high), 1);
  }
}

TEST(Sigmoid, DoesNotOverflow) {
  EXPECT_EQ(sigmoid(0), 0.5);
  EXPECT_EQ(sigmoid(1000), 1);
  EXPECT_NEAR(sigmoid(-700), std::exp(-700), 1e-318);
  EXPECT_EQ(sigmoid(-1e9), 0);
}

}  // namespace
}  // namespace ellice
