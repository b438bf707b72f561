// Models that decide elsewhere: plans are accepted by them and by all that are nearly as good, in
// their own coordinates, objective and arithmetic.

#include "ellice/model/deployed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/random.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/explain/explainer.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "request/problem.hpp"
#include "support/foreign_model.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::at_border;
using testing_support::expect_input_error;
using testing_support::fit_foreign;
using testing_support::Foreign;
using testing_support::ForeignOptions;
using testing_support::Order;
using testing_support::single_score;

Dataset weighted_lending(std::size_t rows, std::uint64_t seed) {
  Dataset data = lending_dataset(rows, seed);
  Random random(seed);
  data.weights = (random.normal_vector(data.rows()).array() / 2).exp();
  data.sha256 = std::string(64, 'b');
  return data;
}

std::vector<Query> people(std::size_t count) {
  const Dataset data = lending_dataset(count, 77);
  std::vector<Query> queries;
  for (Index i = 0; i < data.rows(); ++i)
    queries.push_back({.index = queries.size(), .raw = data.raw.row(i)});
  return queries;
}

struct Case {
  const char* name;
  ForeignOptions options;
  SetKind set;
};

const std::array<Case, 10> cases = {{
    {"logistic", {}, SetKind::true_set},
    {"dropped", {.levels = Foreign::Levels::without_first, .l2 = 0.002}, SetKind::true_set},
    {"unpenalised", {.l2 = 0, .steps = 400}, SetKind::true_set},
    {"weighted", {.scaled = false, .has_weights = true}, SetKind::true_set},
    {"lasso", {.l2 = 0, .l1 = 0.01, .steps = 300}, SetKind::true_set},
    {"lasso_dropped",
     {.levels = Foreign::Levels::without_first, .l2 = 0, .l1 = 0.004, .has_weights = true},
     SetKind::true_set},
    {"elastic_net", {.l2 = 0.01, .l1 = 0.01}, SetKind::true_set},
    {"lasso_of_squares",
     {.loss = LossKind::squared, .scaled = false, .l2 = 0, .l1 = 0.02, .steps = 50},
     SetKind::true_set},
    {"ridge", {.loss = LossKind::squared, .l2 = 0.05}, SetKind::last_layer},
    {"early",
     {.loss = LossKind::squared,
      .levels = Foreign::Levels::without_first,
      .steps = 40,
      .has_weights = true},
     SetKind::last_layer},
}};

class Deployment : public testing::TestWithParam<Case> {};

TEST_P(Deployment, WhatIsNearlyAsGoodAcceptsEveryPlan) {
  const Dataset data = weighted_lending(300, 5);
  Foreign foreign = fit_foreign(data, GetParam().options);
  foreign.model.store_rows = true;
  const Model model = model_of(foreign.model, data);
  ASSERT_TRUE(model.deployed && model.origin && model.origin->self_check);
  EXPECT_LT(*model.origin->self_check, 1e-10);
  EXPECT_GT(model.deployed->excess, 0);
  EXPECT_LE(model.training.head_decrement, 1e-12);
  // Read again it is the same model.
  const std::string text = to_text(to_json(model));
  EXPECT_EQ(to_text(to_json(model_from_json(parse_json(text, "m.json"), "m.json"))), text);
  EXPECT_EQ(to_json(model).at("version"), 2);

  const double epsilon = 0.004;
  const auto shared = std::make_shared<const Model>(model);
  const Explainer explainer({.model = shared, .epsilon = "0.004", .set = GetParam().set});
  EXPECT_NEAR(explainer.epsilon(), epsilon + model.deployed->excess, 1e-15);
  const std::vector<Answer> answers = explainer.explain(people(20));
  const Verifier verifier(model);
  Random random(9);
  int plans = 0;
  for (const Answer& answer : answers) {
    if (!answer.certificate) continue;
    ++plans;
    const Verification verification = verifier.verify(*answer.certificate);
    EXPECT_TRUE(verification.holds()) << verification.failures.front();
    const Vector inputs = foreign.inputs_of(data.schema, answer.certificate->point);
    const auto score = [&](const Vector& theta) {
      return theta.head(inputs.size()).dot(inputs) + theta(inputs.size());
    };
    EXPECT_GT(score(foreign.parameters()), 0);
    Vector down(inputs.size() + 1);
    down << -inputs, -1;
    for (int k = 0; k < 20; ++k) {
      const Vector direction =
          k == 0 ? down : Vector(random.normal_vector(down.size()) + down * random.uniform());
      const Vector theta = at_border(foreign, direction, epsilon);
      ASSERT_LE(foreign.objective(theta), foreign.objective(foreign.parameters()) + epsilon);
      EXPECT_GT(score(theta), 0) << GetParam().name << " " << k;
    }
  }
  EXPECT_GT(plans, 10);
}

INSTANTIATE_TEST_SUITE_P(All, Deployment, testing::ValuesIn(cases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Deployed, SinglePrecisionNeverRejects) {
  const Dataset data = weighted_lending(300, 6);
  for (const bool scaled : {true, false}) {
    const Foreign foreign =
        fit_foreign(data, {.scaled = scaled, .steps = 300, .precision = Precision::float32});
    const auto model = std::make_shared<const Model>(model_of(foreign.model, data));
    EXPECT_GT(model->deployed->margin, 1e-6);
    EXPECT_LT(model->deployed->margin, 1e-2);
    // At the smallest level plans end at the border of what the deployed model accepts.
    const Explainer explainer({.model = model, .epsilon = "0"});
    int plans = 0;
    double nearest = HUGE_VAL;
    for (const Answer& answer : explainer.explain(people(60))) {
      if (!answer.certificate) continue;
      ++plans;
      for (const Order order :
           {Order::forward, Order::backward, Order::pairs, Order::lanes, Order::fused}) {
        const float score = single_score(foreign, data.schema, answer.certificate->point, order);
        EXPECT_GT(score, 0) << static_cast<int>(order);
        nearest = std::min(nearest, static_cast<double>(score));
        const Vector raw = model->encoder.raw(answer.certificate->point);
        const double exact =
            own_score(foreign.model, data.schema, {raw.data(), raw.data() + raw.size()});
        EXPECT_LT(std::abs(score - exact), model->deployed->margin);
      }
    }
    EXPECT_GT(plans, 20);
    EXPECT_LT(nearest, 0.5);
  }
}

/// A score of a network in single precision, sums forwards or backwards.
float single_network(const DeployedModel& model, const Vector& inputs, bool backwards) {
  std::vector<float> values;
  for (const double input : inputs) values.push_back(static_cast<float>(input));
  for (const Layer& layer : model.layers) {
    std::vector<float> next;
    for (Index k = 0; k < layer.weights.rows(); ++k) {
      auto sum = static_cast<float>(layer.bias(k));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t at = backwards ? values.size() - 1 - i : i;
        sum += static_cast<float>(layer.weights(k, static_cast<Index>(at))) * values[at];
      }
      if (layer.activation == Activation::tanh) sum = std::tanh(sum);
      if (layer.activation == Activation::relu) sum = std::max(sum, 0.0F);
      next.push_back(sum);
    }
    values = std::move(next);
  }
  return values.front();
}

TEST(Deployed, NetworksAcceptTheirPlans) {
  const Dataset data = weighted_lending(300, 11);
  for (const Activation activation : {Activation::tanh, Activation::relu}) {
    Foreign foreign = fit_foreign(data, {.steps = 60, .precision = Precision::float32});
    // The linear score and others, through hidden units, and a head that nobody fitted.
    DeployedModel model = foreign.model;
    model.store_rows = true;
    Random random(4);
    const Index units = 5;
    Layer hidden{.weights = Matrix(units, foreign.inputs.cols()),
                 .bias = 0.3 * random.normal_vector(units),
                 .activation = activation};
    for (Index k = 0; k < units; ++k) {
      hidden.weights.row(k) = 0.3 * random.normal_vector(hidden.weights.cols()).transpose();
      if (k < 2) hidden.weights.row(k) += (k == 0 ? 1 : -1) * model.layers[0].weights.row(0);
    }
    hidden.bias(0) += model.layers[0].bias(0);
    hidden.bias(1) -= model.layers[0].bias(0);
    Layer head{.weights = Matrix(1, units), .bias = Vector::Zero(1)};
    head.weights << 1.5, -1.5, 0.1, -0.1, 0.2;
    model.layers = {hidden, head};
    const auto shared = std::make_shared<const Model>(model_of(model, data));
    EXPECT_GT(shared->deployed->excess, 1e-4);
    // Without a wish the set is one that the model has: no curvature of its hidden layers is known.
    EXPECT_EQ(automatic_set({.model = shared}), SetKind::last_layer);
    EXPECT_EQ(why_unsupported(ExplainRequest{.model = shared}), "");
    int plans = 0;
    for (const SetKind set : {SetKind::last_layer, SetKind::true_set}) {
      const Explainer explainer({.model = shared, .epsilon = "0", .set = set});
      const Verifier verifier(*shared);
      for (const Answer& answer : explainer.explain(people(8))) {
        if (!answer.certificate) continue;
        ++plans;
        EXPECT_TRUE(verifier.verify(*answer.certificate).holds());
        const Vector inputs = foreign.inputs_of(data.schema, answer.certificate->point);
        for (const bool backwards : {false, true})
          EXPECT_GT(single_network(model, inputs, backwards), 0);
      }
    }
    EXPECT_GT(plans, 3);
  }
}

TEST(Deployed, ReasonsAndRefusalsAreThoseOfWhatDecides) {
  const Dataset data = weighted_lending(200, 12);
  Foreign foreign = fit_foreign(data, {.steps = 3});
  const auto model = std::make_shared<const Model>(model_of(foreign.model, data));
  const Explainer explainer({.model = model, .epsilon = "0", .declined = true});
  int differs = 0;
  for (const Query& one : people(150)) {
    const Vector raw = one.raw;
    const double own = own_score(foreign.model, data.schema, {raw.data(), raw.data() + raw.size()});
    EXPECT_EQ(explainer.accepts(raw), own >= model->decision.threshold);
    Vector z(model->encoder.columns());
    model->encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
    differs += (model->logit(z) >= 0) != (own >= 0) ? 1 : 0;
  }
  EXPECT_GT(differs, 0);  // what is deployed is another model than the minimiser
}

// Searches of others see the minimiser alone, and nobody holds what they find against what decides.
TEST(Deployed, RowsThatItDeclinesAreNoAnswers) {
  const Dataset data = weighted_lending(200, 12);
  Foreign foreign = fit_foreign(data, {.steps = 3});
  foreign.model.store_rows = true;
  const auto model = std::make_shared<const Model>(model_of(foreign.model, data));
  for (const char* method : {"trex", "trex-i", "delta", "proplace", "roar"}) {
    ExplainRequest request{.model = model, .method = method};
    const bool has_tau = std::string_view(method).starts_with("trex");
    (has_tau ? request.options.baseline.tau : request.options.baseline.delta) = 0.6;
    const std::string reason = why_unsupported(request);
    EXPECT_NE(reason.find("the deployed model, which may decline"), std::string::npos) << reason;
    EXPECT_NE(reason.find(method), std::string::npos) << reason;
  }
  // The same of whatever else ends without a certificate.
  Problem problem{.model = model.get(), .epsilon = 0.5, .threshold = model->decision.threshold};
  const Assembler assembler(problem);
  int declined = 0;
  int accepted = 0;
  for (const Query& one : people(150)) {
    const FeasibleSet feasible(model->encoder, problem.constraints, one.index, one.raw);
    const Vector raw = one.raw;
    const bool own = own_score(foreign.model, data.schema, {raw.data(), raw.data() + raw.size()}) >=
                     model->decision.threshold;
    Answer answer = assembler.begin(one, feasible);
    assembler.take(answer, one.raw, feasible);
    EXPECT_EQ(answer.status, own ? Status::uncertified : Status::not_found);
    EXPECT_EQ(answer.counterfactual.has_value(), own);
    const bool says = answer.message.find("declined by the deployed model") != std::string::npos;
    EXPECT_EQ(says, !own) << answer.message;
    (own ? accepted : declined) += 1;
  }
  EXPECT_GT(declined, 0);
  EXPECT_GT(accepted, 10);
}

// The row in the middle, from which it is shown that nobody has a plan, is one of whole numbers.
TEST(Deployed, BinsOfWholeNumbersAreProvedToLeaveNoPlan) {
  Dataset data{
      .schema = parse_schema("target: {column: paid, favourable: yes}\nfeatures:\n"
                             "  months: {kind: binned, edges: [5], whole: true}\n"
                             "  debt: {kind: binned, edges: [3], whole: true, immutable: true}\n",
                             "s.yaml")};
  Random random(3);
  data.raw.resize(200, 2);
  for (Index i = 0; i < data.rows(); ++i) {
    data.raw.row(i) << double(random.below(12)), double(random.below(9));
    const double score = (data.raw(i, 0) > 5 ? 1 : -1) - (data.raw(i, 1) > 3 ? 2 : -2);
    data.labels.push_back(random.uniform() < 1 / (1 + std::exp(-score)) ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "rows";
  data.sha256 = std::string(64, 'd');
  const auto model = std::make_shared<const Model>(train(data, {}, {.folds = 0}).model);
  const Explainer explainer({.model = model, .epsilon = "1%"});
  const Query one{.index = 0, .raw = (Vector(2) << 2, 8).finished()};
  EXPECT_EQ(explainer.explain({one}).front().status, Status::infeasible);
}

TEST(Deployed, WhatWasAnsweredIsAskedAgainAlike) {
  const Dataset data = weighted_lending(200, 13);
  const Foreign foreign = fit_foreign(data, {.steps = 30, .precision = Precision::float32});
  const auto model = std::make_shared<const Model>(model_of(foreign.model, data));
  for (const std::optional<double> threshold :
       {std::optional<double>(), std::optional(0.0), std::optional(0.7), std::optional(-0.5)}) {
    const Explainer explainer({.model = model, .epsilon = "1%", .threshold = threshold});
    const double lifted = explainer.problem().threshold;
    EXPECT_EQ(lifted, threshold && *threshold != 0 ? *threshold : model->decision.threshold);
    const std::string text = recourse_file_text(explainer, explainer.explain(people(20)));
    const Explainer again(explain_request_from_json(parse_json(text, "a.json"), "a.json", model));
    EXPECT_EQ(again.problem().threshold, lifted);
    EXPECT_EQ(again.epsilon(), explainer.epsilon());
  }
}

TEST(Deployed, TheOtherLabelTurnsTheScore) {
  const Dataset data = weighted_lending(200, 7);
  const Foreign foreign = fit_foreign(data, {});
  const Model model = model_of(foreign.model, data);
  DeployedModel other = foreign.model;
  other.event = data.classes[0];
  other.layers[0].weights *= -1;
  other.layers[0].bias *= -1;
  const Model turned = model_of(other, data);
  EXPECT_NEAR((model.network.head() - turned.network.head()).norm(), 0, 1e-9);
  EXPECT_NEAR((model.deployed->head - turned.deployed->head).norm(), 0, 1e-12);
}

TEST(Deployed, WhatDoesNotFitIsRefused) {
  const Dataset data = weighted_lending(200, 8);
  const DeployedModel good = fit_foreign(data, {.steps = 20}).model;
  const auto refused = [&](const auto& damage, std::initializer_list<std::string_view> words) {
    DeployedModel bad = good;
    bad.source = "fit.json";
    damage(bad);
    expect_input_error([&] { (void)model_of(bad, data); }, words);
  };
  refused([](DeployedModel& m) { m.inputs[0].feature = "agee"; }, {"fit.json", "inputs[0]", "age"});
  refused([](DeployedModel& m) { m.inputs[0].scale = 0; }, {"inputs[0]", "scale"});
  refused([](DeployedModel& m) { m.inputs[1] = m.inputs[0]; }, {"inputs[0] and inputs[1]"});
  refused([](DeployedModel& m) { m.inputs.back().level = "perhaps"; }, {"perhaps", "level"});
  refused([](DeployedModel& m) { m.layers.clear(); }, {"no layers"});
  refused([](DeployedModel& m) { m.inputs.pop_back(); }, {"layers[0]", "columns"});
  refused([](DeployedModel& m) { m.l2 = -1; }, {"l2"});
  refused([](DeployedModel& m) { m.penalize_bias = true; }, {"intercept"});
  refused([](DeployedModel& m) { m.event = "perhaps"; }, {"event", "perhaps"});
  refused([](DeployedModel& m) { m.layers[0].activation = Activation::tanh; }, {"last layer"});
  refused([](DeployedModel& m) { m.layers[0].weights(0, 0) = NAN; }, {"layers[0]"});
  // Operators of its own that say something else.
  DeployedModel bad = good;
  expect_input_error(
      [&] { (void)model_of(bad, data, [](std::span<const double>) { return 3.0; }); },
      {"another score"});
}

}  // namespace
}  // namespace ellice
