#include "study/judgement.hpp"

#include <algorithm>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

namespace {

// Stream of the seed from which the intervals draw; evaluators have theirs.
constexpr std::uint64_t interval_stream = 410;

void check_validation(const std::vector<EvaluatorKind>& kinds, const Model& model,
                      const TrainingRows& rows) {
  const bool stops_early = model.training.selection.validation.value_or(0) > 0;
  if (!stops_early || !rows.validation.rows.labels.empty()) return;
  for (const EvaluatorKind kind : kinds) {
    const bool trains = kind == EvaluatorKind::retrain || kind == EvaluatorKind::bootstrap ||
                        kind == EvaluatorKind::shift;
    require(!trains,
            "the evaluator {} trains as the model was trained, which needs its validation rows: "
            "give the data that it was trained on",
            enum_name(kind));
  }
}

OutlierFactor make_plausibility(const PlausibilityOptions& options, const StoredRows& fitted,
                                const Execution& execution) {
  if (options.lof_reference == OutlierReference::all) {
    return {fitted.encoded, options.lof_neighbours, execution};
  }
  std::vector<Index> rows;
  for (std::size_t i = 0; i < fitted.labels.size(); ++i) {
    if (fitted.labels[i] == 1) rows.push_back(static_cast<Index>(i));
  }
  const RowMatrix favourable = fitted.encoded(rows, Eigen::all);
  return {favourable, options.lof_neighbours, execution};
}

}  // namespace

Json Judgement::to_json() const {
  Json document = ellice::to_json(result, request);
  if (!comparisons.empty()) document["comparison"] = ellice::to_json(comparisons);
  return document;
}

bool asks_for_other_rows(const JudgementQuestion& question) {
  const std::vector<EvaluatorKind> kinds = parse_evaluators(question.evaluators);
  return std::find(kinds.begin(), kinds.end(), EvaluatorKind::shift) != kinds.end();
}

Judgement judge(const Model& model, const JudgementRows& rows, const JudgedAnswers& answers,
                const AnswerBatch* against, const JudgementQuestion& question,
                const Execution& execution) {
  const std::vector<EvaluatorKind> kinds = parse_evaluators(question.evaluators);
  EvaluationSetup setup{.model = &model,
                        .threshold = question.threshold,
                        .variant = question.options.variant,
                        .intervals = question.intervals,
                        .seeds = Random(question.seed).split(interval_stream)};
  if (!question.metrics.empty()) setup.measures = parse_measures(question.metrics);
  check_validation(kinds, model, *rows.known);
  const StoredRows& fitted = rows.known->fitted.rows;
  const StoredRows& validation = rows.known->validation.rows;
  const EvaluationSource source{.model = &model,
                                .fitted = &fitted,
                                .validation = validation.labels.empty() ? nullptr : &validation,
                                .other = rows.other,
                                .threshold = setup.threshold};
  // That of the answers counts from the minimum already; a rule counts from what is deployed.
  const bool is_own = question.epsilon.empty() && answers.epsilon.value_or(0) > 0;
  const EpsilonRule rule =
      parse_epsilon_rule(is_own                     ? number_text(*answers.epsilon)
                         : question.epsilon.empty() ? std::string(usual_epsilon)
                                                    : question.epsilon);
  Judgement judgement;
  EvaluationRequest& request = judgement.request;
  request = {.model_sha256 = model.sha256,
             .epsilon = is_own ? *answers.epsilon
                               : rule.resolve(model, {},
                                              {.rows = &fitted,
                                               .execution = {.threads = execution.threads}}),
             .epsilon_rule = rule.text,
             .base_objective = base_objective(source),
             .columns = model.encoder.columns(),
             .features = model.schema().features.size(),
             .evaluators = question.options,
             .plausibility = question.plausibility,
             .intervals = question.intervals,
             .explained = question.explained,
             .seed = question.seed,
             .accepted = answers.batch.accepted,
             .unreadable = answers.batch.unreadable,
             .further_plans = answers.batch.further_plans};
  std::optional<OutlierFactor> plausibility;
  if (std::find(setup.measures.begin(), setup.measures.end(), Measure::lof) !=
      setup.measures.end()) {
    plausibility.emplace(make_plausibility(question.plausibility, fitted, execution));
    setup.plausibility = &*plausibility;
    if (plausibility->neighbours() < question.plausibility.lof_neighbours) {
      request.lof_neighbours_asked = question.plausibility.lof_neighbours;
      request.plausibility.lof_neighbours = plausibility->neighbours();
    }
  }
  setup.evaluators = make_evaluators(source, kinds, {request.epsilon}, question.options,
                                     Random(question.seed), execution);
  judgement.result = evaluate(answers.batch, setup, execution);
  if (against != nullptr) {
    judgement.comparisons = compare(judgement.result, evaluate(*against, setup, execution),
                                    setup.intervals, setup.seeds);
  }
  return judgement;
}

}  // namespace ellice
