#include "ellice/sets/retraining.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/stress.hpp"
#include "sets/warm_refits.hpp"
#include "support/numeric_dataset.hpp"

namespace ellice {
namespace {

struct Fitted {
  Dataset data;
  Model model;
  StoredRows rows;
  explicit Fitted(Index count, Index columns, const TrainingOptions& options = {.folds = 0},
                  double stretch = 1)
      : data(problem_zoo::numeric_dataset(problem_zoo::random_rows(count, columns, 4))) {
    if (stretch != 1) {  // labels that a linear score nearly separates
      Vector w = Random(3).normal_vector(columns);
      for (Index i = 0; i < count; ++i) {
        const double p = sigmoid(stretch * data.raw.row(i).dot(w) / w.norm());
        data.labels[static_cast<std::size_t>(i)] =
            Random(70 + static_cast<std::uint64_t>(i)).uniform() < p ? 1 : 0;
      }
    }
    model = train(data, {}, options).model;
    rows = {.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  }
};

/// Slope of the loss of row i by a head.
double slope(const Fitted& fitted, const Vector& head, Index i) {
  const double f = head.dot(with_one(fitted.rows.encoded.row(i).transpose()));
  const int label = fitted.rows.labels[static_cast<std::size_t>(i)];
  return fitted.model.training.loss_kind == LossKind::squared ? f - (2 * label - 1)
                                                              : sigmoid(f) - label;
}

/// The minimiser without row i, the weight of the others kept: by Newton's method from its
/// definition.
Vector without_row(const Fitted& fitted, Index left_out) {
  const auto n = static_cast<double>(fitted.rows.encoded.rows());
  Vector theta = fitted.model.network.head();
  const bool squared = fitted.model.training.loss_kind == LossKind::squared;
  for (int step = 0; step < 30; ++step) {
    Vector gradient = fitted.model.training.l2 * theta;
    Matrix hessian = fitted.model.training.l2 * Matrix::Identity(theta.size(), theta.size());
    for (Index i = 0; i < fitted.rows.encoded.rows(); ++i) {
      if (i == left_out) continue;
      const Vector x = with_one(fitted.rows.encoded.row(i).transpose());
      const double p = sigmoid(theta.dot(x));
      gradient += slope(fitted, theta, i) / n * x;
      hessian += (squared ? 1 : p * (1 - p)) / n * x * x.transpose();
    }
    theta -= hessian.inverse() * gradient;
  }
  return theta;
}

TEST(Sampling, MomentsAreThoseOfResidualsAndOfModelsWithoutTheRow) {
  for (const LossKind loss : {LossKind::squared, LossKind::logistic}) {
    const Fitted fitted(60, 4, {.loss = loss, .l2 = 0.01, .folds = 0});
    const Vector theta = fitted.model.network.head();
    Matrix plain = Matrix::Zero(5, 5);
    Matrix cautious = Matrix::Zero(5, 5);
    Matrix bold = Matrix::Zero(5, 5);
    const Matrix inverse = fitted.model.curvature.hessian.inverse();
    for (Index i = 0; i < 60; ++i) {
      const Vector x = with_one(fitted.rows.encoded.row(i).transpose());
      const double here = slope(fitted, theta, i);
      const double there = slope(fitted, without_row(fitted, i), i);
      const double p = sigmoid(theta.dot(x));
      const double curvature = loss == LossKind::squared ? 1 : p * (1 - p);
      const double leverage = curvature * x.dot(inverse * x) / 60;
      plain += here * here * x * x.transpose() / 60;
      bold += here * here / (1 - leverage) * x * x.transpose() / 60;
      cautious += there * there * x * x.transpose() / 60;
    }
    const Vector pull = 0.01 * theta;
    plain -= pull * pull.transpose();
    bold -= pull * pull.transpose();
    const Sampling& sampling = *fitted.model.curvature.sampling;
    EXPECT_LT((sampling.drawn_again - plain).norm(), 1e-10);
    EXPECT_LT((sampling.fresh[Sampling::bold].moments - bold).norm(), 1e-10);
    // Exact for the squared loss, to first order for the logistic.
    EXPECT_LT((sampling.fresh[Sampling::cautious].moments - cautious).norm(),
              loss == LossKind::squared ? 1e-9 : 0.02 * cautious.norm());
    EXPECT_GT((sampling.fresh[Sampling::cautious].moments - plain).norm(), 0.03 * plain.norm());
  }
}

TEST(Sampling, IsKeptInTheModelFileAndInItsHash) {
  const Fitted fitted(60, 4);
  const Model read = model_from_json(to_json(fitted.model), "m.json");
  EXPECT_EQ(read.curvature.sampling->drawn_again, fitted.model.curvature.sampling->drawn_again);
  EXPECT_EQ(read.curvature.sampling->fresh[1].moments,
            fitted.model.curvature.sampling->fresh[1].moments);
  EXPECT_EQ(read.curvature.sampling->fresh[2].regression,
            fitted.model.curvature.sampling->fresh[2].regression);
  EXPECT_EQ(read.sha256, fitted.model.sha256);
  Model other = fitted.model;
  other.curvature.sampling->drawn_again(0, 0) *= 2;
  EXPECT_NE(model_sha256(other), fitted.model.sha256);
  // Files of earlier versions have none, and rows serve as well.
  Model bare = fitted.model;
  bare.curvature.sampling.reset();
  EXPECT_FALSE(RetrainedHead::missing(bare, nullptr).empty());
  EXPECT_THROW((void)RetrainedHead(bare), Error);
  const Vector x = with_one(fitted.rows.encoded.row(0).transpose());
  EXPECT_EQ(RetrainedHead(bare, &fitted.rows).deviation(x, Sampling::middle),
            RetrainedHead(fitted.model).deviation(x, Sampling::middle));
}

TEST(WarmRefits, AreTheModelsOfTheDrawnRows) {
  // Against full fits of the same number of draws, by their moments along some rows.
  const Fitted fitted(150, 5, {.l2 = 0.01, .folds = 0});
  const WarmRefits refits = warm_refits(fitted.model, fitted.rows, 400);
  const StressSource source{
      .base = &fitted.model.network, .train = labelled(fitted.rows), .penalty = {.l2 = 0.01}};
  const StressSet full = bootstrap_set(source, {.count = 400}, Random(5));
  for (const Index i : {0, 1, 2}) {
    const Vector x = with_one(fitted.rows.encoded.row(i).transpose());
    const Vector warm = refits.heads.transpose() * x;
    Vector real(400);
    for (Index k = 0; k < 400; ++k)
      real(k) = full.models[static_cast<std::size_t>(k)].network.head().dot(x);
    const auto deviation = [](const Vector& v) {
      return std::sqrt((v.array() - v.mean()).square().mean());
    };
    EXPECT_NEAR(warm.mean(), real.mean(), 0.25 * deviation(real));
    EXPECT_NEAR(deviation(warm) / deviation(real), 1, 0.15);
  }
}

/// Mean survival of points at a margin of two deviations by the formula, and by full refits.
std::pair<double, double> drawn_again(const Fitted& fitted, bool* used_refits) {
  const RetrainedHead retrained(fitted.model, &fitted.rows);
  const StressSource source{.base = &fitted.model.network,
                            .train = labelled(fitted.rows),
                            .penalty = {.l2 = fitted.model.training.l2}};
  const StressSet refits = bootstrap_set(source, {.count = 400}, Random(8));
  double predicted = 0;
  double measured = 0;
  int count = 0;
  for (Index i = 0; i < fitted.rows.encoded.rows() && count < 30; ++i) {
    const Vector x = with_one(fitted.rows.encoded.row(i).transpose());
    const double logit = fitted.model.network.head().dot(x);
    if (logit < 0) continue;
    ++count;
    const std::optional<Survival> survival = retrained.drawn_again(x, logit);
    predicted += survival->mean;
    *used_refits = *used_refits || survival->refits.has_value();
    for (const StressModel& model : refits.models)
      measured += model.network.head().dot(x) >= 0 ? 1.0 / 400 : 0;
  }
  return {predicted / count, measured / count};
}

TEST(RetrainedHead, RowsDrawnAgainAreAsFullRefitsSay) {
  bool used_refits = false;
  const auto [many, many_measured] = drawn_again(Fitted(600, 6), &used_refits);
  EXPECT_FALSE(used_refits);
  EXPECT_NEAR(many, many_measured, 0.015);
  const auto [few, few_measured] =
      drawn_again(Fitted(100, 12, {.l2 = 0.01, .folds = 0}), &used_refits);
  EXPECT_TRUE(used_refits);
  EXPECT_NEAR(few, few_measured, 0.025);
  const auto [separable, separable_measured] =
      drawn_again(Fitted(300, 6, {.folds = 0}, 8), &used_refits);
  EXPECT_NEAR(separable, separable_measured, 0.02);
}

TEST(RetrainedHead, WithoutRowsNothingIsSaidWhereRefitsAreNeeded) {
  const Fitted fitted(60, 12);
  const Vector x = with_one(fitted.rows.encoded.row(0).transpose());
  EXPECT_FALSE(RetrainedHead(fitted.model).drawn_again(x, 1));
  EXPECT_TRUE(RetrainedHead(fitted.model, &fitted.rows).drawn_again(x, 1));
}

TEST(RetrainedHead, FreshRowsGiveAnIntervalAndASpread) {
  const Fitted fitted(200, 6);
  const RetrainedHead retrained(fitted.model);
  const Vector x = with_one(fitted.rows.encoded.row(0).transpose());
  const double margin = 2 * retrained.deviation(x, Sampling::middle);
  const Survival equal = *retrained.fresh(x, margin, {}, 200);
  EXPECT_NEAR(equal.mean, normal_cdf(2 / std::sqrt(2.0)), 1e-12);
  EXPECT_LE(equal.interval->low, equal.mean);
  EXPECT_GE(equal.interval->high, equal.mean);
  EXPECT_NEAR(equal.spread->low, normal_cdf(2 - 1.6448536), 1e-6);
  // Of many fresh rows only the model's own error is left, and an answer holds or does not.
  const Survival many = *retrained.fresh(x, margin, {}, 2000000);
  EXPECT_NEAR(many.mean, normal_cdf(2), 1e-4);
  EXPECT_GT(many.spread->width(), -1e-12);
  EXPECT_GT(many.spread->low, 0.99);
}

}  // namespace
}  // namespace ellice
