#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "model/softmax_objective.hpp"
#include "solver/cholesky.hpp"
#include "support/class_cases.hpp"
#include "support/datasets.hpp"
#include "support/messages.hpp"
#include "support/numeric_dataset.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

using problem_zoo::class_dataset;
using problem_zoo::class_model;
using problem_zoo::softmax_options;
using testing_support::expect_input_error;
using testing_support::expect_words;
using testing_support::message_of;

/// Mean cross-entropy and ridge with its gradient, by plain sums.
double plain_objective(const RowMatrix& rows, const std::vector<int>& labels, Index classes,
                       double l2, const Vector& theta, Vector& gradient) {
  const Index p = rows.cols() + 1;
  gradient = l2 * theta;
  double sum = 0;
  for (Index i = 0; i < rows.rows(); ++i) {
    Vector x(p);
    x << rows.row(i).transpose(), 1.0;
    Vector e(classes);
    for (Index k = 0; k < classes; ++k) e(k) = std::exp(theta.segment(k * p, p).dot(x));
    const Index own = labels[static_cast<std::size_t>(i)];
    sum -= std::log(e(own) / e.sum());
    for (Index k = 0; k < classes; ++k) {
      gradient.segment(k * p, p) +=
          (e(k) / e.sum() - (k == own ? 1 : 0)) / static_cast<double>(rows.rows()) * x;
    }
  }
  return sum / static_cast<double>(rows.rows()) + l2 / 2 * theta.squaredNorm();
}

TEST(SoftmaxTraining, OptimumAgreesWithAnIndependentOptimiser) {
  for (const Index classes : {3, 4}) {
    const Dataset data = class_dataset(240, 3, classes, 21);
    const TrainingResult result = train(data, {}, softmax_options(0.01));
    const Model& model = result.model;
    EXPECT_LE(result.summary.gradient_norm, 1e-10);
    EXPECT_EQ(model.network.kind, NetworkKind::softmax);
    EXPECT_EQ(model.training.loss_kind, LossKind::softmax);
    EXPECT_EQ(model.decision.classes, data.classes);
    const RowMatrix encoded = model.encoder.encode(data.raw);
    const Vector found = oracles::minimize_lbfgs(
        [&](const Vector& theta, Vector& gradient) {
          return plain_objective(encoded, data.labels, classes, 0.01, theta, gradient);
        },
        Vector::Zero(classes * 4));
    Vector ignored;
    EXPECT_NEAR(model.training.objective,
                plain_objective(encoded, data.labels, classes, 0.01, found, ignored), 1e-12);
    EXPECT_LT((model.network.head() - found).norm(), 1e-5);
    // With a ridge the classes' parameters sum up to nothing.
    Vector sum = Vector::Zero(4);
    for (Index k = 0; k < classes; ++k) sum += model.network.head().segment(k * 4, 4);
    EXPECT_LT(sum.norm(), 1e-8);
  }
}

TEST(SoftmaxTraining, TwoClassesAreLogisticRegressionWithHalfTheRidge) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 22));
  const Model many = train(data, {}, softmax_options(0.02)).model;
  const Model two = train(data, {}, {.l2 = 0.01, .folds = 0}).model;
  EXPECT_EQ(many.schema().target.classes, (std::vector<std::string>{"no", "yes"}));
  const Vector head = many.network.head();
  EXPECT_LT((head.tail(5) - head.head(5) - two.network.head()).norm(), 1e-9);
  EXPECT_EQ(accuracy(many, data), accuracy(two, data));
}

TEST(SoftmaxTraining, ReportsClassesAndAccuracyByTheLargestScore) {
  const Dataset data = class_dataset(90, 2, 3, 23, 3);
  TrainingOptions options = softmax_options();
  options.folds = 5;
  const TrainingResult result = train(data, {}, options);
  EXPECT_EQ(result.summary.class_rows, (std::vector<std::size_t>{30, 30, 30}));
  const RowMatrix encoded = result.model.encoder.encode(data.raw);
  int right = 0;
  for (Index i = 0; i < data.rows(); ++i) {
    const Vector scores = result.model.network.scores(encoded.row(i).transpose());
    bool largest = true;
    const Index own = data.labels[static_cast<std::size_t>(i)];
    for (Index k = 0; k < 3; ++k) largest = largest && (k == own || scores(k) < scores(own));
    right += largest ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(result.summary.train_accuracy, right / 90.0);
  EXPECT_GT(*result.summary.cross_validated_accuracy, 0.8);
  EXPECT_LT((result.model.network.row_scores(encoded).row(7).transpose() -
             result.model.network.scores(encoded.row(7).transpose()))
                .norm(),
            1e-14);
}

TEST(SoftmaxTraining, FitsHiddenLayersAndTheHeadToItsOptimum) {
  const Dataset data = class_dataset(240, 3, 3, 24);
  const Model plain = train(data, {}, softmax_options(1e-2)).model;
  TrainingOptions options = softmax_options(1e-2, {8});
  const TrainingResult refitted = train(data, {}, options);
  EXPECT_LE(refitted.summary.gradient_norm, 1e-10);
  EXPECT_FALSE(refitted.model.curvature.full);
  EXPECT_EQ(refitted.model.curvature.hessian.rows(), 27);
  EXPECT_NEAR(refitted.model.training.head_decrement, 0, 1e-15);
  EXPECT_GT(refitted.summary.validation_rows, 0U);
  options.refit = false;
  options.store_rows = true;
  const Model stopped = train(data, {}, options).model;
  EXPECT_GT(stopped.training.head_decrement, 1e-9);
  const Model again = refit_model(stopped, *stopped.rows);
  EXPECT_LT((again.network.head() - refitted.model.network.head()).norm(), 1e-8);
  EXPECT_EQ(plain.network.layers.size(), 1U);
}

TEST(SoftmaxTraining, WithoutAPenaltyNeedsClassesThatOverlap) {
  const Dataset mixed = class_dataset(300, 2, 3, 25, 0.5);
  const Model model = train(mixed, {}, softmax_options(0)).model;
  EXPECT_EQ(model.curvature.shift, 0);
  EXPECT_EQ(model_from_json(parse_json(to_text(to_json(model)), "m"), "m").sha256, model.sha256);
  const Dataset apart = class_dataset(60, 2, 3, 26, 40);
  expect_input_error([&] { return train(apart, {}, softmax_options(0)); },
                     {"classes are separated", "`l2`"});
}

TEST(SoftmaxTraining, RefusesWhatDoesNotGoTogether) {
  const Dataset many = class_dataset(60, 2, 3, 27);
  expect_input_error([&] { return train(many, {}, {}); },
                     {"c0, c1, c2", "`model: softmax`", "target.classes"});
  TrainingOptions squared = softmax_options();
  squared.loss = LossKind::squared;
  expect_words(message_of(ErrorCode::argument, [&] { return train(many, {}, squared); }),
               {"squared", "two classes"});
  const Dataset two = problem_zoo::numeric_dataset(problem_zoo::random_rows(60, 2, 28));
  expect_words(
      message_of(ErrorCode::argument, [&] { return train(two, {}, {.loss = LossKind::softmax}); }),
      {"`model: softmax`"});
  TrainingOptions epochs = softmax_options();
  epochs.network.epochs = 7;
  expect_words(message_of(ErrorCode::argument, [&] { return train(many, {}, epochs); }),
               {"`hidden"});
}

TEST(SoftmaxModelFile, ReadsBackWhatItWrote) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {4}}) {
    TrainingOptions options = softmax_options(1e-2, hidden);
    options.store_rows = true;
    const Model model = train(class_dataset(90, 2, 3, 29), {}, options).model;
    const std::string text = to_text(to_json(model));
    const Model read = model_from_json(parse_json(text, "m.json"), "m.json");
    EXPECT_EQ(to_text(to_json(read)), text);
    EXPECT_EQ(read.sha256, model.sha256);
    EXPECT_EQ(read.network.head(), model.network.head());
    EXPECT_EQ(read.rows->labels, model.rows->labels);
    EXPECT_EQ(read.network.outputs(), 3);
  }
}

TEST(SoftmaxModelFile, RefusesPartsThatDoNotFit) {
  TrainingOptions options = softmax_options();
  options.store_rows = true;
  const Json good = to_json(train(class_dataset(60, 2, 3, 30), {}, options).model);
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> damages = {
      {"decision.classes",
       [](Json& m) {
         m["decision"]["classes"] = {"c1", "c0", "c2"};
       }},
      {"decision.threshold", [](Json& m) { m["decision"]["threshold"] = 0.5; }},
      {"one for each of the 4 classes",
       [](Json& m) { m["schema"]["target"]["classes"].push_back("c3"); }},
      {"schema.target.classes", [](Json& m) { m["schema"]["target"].erase("classes"); }},
      {"loss_kind", [](Json& m) { m["training"]["loss_kind"] = "logistic"; }},
      {"rows.labels", [](Json& m) { m["rows"]["labels"][0] = 3; }},
      {"curvature.hessian", [](Json& m) { m["curvature"]["hessian"].erase(0); }},
      {"classes", [](Json& m) { m["schema"]["target"]["favourable"] = "c7"; }},
  };
  for (const auto& [named, damage] : damages) {
    Json bad = good;
    damage(bad);
    expect_input_error([&] { return model_from_json(bad, "m.json"); }, {"m.json", named});
  }
}

TEST(SoftmaxTraining, LearnsTheSpeciesOfIrises) {
  ELLICE_NEEDS_DATASET("iris3");
  const TrainingResult result =
      train(load_recipe("iris3"), {.balance = true}, softmax_options(1e-3));
  EXPECT_GT(result.summary.train_accuracy, 0.9);
}

}  // namespace
}  // namespace ellice
