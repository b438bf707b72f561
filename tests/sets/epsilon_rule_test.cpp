#include "sets/epsilon_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "sets/boundary_accuracy.hpp"
#include "sets/sampling.hpp"
#include "support/messages.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_dataset;
using problem_zoo::numeric_model;
using problem_zoo::random_rows;

constexpr double z95 = 1.6448536269514722;
constexpr double z99 = 2.3263478740408408;

double resolved(const std::string& text, const Model& model, const EpsilonContext& context = {},
                const SetChoice& set = {}) {
  return parse_epsilon_rule(text).resolve(model, set, context);
}

/// The rows of numeric_model(columns, seed), as the model sees them.
StoredRows rows_of(const Model& model, Index columns, std::uint64_t seed) {
  const Dataset data = numeric_dataset(random_rows(400, columns, seed));
  return {.encoded = model.encoder.encode(data.raw), .labels = data.labels};
}

TEST(SurvivalRule, IsTheSquaredQuantileOverTwiceTheRows) {
  const Model model = numeric_model(3, 1);
  ASSERT_EQ(model.training.rows, 400);
  EXPECT_NEAR(resolved("survival:95%", model), z95 * z95 / 800, 1e-15);
  EXPECT_NEAR(resolved("survival:99%", model), z99 * z99 / 800, 1e-15);
  EXPECT_EQ(resolved("survival:50%", model), 0);
  EXPECT_EQ(resolved("survival:10%", model), 0);
}

TEST(SurvivalRule, AddsTheErrorOfFreshRows) {
  const Model model = numeric_model(3, 1);
  EXPECT_NEAR(resolved("survival:95%", model, {.retraining = {.fresh_rows = 400}}),
              2 * z95 * z95 / 800, 1e-15);
  EXPECT_NEAR(resolved("survival:95%", model, {.retraining = {.fresh_rows = 100}}),
              5 * z95 * z95 / 800, 1e-15);
}

TEST(SurvivalRule, InvertsThePrediction) {
  const Model model = numeric_model(3, 1);
  for (const Retraining& retraining : {Retraining{}, Retraining{.fresh_rows = 77}}) {
    for (const double survival : {0.6, 0.9, 0.999}) {
      EXPECT_NEAR(
          predicted_survival(model, survival_epsilon(model, survival, retraining), retraining),
          survival, 1e-12);
    }
    EXPECT_EQ(predicted_survival(model, 0, retraining), 0.5);
  }
}

TEST(SurvivalRule, UsesTheResidualsOfTheSquaredLoss) {
  const Dataset data = numeric_dataset(random_rows(400, 3, 1));
  const Model model = train(data, {}, {.loss = LossKind::squared, .folds = 0}).model;
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  double squares = 0;
  for (Index i = 0; i < logits.size(); ++i) {
    const double residual = logits(i) - (data.labels[static_cast<std::size_t>(i)] == 1 ? 1 : -1);
    squares += residual * residual / static_cast<double>(logits.size());
  }
  EXPECT_NEAR(resolved("survival:95%", model), squares * z95 * z95 / 800, 1e-12);
}

TEST(AutomaticRule, PrefersTheRecommendationAndFallsBackToSurvival) {
  Model model = numeric_model(3, 1);
  EXPECT_EQ(resolved("auto", model), resolved("survival:95%", model));
  const EpsilonContext fresh{.retraining = {.fresh_rows = 400}};
  EXPECT_EQ(resolved("auto", model, fresh), resolved("survival:95%", model, fresh));
  model.recommended = Json{{"last-layer", {{"epsilon", 0.0125}}}};
  EXPECT_EQ(resolved("auto", model), 0.0125);
}

TEST(AutomaticRule, AsksForCalibrationWhereSurvivalIsNotPredicted) {
  const Model model = numeric_model(3, 1);
  testing_support::expect_input_error(
      [&] { return resolved("auto", model, {}, {.kind = SetKind::isotropic}); },
      {"isotropic", "ellice calibrate"});
  EXPECT_THROW((void)resolved("survival:95%", model, {}, {.kind = SetKind::isotropic}), Error);
  EXPECT_THROW((void)resolved("survival:95%", model, {}, {.damping = 0.1}), Error);
}

/// Accuracy by definition, model by model.
double accuracy_of(const Vector& theta, const StoredRows& rows, double threshold) {
  double right = 0;
  for (Index i = 0; i < rows.encoded.rows(); ++i) {
    const double logit =
        rows.encoded.row(i).dot(theta.head(rows.encoded.cols())) + theta(rows.encoded.cols());
    right += (logit >= threshold) == (rows.labels[static_cast<std::size_t>(i)] == 1) ? 1 : 0;
  }
  return right / static_cast<double>(rows.encoded.rows());
}

TEST(AccuracyRule, IsTheFirstLevelAtWhichASampledModelLosesMore) {
  for (const double threshold : {0.0, 0.4}) {
    Model model = numeric_model(4, 2);
    model.decision.threshold = threshold;
    const StoredRows rows = rows_of(model, 4, 2);
    const BoundaryModels models(model, rows, threshold);
    for (const double loss : {0.0, 0.02, 0.05, 0.2}) {
      const double epsilon = models.largest_epsilon(loss);
      ASSERT_TRUE(std::isfinite(epsilon) && epsilon > 0);
      EXPECT_EQ(resolved(fmt::format("accuracy:{}%", 100 * loss), model, {.rows = &rows}), epsilon);
      const double base = models.accuracy(0).base;
      EXPECT_DOUBLE_EQ(base, accuracy_of(model.network.head(), rows, threshold));
      // No sampled model loses more up to there, and one does just beyond.
      for (double share = 0.05; share <= 1; share += 0.05)
        EXPECT_GE(models.accuracy(share * epsilon).worst, base - loss - 1e-12);
      EXPECT_LT(models.accuracy(epsilon * (1 + 1e-7)).worst, base - loss - 1e-12);
    }
  }
}

TEST(AccuracyRule, IsMeasuredOnModelsOfTheBoundary) {
  const Model model = numeric_model(4, 2);
  const StoredRows rows = rows_of(model, 4, 2);
  const BoundaryModels models(model, rows, 0, 30);
  const double epsilon = 0.02;
  const RowMatrix boundary = sample_boundary(last_layer_set(model, epsilon), 30, Random(31));
  double sum = 0;
  double worst = 1;
  for (Index k = 0; k < 30; ++k) {
    const double share = accuracy_of(boundary.row(k).transpose(), rows, 0);
    sum += share;
    worst = std::min(worst, share);
  }
  const BoundaryAccuracy found = models.accuracy(epsilon, {.threads = 3});
  EXPECT_NEAR(found.mean, sum / 30, 1e-12);
  EXPECT_DOUBLE_EQ(found.worst, worst);
}

TEST(AccuracyRule, NeedsTheRows) {
  const Model model = numeric_model(4, 2);
  EXPECT_THROW((void)resolved("accuracy:5%", model), Error);
  const StoredRows other = rows_of(numeric_model(3, 2), 3, 2);
  EXPECT_THROW((void)resolved("accuracy:5%", model, {.rows = &other}), Error);
}

TEST(EpsilonRuleText, IsUnderstoodOrRefused) {
  EXPECT_EQ(parse_epsilon_rule("0.01").kind, EpsilonRule::Kind::value);
  EXPECT_EQ(parse_epsilon_rule("10%").kind, EpsilonRule::Kind::share);
  EXPECT_EQ(parse_epsilon_rule("target:0.02").kind, EpsilonRule::Kind::target);
  EXPECT_EQ(parse_epsilon_rule("survival:99.5%").number, 99.5);
  EXPECT_TRUE(parse_epsilon_rule("accuracy:5%").needs_rows());
  for (const char* text :
       {"", "-1", "x", "nan", "inf", "target:5%", "survival:0.95", "survival:100%", "survival:0%",
        "survival:%", "survival:120%", "accuracy:5", "accuracy:100%", "accuracy:-1%", "Auto"}) {
    EXPECT_THROW((void)parse_epsilon_rule(text), Error) << text;
  }
}

TEST(RetrainingText, IsUnderstoodOrRefused) {
  EXPECT_EQ(parse_retraining("same"), Retraining{});
  EXPECT_EQ(parse_retraining("fresh:500"), Retraining{.fresh_rows = 500});
  EXPECT_EQ(parse_retraining("fresh:500").text(), "fresh:500");
  EXPECT_EQ(Retraining{}.text(), "same");
  for (const char* text : {"", "fresh", "fresh:", "fresh:0", "fresh:-3", "fresh:1e3", "fresh:2.5",
                           "fresh:99999999999999999999", "bootstrap"}) {
    EXPECT_THROW((void)parse_retraining(text), Error) << text;
  }
}

}  // namespace
}  // namespace ellice
