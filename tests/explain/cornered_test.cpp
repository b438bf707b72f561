// Deployed models with an l1 penalty, and such that compare two outputs.

#include <gtest/gtest.h>

#include <cmath>

#include "certificate/plain_true_set.hpp"
#include "core/random.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/deployed.hpp"
#include "ellice/model/model_file.hpp"
#include "request/problem.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "support/foreign_model.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::at_border;
using testing_support::expect_input_error;
using testing_support::expect_words;
using testing_support::fit_foreign;
using testing_support::Foreign;
using testing_support::message_of;
using testing_support::Order;
using testing_support::single_score;

Dataset rows_of_lending(std::size_t rows, std::uint64_t seed) {
  Dataset data = lending_dataset(rows, seed);
  data.sha256 = std::string(64, 'c');
  return data;
}

std::vector<Query> applicants(std::size_t count) {
  const Dataset data = lending_dataset(count, 78);
  std::vector<Query> queries;
  for (Index i = 0; i < data.rows(); ++i)
    queries.push_back({.index = queries.size(), .raw = data.raw.row(i)});
  return queries;
}

std::shared_ptr<const Model> lasso_of_lending(double l2 = 0, double l1 = 0.01) {
  const Dataset data = rows_of_lending(300, 5);
  DeployedModel given = fit_foreign(data, {.l2 = l2, .l1 = l1}).model;
  given.store_rows = true;
  return std::make_shared<const Model>(model_of(given, data));
}

TEST(Cornered, TheVerifiersOwnSearchFindsTheSameWorstModels) {
  for (const double l2 : {0.0, 0.01}) {
    const auto model = lasso_of_lending(l2);
    EXPECT_GT((model->network.head().array() == 0).count(), 0);  // it chose columns
    for (const double epsilon : {0.001, 0.05}) {
      const TrueSet set = true_set(*model, *model->rows, epsilon);
      const PlainTrueSet plain(std::make_shared<PlainObjective>(*model, *model->rows),
                               model->network.head().cast<long double>());
      EXPECT_TRUE(plain.objective().rows_fit() && plain.objective().objective_fits());
      for (Index i = 0; i < 12; ++i) {
        const Vector x = with_one(model->rows->encoded.row(i));
        const WorstHead worst = set.worst(x);
        const PlainTrueSet::Worst own = plain.worst(x.cast<long double>(), epsilon);
        EXPECT_LE(worst.attained - worst.proved, 1e-8);
        EXPECT_NEAR(static_cast<double>(own.proved), worst.proved, 1e-8);
        EXPECT_LE(plain.excess(own.model), epsilon);
        EXPECT_LE(own.proved, own.model.dot(x.cast<long double>()) + 1e-15L);
        const double threshold = worst.attained;
        const auto cheapest = plain.cheapest(x.cast<long double>(), threshold);
        EXPECT_NEAR(static_cast<double>(cheapest.proved), epsilon, 1e-8);
        EXPECT_NEAR(set.radius(x, threshold), epsilon, 1e-8);
      }
    }
  }
}

TEST(Cornered, CertificatesThatWereAlteredFail) {
  const auto model = lasso_of_lending();
  const Explainer explainer({.model = model, .epsilon = "2%", .set = SetKind::true_set});
  const Verifier verifier(*model);
  int plans = 0;
  for (const Answer& answer : explainer.explain(applicants(20))) {
    if (!answer.certificate) continue;
    ++plans;
    EXPECT_FALSE(answer.predicted_survival);
    const Certificate& good = *answer.certificate;
    EXPECT_TRUE(verifier.verify(good).holds());
    Certificate higher = good;
    higher.robust_logit += 1e-5;
    EXPECT_FALSE(verifier.verify(higher).holds());
    Certificate smaller = good;
    smaller.epsilon *= 0.9;
    EXPECT_FALSE(verifier.verify(smaller).holds());
    Certificate larger = good;
    larger.epsilon *= 1.5;
    EXPECT_FALSE(verifier.verify(larger).holds());
    Certificate other = good;
    other.worst_model = model->network.head();
    EXPECT_FALSE(verifier.verify(other).holds());
    Model lighter = *model;
    lighter.training.l1 *= 0.5;
    expect_input_error([&] { return Verifier(lighter).verify(good); }, {"contradicts itself"});
  }
  EXPECT_GT(plans, 5);
}

TEST(Cornered, OtherSetsAndRulesAreRefusedWithTheReason) {
  const auto model = lasso_of_lending();
  for (const SetKind set : {SetKind::last_layer, SetKind::isotropic, SetKind::full}) {
    expect_words(
        message_of(ErrorCode::argument,
                   [&] { return Explainer({.model = model, .epsilon = "1%", .set = set}); }),
        {"l1 penalty", "no ellipsoid", "set: true"});
  }
  for (const char* rule : {"auto", "survival:90%", "accuracy:5%"}) {
    expect_words(
        message_of(
            ErrorCode::argument,
            [&] { return Explainer({.model = model, .epsilon = rule, .set = SetKind::true_set}); }),
        {"l1 penalty"});
  }
}

TEST(Cornered, FilesThatDoNotFitAreRefused) {
  const auto model = lasso_of_lending(0.01);
  const Json good = to_json(*model);
  EXPECT_EQ(good.at("version"), 2);
  const auto read = [](const Json& file) { return model_from_json(file, "m.json"); };
  EXPECT_EQ(read(good).sha256, model->sha256);
  Json bad = good;
  bad["training"]["l1"][0] = -0.1;
  expect_input_error([&] { return read(bad); }, {"m.json", "training.l1", ">= 0"});
  bad = good;
  bad["training"]["l1"].erase(0);
  expect_input_error([&] { return read(bad); }, {"training.l1"});
  bad = good;
  bad["training"].erase("l1");
  expect_input_error([&] { return read(bad); }, {"training.objective", "altered"});
  bad = good;
  bad["training"]["penalize_bias"] = true;
  expect_input_error([&] { return read(bad); }, {"l1", "free intercept"});
}

TEST(Cornered, WhatHasNoFormIsRefused) {
  const Dataset data = rows_of_lending(200, 8);
  const DeployedModel good = fit_foreign(data, {.l2 = 0.01, .l1 = 0.01, .steps = 30}).model;
  DeployedModel bad = good;
  bad.source = "fit.json";
  bad.l1 = -1;
  expect_input_error([&] { return model_of(bad, data); }, {"fit.json", "l1", ">= 0"});
  bad.l1 = 0.01;
  std::size_t binary = 0;
  while (data.schema.features[*data.schema.find(bad.inputs[binary].feature)].kind !=
         FeatureKind::binary)
    ++binary;
  bad.inputs[binary].scale = 2;
  expect_input_error([&] { return model_of(bad, data); },
                     {"fit.json", "l1", bad.inputs[binary].feature, "no closed form"});
  bad.l2 = 0;  // of one penalty the least is known
  const Model model = model_of(bad, data);
  EXPECT_GT(model.deployed->excess, 0);
  DeployedModel network = good;
  network.layers.insert(
      network.layers.begin(),
      {.weights = Matrix::Identity(good.layers[0].weights.cols(), good.layers[0].weights.cols()),
       .bias = Vector::Zero(good.layers[0].weights.cols()),
       .activation = Activation::tanh});
  expect_input_error([&] { return model_of(network, data); }, {"network has an l1 penalty"});
}

/// Both outputs of a linear program, in single precision and an order of its own each.
TEST(TwoOutputs, RoundedApartTheyStillAccept) {
  const Dataset data = rows_of_lending(300, 6);
  const Foreign one = fit_foreign(data, {.l2 = 0, .steps = 400, .precision = Precision::float32});
  const Index n = one.inputs.cols();
  Random random(3);
  // Large weights that both have in common, so that what decides is a small difference.
  const Vector common = 1500 * random.normal_vector(n + 1);
  std::array<Foreign, 2> outputs = {one, one};
  DeployedModel both = one.model;
  both.layers = {{.weights = Matrix(2, n), .bias = Vector(2)}};
  for (Index k = 0; k < 2; ++k) {
    Layer& own = outputs[static_cast<std::size_t>(k)].model.layers.front();
    own.weights = common.head(n).transpose();
    own.bias(0) = common(n);
    if (k == 1) own.weights += one.model.layers[0].weights;
    if (k == 1) own.bias += one.model.layers[0].bias;
    // As the program stores them.
    own.weights = own.weights.cast<float>().cast<double>();
    own.bias = own.bias.cast<float>().cast<double>();
    both.layers[0].weights.row(k) = own.weights.row(0);
    both.layers[0].bias(k) = own.bias(0);
  }
  const auto model = std::make_shared<const Model>(model_of(both, data));
  DeployedModel difference = one.model;
  difference.layers[0].weights = both.layers[0].weights.row(1) - both.layers[0].weights.row(0);
  difference.layers[0].bias = both.layers[0].bias.tail(1) - both.layers[0].bias.head(1);
  const Model single = model_of(difference, data);
  EXPECT_NEAR((single.deployed->head - model->deployed->head).norm(), 0, 1e-9);
  EXPECT_GT(model->deployed->margin, 20 * single.deployed->margin);
  EXPECT_EQ(to_text(to_json(model_from_json(to_json(*model), "m.json"))), to_text(to_json(*model)));

  const Explainer explainer({.model = model, .epsilon = "0"});
  const Verifier verifier(*model);
  double largest = 0;
  int plans = 0;
  for (const Answer& answer : explainer.explain(applicants(60))) {
    if (!answer.certificate) continue;
    ++plans;
    EXPECT_TRUE(verifier.verify(*answer.certificate).holds());
    const RawRow& row = answer.certificate->point;
    const Vector raw = model->encoder.raw(row);
    const double exact = own_score(both, data.schema, {raw.data(), raw.data() + raw.size()});
    for (const Order first :
         {Order::forward, Order::backward, Order::pairs, Order::lanes, Order::fused}) {
      for (const Order second : {Order::forward, Order::backward, Order::fused}) {
        const float low = single_score(outputs[0], data.schema, row, first);
        const float high = single_score(outputs[1], data.schema, row, second);
        EXPECT_GT(high, low);
        const double error = std::abs(static_cast<double>(high) - low - exact);
        EXPECT_LT(error, model->deployed->margin);
        largest = std::max(largest, error);
      }
    }
  }
  EXPECT_GT(plans, 10);
  EXPECT_GT(largest, single.deployed->margin);  // that of the difference alone is too small
}

TEST(TwoOutputs, PenaltiesAreThoseOfBoth) {
  const Dataset data = rows_of_lending(300, 6);
  const Foreign one = fit_foreign(data, {.l2 = 0.01, .steps = 300});
  DeployedModel both = one.model;
  const Layer& own = one.model.layers.front();
  both.layers = {{.weights = Matrix(2, own.weights.cols()), .bias = Vector(2)}};
  both.layers[0].weights << -own.weights / 2, own.weights / 2;
  both.layers[0].bias << -own.bias(0) / 2, own.bias(0) / 2;
  both.l2 = 0.02;  // (0.02/2)·2·‖w/2‖² = (0.01/2)·‖w‖²
  const Model pair = model_of(both, data);
  const Model single = model_of(one.model, data);
  EXPECT_NEAR((pair.network.head() - single.network.head()).norm(), 0, 1e-9);
  EXPECT_NEAR(pair.deployed->excess, single.deployed->excess, 1e-12);
  EXPECT_NEAR(pair.training.objective, single.training.objective, 1e-12);
}

}  // namespace
}  // namespace ellice
