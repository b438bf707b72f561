#include "ellice/model/training.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/model_file.hpp"
#include "support/datasets.hpp"
#include "support/numeric_dataset.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

using problem_zoo::Labelled;
using problem_zoo::numeric_dataset;
using problem_zoo::random_rows;

/// Objective and gradient of logistic regression from the definition.
double plain_objective(const RowMatrix& features, const std::vector<int>& labels, double l2,
                       bool penalize_bias, const Vector& theta, Vector& gradient) {
  const Index d = features.cols();
  const auto n = static_cast<double>(features.rows());
  Vector f = features * theta.head(d);
  f.array() += theta(d);
  double value = 0;
  Vector slope(f.size());
  for (Index i = 0; i < f.size(); ++i) {
    const int y = labels[static_cast<std::size_t>(i)];
    const double m = y == 1 ? f(i) : -f(i);
    value += (m > 0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m))) / n;
    slope(i) = (1 / (1 + std::exp(-f(i))) - y) / n;
  }
  gradient.resize(d + 1);
  gradient << features.transpose() * slope, slope.sum();
  Vector penalised = theta;
  if (!penalize_bias) penalised(d) = 0;
  gradient += l2 * penalised;
  return value + l2 / 2 * penalised.squaredNorm();
}

void expect_optimum_confirmed(const Dataset& data, const TrainingResult& result) {
  const Model& model = result.model;
  const Dataset fitted = select_rows(data, apply_selection(data, model.training.selection).fit);
  const RowMatrix features = model.encoder.encode(fitted.raw);
  Vector gradient;
  const auto objective = [&](const Vector& theta, Vector& g) {
    return plain_objective(features, fitted.labels, model.training.l2, model.training.penalize_bias,
                           theta, g);
  };
  const Vector theta = model.network.head();
  const double value = objective(theta, gradient);
  EXPECT_LE(gradient.cwiseAbs().maxCoeff(), 1.1e-10);
  EXPECT_NEAR(value, model.training.objective, 1e-12);
  const Vector second = oracles::minimize_lbfgs(objective, Vector::Zero(theta.size()));
  EXPECT_NEAR(objective(second, gradient), value, 1e-8);
}

TEST(Train, OptimumIsConfirmedBySecondMethodOnRandomRows) {
  for (const bool penalize_bias : {true, false}) {
    const Dataset data = numeric_dataset(random_rows(400, 7, 21));
    const TrainingResult result = train(data, {}, {.l2 = 0.01, .penalize_bias = penalize_bias});
    expect_optimum_confirmed(data, result);
    EXPECT_LE(result.summary.gradient_norm, 1e-10);
    EXPECT_LE(result.model.training.head_decrement, 1e-18);
  }
}

class TrainOnPaperData : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Nine, TrainOnPaperData, testing::ValuesIn(paper_datasets()),
                         [](const auto& instance) { return instance.param; });

TEST_P(TrainOnPaperData, OptimumIsConfirmedBySecondMethod) {
  ELLICE_NEEDS_DATASET(GetParam());
  const Dataset data = load_recipe(GetParam());
  expect_optimum_confirmed(data, train(data, {.balance = true}, {.folds = 0}));
}

TEST(Train, FreeBiasMakesTheMeanProbabilityTheShareOfTheClass) {
  const Dataset data = numeric_dataset(random_rows(500, 3, 22));
  const Model model = train(data, {}, {.l2 = 0.5, .penalize_bias = false}).model;
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  double mean = 0;
  double share = 0;
  for (Index i = 0; i < logits.size(); ++i) {
    mean += 1 / (1 + std::exp(-logits(i))) / 500;
    share += data.labels[static_cast<std::size_t>(i)] / 500.0;
  }
  EXPECT_NEAR(mean, share, 1e-10);
  // The Hessian leaves the bias unpenalised too: its corner is the mean of p(1−p) alone.
  double corner = 0;
  for (const double f : logits) corner += 1 / (1 + std::exp(-f)) / (1 + std::exp(f)) / 500;
  EXPECT_NEAR(model.curvature.hessian(3, 3), corner, 1e-14);
}

TEST(Train, SquaredLossSolvesTheNormalEquations) {
  const Dataset data = numeric_dataset(random_rows(300, 4, 23));
  const Model model = train(data, {}, {.loss = LossKind::squared, .l2 = 0.1}).model;
  Matrix x(300, 5);
  x << model.encoder.encode(data.raw), Vector::Ones(300);
  Vector y(300);
  for (Index i = 0; i < 300; ++i) y(i) = 2 * data.labels[static_cast<std::size_t>(i)] - 1;
  const Matrix h = x.transpose() * x / 300 + 0.1 * Matrix::Identity(5, 5);
  const Vector expected = h.fullPivLu().solve(x.transpose() * y / 300);
  EXPECT_LE((model.network.head() - expected).norm(), 1e-12);
  EXPECT_LE((model.curvature.hessian - h).cwiseAbs().maxCoeff(), 1e-13);
}

std::string training_error(const Dataset& data, const TrainingOptions& options) {
  try {
    (void)train(data, {}, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

TEST(Train, SeparableClassesWithoutPenaltyAreReported) {
  Labelled rows{.features = RowMatrix(6, 1)};
  rows.features << -3, -2, -1, 1, 2, 3;
  rows.labels = {0, 0, 0, 1, 1, 1};
  EXPECT_NE(training_error(numeric_dataset(rows), {.l2 = 0}).find("are separated by a plane"),
            std::string::npos);
  EXPECT_NO_THROW((void)train(numeric_dataset(rows), {}, {.l2 = 1e-3}));
}

TEST(Train, ClassesSeparableUpToTiesWithoutPenaltyAreReported) {
  Labelled rows{.features = RowMatrix(8, 1)};
  rows.features << -3, -2, 0, 0, 0, 0, 2, 3;
  rows.labels = {0, 0, 0, 1, 0, 1, 1, 1};
  EXPECT_NE(training_error(numeric_dataset(rows), {.l2 = 0}).find("separated up to ties"),
            std::string::npos);
}

TEST(Train, StoppingEarlyWithoutPenaltyIsNotTakenForSeparableClasses) {
  const Dataset data = numeric_dataset(random_rows(400, 3, 24));
  for (const TrainingOptions& options :
       {TrainingOptions{.l2 = 0, .max_iterations = 1},
        TrainingOptions{.l2 = 0, .gradient_tolerance = 1e-40, .max_iterations = 20}}) {
    try {
      (void)train(data, {}, options);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      EXPECT_NE(std::string(error.what()).find("above the tolerance"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Train, FoldWithoutAMinimiserCostsTheCrossValidatedAccuracyOnly) {
  Labelled rows{.features = RowMatrix(8, 1)};  // not separable, but without row 3 or 4 they are
  rows.features << -4, -3, -2, 1, -1, 2, 3, 4;
  rows.labels = {0, 0, 0, 0, 1, 1, 1, 1};
  const TrainingResult result = train(numeric_dataset(rows), {}, {.l2 = 0, .folds = 4});
  EXPECT_LE(result.summary.gradient_norm, 1e-10);
  EXPECT_FALSE(result.summary.cross_validated_accuracy);
  EXPECT_NE(result.summary.cross_validation_failure.find("separated"), std::string::npos);
}

TEST(Train, NonSeparableClassesNeedNoPenalty) {
  const Dataset data = numeric_dataset(random_rows(400, 3, 24));
  const Model model = train(data, {}, {.l2 = 0}).model;
  EXPECT_EQ(model.curvature.shift, 0);
}

TEST(Train, ConstantColumnsAndMoreColumnsThanRowsAreFine) {
  Labelled rows = random_rows(12, 20, 25);
  rows.features.col(3).setConstant(7);
  rows.labels[0] = 0;
  rows.labels[1] = 1;
  const Model model = train(numeric_dataset(rows), {}, {}).model;
  EXPECT_EQ(model.encoder.scale()(3), 1);
  EXPECT_EQ(model.curvature.shift, 0);
  EXPECT_NEAR(model.network.head()(3), 0, 1e-12);
}

TEST(Train, ReportsTheShiftThatASingularHessianNeeds) {
  Labelled rows = random_rows(300, 3, 26);
  rows.features.col(1).setConstant(2);
  const Model model = train(numeric_dataset(rows), {}, {.l2 = 0}).model;
  EXPECT_GT(model.curvature.shift, 0);
  EXPECT_EQ(model.curvature.hessian(1, 1), model.curvature.shift)
      << "the column itself has no curvature";
}

TEST(Train, GivesTheSameBytesForAnyNumberOfThreads) {
  const Dataset data = lending_dataset(5000, 3);
  std::string first;
  for (const int threads : {1, 2, 5}) {
    const TrainingResult result =
        train(data, {.holdout = 0.2, .seed = 9}, {.store_rows = true}, {.threads = threads});
    const std::string text = to_text(to_json(result.model));
    if (first.empty()) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Train, HoldsOutTheShareThatIsAskedFor) {
  const Dataset data = lending_dataset(1000, 3);
  const TrainingResult result = train(data, {.holdout = 0.25, .seed = 1}, {});
  EXPECT_NEAR(static_cast<double>(result.summary.holdout_rows), 250, 1);
  EXPECT_EQ(result.model.training.rows + static_cast<Index>(result.summary.holdout_rows), 1000);
  ASSERT_TRUE(result.summary.holdout_accuracy);
  EXPECT_GT(*result.summary.holdout_accuracy, 0.7);
  EXPECT_FALSE(result.summary.cross_validated_accuracy);
}

TEST(Train, AccuracyIsTheShareOfRowsOnTheRightSide) {
  const Dataset data = numeric_dataset(random_rows(200, 2, 27));
  const TrainingResult result = train(data, {}, {});
  const RowMatrix z = result.model.encoder.encode(data.raw);
  int right = 0;
  for (Index i = 0; i < 200; ++i) {
    right += (result.model.logit(z.row(i).transpose()) >= 0) ==
             (data.labels[static_cast<std::size_t>(i)] == 1);
  }
  EXPECT_DOUBLE_EQ(result.summary.train_accuracy, right / 200.0);
  ASSERT_TRUE(result.summary.cross_validated_accuracy);
  EXPECT_NEAR(*result.summary.cross_validated_accuracy, result.summary.train_accuracy, 0.1);
}

TEST(Train, ChecksItsOptions) {
  const Dataset data = numeric_dataset(random_rows(50, 2, 28));
  EXPECT_THROW((void)train(data, {}, {.l2 = -1}), Error);
  EXPECT_THROW((void)train(data, {}, {.l2 = std::nan("")}), Error);
  EXPECT_THROW((void)train(data, {.holdout = 1}, {}), Error);
}

TEST(Train, IsStoppedByProgress) {
  const Progress stop = [](const ProgressState&) { return false; };
  EXPECT_THROW((void)train(lending_dataset(500, 1), {}, {}, {.progress = stop}), Error);
}

}  // namespace
}  // namespace ellice
