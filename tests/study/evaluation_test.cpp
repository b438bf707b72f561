#include "study/evaluation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "study/evaluation_file.hpp"
#include "study/trained_case.hpp"
#include "support/messages.hpp"
#include "support/mixed_model.hpp"

namespace ellice {
namespace {

using study_cases::few_models;
using study_cases::TrainedCase;
using testing_support::expect_words;
using testing_support::message_of;

/// f(x) = x0 on one numeric column in its own scale.
Model one_column_model() {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {{.name = "x0"}};
  data.raw.resize(2, 1);
  data.raw << -1, 1;  // mean 0, scale 1
  data.labels = {0, 1};
  data.classes = {"no", "yes"};
  Vector theta(2);
  theta << 1, 0;
  return {.encoder = Encoder::fit(data), .network = linear_network(theta)};
}

Answer answer(std::size_t index, double from, std::optional<double> to) {
  Answer result{.query_index = index, .query = {Value(from)}};
  if (to) {
    result.counterfactual = RawRow{Value(*to)};
    result.status = Status::certified;
  }
  return result;
}

/// One model x ↦ x + bias for each bias.
EvaluatorPointer biased(const std::vector<double>& biases) {
  StressSet set{.kind = StressKind::retrain, .tried = 9, .bound = 0.5};
  for (const double bias : biases) {
    Vector theta(2);
    theta << 1, bias;
    set.models.push_back({.network = linear_network(theta), .objective = 0.4});
  }
  return evaluator_of(EvaluatorKind::retrain, 0.1, std::move(set));
}

/// Proves nothing of any answer.
class Unproved final : public Evaluator {
 public:
  Unproved() : Evaluator({.kind = EvaluatorKind::true_set, .is_per_answer = true}) {}
  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution& /*execution*/) const override {
    const Vector logits = Vector::Constant(points.rows(), -std::numeric_limits<double>::infinity());
    return WorstScores{.logits = logits, .objectives = Vector::Zero(points.rows())};
  }
};

TEST(Evaluation, WritesNoWorstLogitWhereNothingIsProved) {
  const Model model = one_column_model();
  const AnswerBatch batch = answer_batch({answer(0, -1, 3.0)}, model, 0);
  const EvaluationResult result =
      evaluate(batch, {.model = &model, .evaluators = {std::make_shared<const Unproved>()}});
  const Json written =
      parse_json(to_text(to_json(result, {.model_sha256 = "x"})), "evaluation.json");
  const Json& judged = written.at("results").at(0).at("evaluators").at("true");
  EXPECT_EQ(judged.at("holds"), false);
  EXPECT_FALSE(judged.contains("worst_logit"));
}

TEST(Evaluation, CountsWhatWasNotFoundAsNotRobust) {
  const Model model = one_column_model();
  const std::vector<Answer> answers = {answer(0, -1, 3.0),   // robust
                                       answer(1, -1, 0.5),   // valid, not robust
                                       answer(2, -1, -0.5),  // not even valid
                                       answer(3, -1, {}),    // not found
                                       answer(4, 2, {}),     // accepted as it is: not explained
                                       answer(5, -2, 2.0)};  // robust
  const AnswerBatch batch = answer_batch(answers, model, 0);
  EXPECT_EQ(batch.accepted, 1U);
  const EvaluationResult result =
      evaluate(batch, {.model = &model, .evaluators = {biased({0, -1}), biased({})}});
  EXPECT_EQ(result.rows, 5U);
  EXPECT_EQ(result.found, 4U);
  EXPECT_EQ(result.valid, 3U);
  const EvaluatorResult& robust = result.evaluators[0];
  EXPECT_EQ(robust.robust, 2U);
  EXPECT_DOUBLE_EQ(*robust.robustness, 2.0 / 5);
  EXPECT_DOUBLE_EQ(*robust.robustness_valid_only, 2.0 / 3);
  EXPECT_DOUBLE_EQ(robust.l2->mean, 4);
  EXPECT_EQ(*result.holds(0, 0), true);
  EXPECT_EQ(*result.holds(1, 0), false);
  EXPECT_FALSE(result.holds(3, 0).has_value());
  EXPECT_EQ(*result.is_robust(3, 0), false);
}

TEST(Evaluation, ByAnEmptySetIsUndefinedNeverOne) {
  const Model model = one_column_model();
  const AnswerBatch batch = answer_batch({answer(0, -1, 3.0)}, model, 0);
  const EvaluationResult result = evaluate(batch, {.model = &model, .evaluators = {biased({})}});
  EXPECT_FALSE(result.evaluators[0].robustness.has_value());
  EXPECT_FALSE(result.evaluators[0].robustness_valid_only.has_value());
  EXPECT_FALSE(result.is_robust(0, 0).has_value());
  EvaluationRequest request{.epsilon = 0.1, .epsilon_rule = "0.1", .base_objective = 0.4};
  const Json json = to_json(result, request);
  EXPECT_TRUE(json["evaluators"][0]["robustness"].is_null());
  EXPECT_EQ(json["evaluators"][0]["models"], 0);
  EXPECT_EQ(json["evaluators"][0]["tried"], 9);
  EXPECT_TRUE(json["results"][0]["evaluators"]["retrain"]["holds"].is_null());
  expect_words(evaluation_text(result, request),
               {"undefined", "none of 9 models that were tried", "at most 0.5"});
}

TEST(Evaluation, DoesNotCallAnAnswerRobustThatTheBaseRejects) {
  const Model model = one_column_model();
  const AnswerBatch batch = answer_batch({answer(0, -1, -0.5)}, model, 0);
  const EvaluationResult result = evaluate(batch, {.model = &model, .evaluators = {biased({1})}});
  EXPECT_EQ(*result.holds(0, 0), true);
  EXPECT_EQ(*result.evaluators[0].robustness, 0);
  EXPECT_FALSE(result.evaluators[0].robustness_valid_only.has_value());  // of none
}

TEST(Evaluation, SaysWhatThePublishedRunsSaidOfNoAnswers) {
  const Model model = one_column_model();
  EvaluationSetup setup{.model = &model,
                        .variant = Variant::published,
                        .evaluators = {biased({0})},
                        .measures = {Measure::validity, Measure::l2, Measure::l1, Measure::l0}};
  EvaluationResult result = evaluate(answer_batch({answer(0, -1, -0.5)}, model, 0), setup);
  EXPECT_EQ(*result.evaluators[0].robustness_valid_only, 0);
  EXPECT_EQ(result.measures[0].summary->mean, 0);
  EXPECT_EQ(result.measures[1].summary->mean, 1000);
  EXPECT_EQ(result.measures[2].summary->mean, 1000);
  EXPECT_FALSE(result.measures[3].summary.has_value());
  setup.variant = Variant::corrected;
  result = evaluate(answer_batch({answer(0, -1, -0.5)}, model, 0), setup);
  EXPECT_FALSE(result.measures[1].summary.has_value());
  // Rows that do not move are left out of the published distance.
  const std::vector<Answer> answers = {answer(0, 1, 1.0), answer(1, -1, 3.0)};
  const AnswerBatch all = answer_batch(answers, model, 0, ExplainedRows::all);
  EXPECT_EQ(evaluate(all, setup).measures[1].summary->mean, 2);
  setup.variant = Variant::published;
  EXPECT_EQ(evaluate(all, setup).measures[1].summary->mean, 4);
}

TEST(Metrics, CountMovesInColumnsAndInFeatures) {
  const problem_zoo::MixedCase mixed = problem_zoo::mixed_case(4, false);
  const Encoder& encoder = mixed.model.encoder;
  const RawRow from = encoder.values({mixed.raw.row(0).data(), 7});
  RawRow to = from;
  std::get<double>(to[0]) += 2 * encoder.scale()(0);
  std::get<double>(to[1]) += 1e-9;  // no change
  to[5] = std::get<std::string>(from[5]) == "a" ? "b" : "a";
  to[4] = std::get<std::string>(from[4]) == "no" ? "yes" : "no";
  Answer changed{.status = Status::certified, .query = from, .counterfactual = to, .seconds = 0.25};
  const AnswerBatch batch = answer_batch({changed}, mixed.model, 0, ExplainedRows::all);
  const MeasuredAnswer measured = measure_answers(batch, mixed.model, -1e9, nullptr).front();
  EXPECT_TRUE(measured.is_valid);
  EXPECT_NEAR(measured.l2, std::sqrt(4.0 + 2 + 1), 1e-8);
  EXPECT_NEAR(measured.l1, 2 + 2 + 1, 1e-8);
  EXPECT_EQ(measured.l0, 4);
  EXPECT_NEAR(measured.l2_features, std::sqrt(4.0 + 1 + 1), 1e-8);
  EXPECT_NEAR(measured.l1_features, 2 + 1 + 1, 1e-8);
  EXPECT_EQ(measured.changed, 3);
  EXPECT_EQ(*measured.value(Measure::seconds), 0.25);
  EXPECT_FALSE(measured.value(Measure::lof).has_value());
}

TEST(Metrics, LeaveOutWhatIsNoFirstPlan) {
  const Model model = one_column_model();
  Answer second = answer(0, -1, 2.0);
  second.plan = 1;
  const AnswerBatch batch = answer_batch({answer(3, -1, 1.0),
                                          answer(0, -1, 1.0),
                                          second,
                                          {.query_index = 7, .status = Status::invalid}},
                                         model, 0);
  EXPECT_EQ(batch.query_index, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(batch.further_plans, 1U);
  EXPECT_EQ(batch.unreadable, 1U);
  expect_words(message_of(ErrorCode::argument,
                          [&] {
                            return answer_batch({answer(3, -1, 1.0), answer(3, -1, 2.0)}, model, 0);
                          }),
               {"query 3", "two answers"});
}

TEST(Metrics, AreKnownByNameAndSuggested) {
  EXPECT_EQ(parse_measures({"l1", "lof", "l1"}), (std::vector{Measure::l1, Measure::lof}));
  expect_words(message_of(ErrorCode::argument, [] { return parse_measures({"valdity"}); }),
               {"no metric \"valdity\"", "did you mean \"validity\"?"});
}

TEST(Comparison, PairsRowsByTheirIndex) {
  const Model model = one_column_model();
  const EvaluationSetup setup{
      .model = &model, .evaluators = {biased({-1})}, .measures = {Measure::validity, Measure::l2}};
  const EvaluationResult a = evaluate(
      answer_batch({answer(0, -1, 3.0), answer(2, -1, 2.0), answer(5, -1, 0.5)}, model, 0), setup);
  const EvaluationResult b = evaluate(
      answer_batch({answer(2, -1, 1.0), answer(5, -1, {}), answer(9, -1, 4.0)}, model, 0), setup);
  const std::vector<Comparison> compared = compare(a, b, {}, Random(1));
  ASSERT_EQ(compared.size(), 3U);
  EXPECT_EQ(compared[0].result->difference.count, 2U);  // rows 2 and 5
  EXPECT_DOUBLE_EQ(compared[0].result->difference.mean, 0.5);
  EXPECT_EQ(compared[1].result->difference.count, 1U);  // valid in both: row 2
  EXPECT_DOUBLE_EQ(compared[1].result->difference.mean, 1);
  EXPECT_EQ(compared[2].name, "retrain");
  EXPECT_DOUBLE_EQ(compared[2].result->difference.mean, 0);  // 2.0 and 1.0 both hold, 5 in neither
  expect_words(comparison_text(compared, 0.95), {"robust: retrain", "p (permuted)"});
  const EvaluationResult other = evaluate(answer_batch({answer(0, -1, 3.0)}, model, 0),
                                          {.model = &model, .measures = {Measure::l2}});
  expect_words(message_of(ErrorCode::argument, [&] { return compare(a, other, {}, Random(1)); }),
               {"judged in the same way"});
}

TEST(EvaluationFile, HoldsTheContractAndIsTheSameForAnyNumberOfThreads) {
  const TrainedCase trained({4});
  std::vector<Answer> answers;
  const RowMatrix points = -trained.points();  // most of the declined are accepted there
  for (Index i = 0; i < points.rows(); ++i) {
    answers.push_back({.query_index = static_cast<std::size_t>(i),
                       .status = Status::certified,
                       .query = trained.model.encoder.decode(trained.other.encoded.row(i)),
                       .counterfactual = trained.model.encoder.decode(points.row(i))});
  }
  const AnswerBatch batch = answer_batch(answers, trained.model, 0);
  const EvaluationRequest request{
      .epsilon = 0.03, .epsilon_rule = "0.03", .base_objective = trained.objective};
  const auto text = [&](int threads) {
    const Execution execution{.threads = threads};
    const OutlierFactor plausibility(trained.fitted.encoded, 20, execution);
    const EvaluationSetup setup{
        .model = &trained.model,
        .evaluators = make_evaluators(trained.source, study_cases::all_kinds(), {0.03}, few_models,
                                      Random(1), execution),
        .plausibility = &plausibility};
    return to_text(to_json(evaluate(batch, setup, execution), request));
  };
  const std::string one = text(1);
  EXPECT_EQ(one, text(2));
  const Json json = parse_json(one, "evaluation");
  EXPECT_EQ(json["format"], "ellice.evaluation");
  EXPECT_EQ(json["target_epsilon"]["value"], 0.03);
  EXPECT_EQ(json["variant"], "corrected");
  EXPECT_EQ(json["rows"], batch.size());
  for (const char* const metric : {"validity", "l2", "l1", "changed", "lof"}) {
    for (const char* const key : {"mean", "median", "standard_error"}) {
      EXPECT_TRUE(json["metrics"][metric][key].is_number()) << metric << " " << key;
    }
  }
  ASSERT_EQ(json["evaluators"].size(), 8U);
  for (const Json& evaluator : json["evaluators"]) {
    EXPECT_TRUE(evaluator["robustness"].is_number());
    std::size_t robust = 0;
    for (const Json& row : json["results"]) {
      robust += row["valid"] && row["evaluators"][std::string(evaluator["name"])]["holds"] ? 1 : 0;
    }
    EXPECT_EQ(evaluator["robust"], robust);
    EXPECT_DOUBLE_EQ(evaluator["robustness"],
                     static_cast<double>(robust) / static_cast<double>(batch.size()));
  }
}

}  // namespace
}  // namespace ellice
