// Weights of rows and factors of columns in every objective, held against plain loops, finite
// differences, and rows that stand in the data as often as they weigh.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "model/gauss_newton.hpp"
#include "model/head_objective.hpp"
#include "model/network_objective.hpp"
#include "model/objective.hpp"
#include "support/numeric_dataset.hpp"
#include "support/oracles.hpp"
#include "support/problem_zoo.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

/// Rows with whole weights, and the same rows standing there as often.
struct Weighted {
  StoredRows rows = {};
  StoredRows repeated = {};
};

Weighted weighted_rows(Index count, Index columns, std::uint64_t seed, int classes = 2) {
  const auto data = problem_zoo::random_rows(count, columns, seed);
  Random random(seed + 100);
  Weighted result{.rows = {.encoded = data.features, .labels = data.labels}};
  if (classes > 2) {
    for (int& label : result.rows.labels)
      label = static_cast<int>(random.below(static_cast<std::uint64_t>(classes)));
  }
  result.rows.weights.resize(count);
  std::vector<Index> order;
  for (Index i = 0; i < count; ++i) {
    const auto times = static_cast<Index>(1 + random.below(4));
    result.rows.weights(i) = static_cast<double>(times);
    order.insert(order.end(), static_cast<std::size_t>(times), i);
  }
  result.repeated.encoded = result.rows.encoded(order, Eigen::all);
  for (const Index i : order)
    result.repeated.labels.push_back(result.rows.labels[static_cast<std::size_t>(i)]);
  return result;
}

Vector some_factors(Index columns, std::uint64_t seed) {
  return (1.5 * Random(seed).normal_vector(columns)).array().exp();
}

/// L from its definition.
double plain_value(const StoredRows& rows, LossKind kind, Index outputs, const Penalty& penalty,
                   const Vector& theta) {
  const Index d = rows.encoded.cols();
  long double sum = 0;
  long double mass = 0;
  for (Index i = 0; i < rows.encoded.rows(); ++i) {
    const int y = rows.labels[static_cast<std::size_t>(i)];
    Vector f(outputs);
    for (Index k = 0; k < outputs; ++k) {
      f(k) = theta(k * (d + 1) + d);
      for (Index j = 0; j < d; ++j) f(k) += theta(k * (d + 1) + j) * rows.encoded(i, j);
    }
    double loss = 0;
    if (kind == LossKind::logistic) loss = std::log(1 + std::exp(y == 1 ? -f(0) : f(0)));
    if (kind == LossKind::squared) loss = (f(0) - (2 * y - 1)) * (f(0) - (2 * y - 1)) / 2;
    if (kind == LossKind::softmax) loss = std::log(f.array().exp().sum()) - f(y);
    sum += rows.weights(i) * loss;
    mass += rows.weights(i);
  }
  double squares = 0;
  for (Index k = 0; k < outputs; ++k) {
    for (Index j = 0; j < d; ++j) {
      const double entry = theta(k * (d + 1) + j);
      squares += (penalty.factors.size() > 0 ? penalty.factors(j) : 1) * entry * entry;
    }
    const double bias = theta(k * (d + 1) + d);
    if (penalty.penalize_bias) squares += bias * bias;
  }
  return static_cast<double>(sum / mass) + penalty.l2 / 2 * squares;
}

struct WeightsCase {
  LossKind loss;
  Index outputs;
  bool penalize_bias;
};
constexpr std::array<WeightsCase, 6> cases = {{{LossKind::logistic, 1, true},
                                               {LossKind::logistic, 1, false},
                                               {LossKind::squared, 1, true},
                                               {LossKind::squared, 1, false},
                                               {LossKind::softmax, 3, true},
                                               {LossKind::softmax, 3, false}}};

Weighted rows_of(const WeightsCase& one, Index count, Index columns, std::uint64_t seed) {
  return weighted_rows(count, columns, seed, one.outputs == 1 ? 2 : static_cast<int>(one.outputs));
}

TEST(Weights, ObjectiveIsItsDefinitionRowByRow) {
  for (const WeightsCase& one : cases) {
    // More rows than a chunk has.
    const Weighted data = rows_of(one, 3000, 4, 7);
    const Penalty penalty{
        .l2 = 0.07, .penalize_bias = one.penalize_bias, .factors = some_factors(4, 3)};
    LabelledRows view = labelled(data.rows);
    view.classes = one.outputs;
    const HeadObjective objective(view, one.loss, one.outputs, penalty);
    const Vector theta = 0.7 * Random(9).normal_vector(objective.parameters());
    const double expected = plain_value(data.rows, one.loss, one.outputs, penalty, theta);
    EXPECT_NEAR(objective.value(theta), expected, 1e-13) << enum_name(one.loss);
    const Network network =
        one.outputs == 1 ? linear_network(theta) : softmax_network(theta, one.outputs);
    EXPECT_NEAR(NetworkObjective(view, one.loss, penalty).value(network), expected, 1e-13);
  }
}

TEST(Weights, DerivativesAgreeWithFiniteDifferences) {
  for (const WeightsCase& one : cases) {
    const Weighted data = rows_of(one, 700, 5, 4);
    const Penalty penalty{
        .l2 = 0.03, .penalize_bias = one.penalize_bias, .factors = some_factors(5, 8)};
    const HeadObjective objective(labelled(data.rows), one.loss, one.outputs, penalty);
    const Vector theta = 0.5 * Random(10).normal_vector(objective.parameters());
    Vector gradient;
    Matrix hessian;
    const double value = objective.derivatives(theta, gradient, hessian);
    EXPECT_NEAR(value, objective.value(theta), 1e-14);
    const Vector expected =
        oracles::numerical_gradient([&](const Vector& t) { return objective.value(t); }, theta);
    EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-9);
    const Matrix expected_hessian = oracles::numerical_jacobian(
        [&](const Vector& t) {
          Vector g;
          (void)objective.gradient(t, g);
          return g;
        },
        theta);
    EXPECT_LE((hessian - expected_hessian).cwiseAbs().maxCoeff(), 1e-8);
    if (one.outputs > 1) continue;
    const Objective plain(labelled(data.rows), one.loss, penalty);
    EXPECT_LE((plain.hessian(theta) - hessian).cwiseAbs().maxCoeff(), 1e-13);
  }
}

TEST(Weights, GradientOfALinearNetworkWithFactorsAgreesWithFiniteDifferences) {
  const Weighted data = weighted_rows(300, 4, 5);
  for (const bool penalize_bias : {true, false}) {
    const Penalty penalty{.l2 = 0.1, .penalize_bias = penalize_bias, .factors = some_factors(4, 5)};
    NetworkObjective objective(labelled(data.rows), LossKind::logistic, penalty);
    const Vector theta = Random(3).normal_vector(5);
    Vector gradient;
    (void)objective.gradient(linear_network(theta), gradient);
    const Vector expected = oracles::numerical_gradient(
        [&](const Vector& t) { return objective.value(linear_network(t)); }, theta);
    EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(Weights, AWholeWeightIsARowThatStandsThereAsOften) {
  for (const WeightsCase& one : cases) {
    const Weighted data = rows_of(one, 900, 4, 11);
    const Penalty penalty{
        .l2 = 0.02, .penalize_bias = one.penalize_bias, .factors = some_factors(4, 2)};
    const HeadObjective weighted(labelled(data.rows), one.loss, one.outputs, penalty);
    const HeadObjective repeated(labelled(data.repeated), one.loss, one.outputs, penalty);
    const Vector theta = Random(1).normal_vector(weighted.parameters());
    Vector gradient, expected_gradient;
    Matrix hessian, expected_hessian;
    EXPECT_NEAR(weighted.derivatives(theta, gradient, hessian),
                repeated.derivatives(theta, expected_gradient, expected_hessian), 1e-13);
    EXPECT_LE((gradient - expected_gradient).norm(), 1e-13);
    EXPECT_LE((hessian - expected_hessian).norm(), 1e-12);
    const Vector minimiser = weighted.minimize({}, "test").point;
    EXPECT_LE((minimiser - repeated.minimize({}, "test").point).norm(), 1e-8);
    EXPECT_GT(weighted.rounding(minimiser), 0.5 * repeated.rounding(minimiser));
  }
}

TEST(Weights, NetworksWeighRowsToo) {
  const Weighted data = weighted_rows(120, 3, 21);
  const Network network = random_network(3, {5}, Activation::tanh, Random(4));
  const Penalty penalty{.l2 = 0.01};
  NetworkObjective weighted(labelled(data.rows), LossKind::logistic, penalty);
  NetworkObjective repeated(labelled(data.repeated), LossKind::logistic, penalty);
  Vector gradient, expected;
  EXPECT_NEAR(weighted.gradient(network, gradient), repeated.gradient(network, expected), 1e-13);
  EXPECT_LE((gradient - expected).norm(), 1e-13);
  const GaussNewton pairs = gauss_newton(network, data.rows.encoded, LossKind::logistic, 0.1, 0.3,
                                         mean_one_weights(labelled(data.rows)));
  const GaussNewton wanted = gauss_newton(network, data.repeated.encoded, LossKind::logistic);
  ASSERT_EQ(pairs.values.size(), wanted.values.size());
  EXPECT_LE((pairs.values - wanted.values).norm(), 1e-12);
  EXPECT_LE((pairs.vectors - wanted.vectors).norm(), 1e-8);
}

TEST(Weights, BatchesOfEqualSizeHaveTheGradientOfAllOnAverage) {
  const Weighted data = weighted_rows(120, 3, 22);
  const Network network = random_network(3, {4}, Activation::relu, Random(6));
  NetworkObjective objective(labelled(data.rows), LossKind::logistic, {.l2 = 0.01});
  Vector whole, part;
  (void)objective.gradient(network, whole);
  Vector mean = Vector::Zero(whole.size());
  for (Index first = 0; first < 120; first += 24) {
    std::vector<Index> batch;
    for (Index i = first; i < first + 24; ++i) batch.push_back(i);
    (void)objective.gradient(network, batch, part);
    mean += part / 5;
  }
  EXPECT_LE((mean - whole).norm(), 1e-14);
}

TEST(Weights, FactorsAreForModelsWithoutHiddenLayers) {
  const Weighted data = weighted_rows(50, 3, 23);
  NetworkObjective objective(labelled(data.rows), LossKind::logistic,
                             {.factors = Vector::Constant(3, 2)});
  EXPECT_THROW((void)objective.value(random_network(3, {4}, Activation::relu, Random(6))), Error);
  TrainingOptions options{.model = NetworkKind::mlp, .penalty_factors = {1, 1, 1}};
  EXPECT_THROW(
      (void)train(problem_zoo::numeric_dataset(problem_zoo::random_rows(50, 3, 1)), {}, options),
      Error);
}

TEST(Weights, WhatIsNoWeightIsRefused) {
  const Weighted data = weighted_rows(50, 3, 24);
  for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    StoredRows rows = data.rows;
    rows.weights(7) = wrong;
    EXPECT_THROW(Objective(labelled(rows), LossKind::logistic, {}), Error) << wrong;
    Penalty penalty{.factors = Vector::Ones(3)};
    penalty.factors(1) = wrong == 0 ? -1e-300 : wrong;  // 0 spares the column
    EXPECT_THROW(Objective(labelled(data.rows), LossKind::logistic, penalty), Error) << wrong;
  }
  StoredRows few = data.rows;
  few.weights.conservativeResize(49);
  EXPECT_THROW(Objective(labelled(few), LossKind::logistic, {}), Error);
  EXPECT_THROW(Objective(labelled(data.rows), LossKind::logistic, {.factors = Vector::Ones(2)}),
               Error);
}

Dataset weighted_dataset() {
  Dataset data = lending_dataset(300, 1);
  Random random(4);
  data.weights.resize(data.rows());
  for (double& weight : data.weights) weight = 0.2 + 3 * random.uniform();
  return data;
}

TEST(Weights, BalancedClassesWeighTheSame) {
  for (const bool has_column : {false, true}) {
    TrainingOptions options{.class_weight = ClassWeight::balanced, .folds = 0, .store_rows = true};
    if (has_column) options.weights = "w";
    const Dataset data = weighted_dataset();
    const Model model = train(data, {}, options).model;
    Vector mass = Vector::Zero(2);
    Vector count = Vector::Zero(2);
    for (Index i = 0; i < data.rows(); ++i) {
      const int label = data.labels[static_cast<std::size_t>(i)];
      count(label) += has_column ? data.weights(i) : 1;
      mass(label) += model.rows->weights(i);
    }
    EXPECT_NE(count(0), count(1));
    EXPECT_NEAR(mass(0), mass(1), 1e-10);
    EXPECT_NEAR(mass.sum(), count.sum(), 1e-10);  // n/(K·n_k)
    const double own = has_column ? data.weights(0) : 1;
    EXPECT_NEAR(model.rows->weights(0), own * count.sum() / (2 * count(data.labels[0])), 1e-12);
  }
}

TEST(Weights, ModelMinimisesTheWeightedObjectiveAndHasNoSampling) {
  const Dataset data = weighted_dataset();
  const TrainingOptions options{.weights = "w", .folds = 0, .store_rows = true};
  const Model model = train(data, {}, options).model;
  EXPECT_FALSE(model.curvature.sampling);
  const Vector theta = model.network.head();
  const Vector gradient = oracles::numerical_gradient(
      [&](const Vector& t) {
        return plain_value(*model.rows, LossKind::logistic, 1, penalty_of(model.training), t);
      },
      theta);
  EXPECT_LE(gradient.cwiseAbs().maxCoeff(), 1e-8);
  const Model plain = train(data, {}, {.folds = 0}).model;
  EXPECT_GT((plain.network.head() - theta).norm(), 1e-3);
  // Its rows drawn without weights are not its rows.
  StoredRows rows = *model.rows;
  EXPECT_LE((refit_model(model, rows).network.head() - theta).norm(), 1e-8);
  rows.weights.resize(0);
  EXPECT_THROW((void)refit_model(model, rows), Error);
}

TEST(Weights, FoldsAndHeldOutRowsKeepTheirs) {
  const Dataset data = weighted_dataset();
  const TrainingOptions options{.weights = "w", .folds = 3, .store_rows = true};
  const TrainingResult result = train(data, {.holdout = 0.2, .seed = 3}, options);
  const Vector& weights = result.model.rows->weights;
  const SelectedRows selected = apply_selection(data, result.model.training.selection);
  ASSERT_EQ(weights.size(), static_cast<Index>(selected.fit.size()));
  for (Index i = 0; i < weights.size(); ++i)
    EXPECT_EQ(weights(i), data.weights(selected.fit[static_cast<std::size_t>(i)]));
  EXPECT_TRUE(train(data, {}, options).summary.cross_validated_accuracy);
}

TEST(Weights, AFileWithThemIsOfVersionTwo) {
  const Dataset data = weighted_dataset();
  const Index columns = train(data, {}, {.folds = 0}).model.encoder.columns();
  TrainingOptions factors{.folds = 0, .store_rows = true};
  factors.penalty_factors.assign(static_cast<std::size_t>(columns), 0.5);
  factors.penalty_factors[0] = 7;
  const std::vector<std::pair<TrainingOptions, int>> kinds = {
      {TrainingOptions{.folds = 0, .store_rows = true}, 1},
      {TrainingOptions{.weights = "w", .folds = 0, .store_rows = true}, 2},
      {TrainingOptions{.class_weight = ClassWeight::balanced, .folds = 0}, 2},
      {factors, 2}};
  for (const auto& [options, version] : kinds) {
    const Model model = train(data, {}, options).model;
    const Json json = to_json(model);
    EXPECT_EQ(json.at("version"), version);
    const std::string text = to_text(json);
    EXPECT_EQ(to_text(to_json(model_from_json(parse_json(text, "m.json"), "m.json"))), text);
  }
  const Json json = to_json(train(data, {}, factors).model);
  const std::vector<std::function<void(Json&)>> damages = {
      [](Json& j) { j["training"]["penalty_factors"][0] = 8; },  // the objective is another
      [](Json& j) { j["training"]["penalty_factors"][0] = -7; },
      [](Json& j) { j["training"]["penalty_factors"].erase(0); },
      [](Json& j) { j["training"].erase("penalty_factors"); },
      [](Json& j) {
        j["training"]["weights"] = {{"column", ""}, {"class_weight", "none"}};
      },
      [](Json& j) {
        j["training"]["weights"] = {{"column", "w"}, {"class_weight", "some"}};
      },
      [](Json& j) { j["rows"]["weights"] = Json::array({1}); }};
  for (std::size_t k = 0; k < damages.size(); ++k) {
    Json damaged = json;
    damages[k](damaged);
    EXPECT_THROW((void)model_from_json(damaged, "m.json"), Error) << k;
  }
}

}  // namespace
}  // namespace ellice
