#include "study/evaluation_file.hpp"

#include <cmath>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

constexpr int newest_version = 1;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const Interval& interval) {
  return Json::array({interval.low, interval.high});
}

Json summary_json(const std::optional<Summary>& summary) {
  if (!summary) return {};
  return {{"mean", summary->mean},
          {"median", summary->median},
          {"standard_error", or_null(summary->standard_error)},
          {"interval", interval_json(summary->interval)},
          {"count", summary->count}};
}

Json evaluator_json(const EvaluatorResult& result) {
  const EvaluatorSummary& summary = result.summary;
  Json json = {{"name", std::string(enum_name(summary.kind))},
               {"models", summary.is_per_answer ? Json("per answer") : Json(summary.models)}};
  if (!summary.is_per_answer) json["tried"] = summary.tried;
  if (summary.bound) json["bound"] = *summary.bound;
  if (summary.noise > 0) json["noise"] = summary.noise;
  json["robust"] = summary.is_defined() ? Json(result.robust) : Json();
  json["robustness"] = or_null(result.robustness);
  json["interval"] = result.interval ? interval_json(*result.interval) : Json();
  json["robustness_valid_only"] = or_null(result.robustness_valid_only);
  json["l2"] = summary_json(result.l2);
  if (!summary.is_per_answer) json["objectives"] = summary.objectives;
  return json;
}

/// Answers that break the schema.
std::vector<const MeasuredAnswer*> violating(const EvaluationResult& evaluation) {
  std::vector<const MeasuredAnswer*> result;
  for (const EvaluatedAnswer& answer : evaluation.answers)
    if (!answer.measured.violations.empty()) result.push_back(&answer.measured);
  return result;
}

Json answer_json(const EvaluationResult& evaluation, std::size_t i) {
  const EvaluatedAnswer& answer = evaluation.answers[i];
  const MeasuredAnswer& measured = answer.measured;
  Json json = {{"query_index", measured.query_index},
               {"found", measured.is_found},
               {"valid", measured.is_valid}};
  if (measured.is_found) json["logit"] = measured.logit;
  if (!measured.violations.empty()) json["violations"] = measured.violations;
  for (const MeasureResult& wanted : evaluation.measures) {
    const std::optional<double> value = measured.value(wanted.measure);
    if (wanted.measure == Measure::validity || !value) continue;
    json[std::string(enum_name(wanted.measure))] = *value;
  }
  json["evaluators"] = Json::object();
  for (std::size_t e = 0; e < evaluation.evaluators.size(); ++e) {
    Json judged = {{"holds", or_null(evaluation.holds(i, e))}};
    // −∞ where nothing is proved: no number, and no reason to believe that the answer holds.
    if (answer.worst_logits[e] && std::isfinite(*answer.worst_logits[e]))
      judged["worst_logit"] = *answer.worst_logits[e];
    if (answer.objectives[e]) judged["objective"] = *answer.objectives[e];
    json["evaluators"][std::string(enum_name(evaluation.evaluators[e].summary.kind))] = judged;
  }
  return json;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string interval_text(const Interval& interval, bool is_share) {
  return is_share ? fmt::format("{:.1f} – {:.1f} %", 100 * interval.low, 100 * interval.high)
                  : fmt::format("{} – {}", rounded(interval.low), rounded(interval.high));
}

std::string_view measure_words(Measure measure) {
  switch (measure) {
    case Measure::validity:
      return "validity";
    case Measure::l2:
      return "l2";
    case Measure::l1:
      return "l1";
    case Measure::l0:
      return "l0: columns changed";
    case Measure::l2_features:
      return "l2, a category counts 1";
    case Measure::l1_features:
      return "l1, a category counts 1";
    case Measure::changed:
      return "features changed";
    case Measure::lof:
      return "outlier factor (LOF)";
    case Measure::seconds:
      break;
  }
  return "seconds per answer";
}

/// Says something only where a feature takes several columns.
bool is_about_columns(Measure measure) {
  return measure == Measure::l0 || measure == Measure::l2_features ||
         measure == Measure::l1_features;
}

std::string measures_text(const EvaluationResult& evaluation, const EvaluationRequest& request) {
  using enum TextTable::Align;
  TextTable table({left, right, right, right, right, right});
  table.header({"metric", "answers", "mean", "median", "std. error",
                fmt::format("{} % interval", rounded(100 * request.intervals.confidence, 3))});
  const bool has_categories = request.columns != static_cast<Index>(request.features);
  for (const MeasureResult& result : evaluation.measures) {
    if (is_about_columns(result.measure) && !has_categories) continue;
    const std::string words(measure_words(result.measure));
    if (!result.summary) {
      if (result.measure != Measure::seconds) table.row({words, "0", "-", "-", "-", "-"});
      continue;
    }
    const Summary& summary = *result.summary;
    const bool is_share = result.measure == Measure::validity;
    table.row({words, grouped(summary.count),
               is_share ? percent(summary.mean) : rounded(summary.mean),
               is_share ? "" : rounded(summary.median),
               !summary.standard_error ? "-"
               : is_share              ? percent(*summary.standard_error)
                                       : rounded(*summary.standard_error, 3),
               interval_text(summary.interval, is_share)});
  }
  return table.text();
}

std::string_view evaluator_words(EvaluatorKind kind) {
  switch (kind) {
    case EvaluatorKind::retrain:
      return "trained from other initial weights";
    case EvaluatorKind::dropout:
      return "the model with noise on its weights";
    case EvaluatorKind::awp:
      return "weights moved against training rows";
    case EvaluatorKind::awp_targeted:
      return "weights moved against the answer itself";
    case EvaluatorKind::ellipsoid:
      return "worst of the last layer's ellipsoid";
    case EvaluatorKind::true_set:
      return "worst last layer within the bound";
    case EvaluatorKind::bootstrap:
      return "trained on rows drawn with replacement";
    case EvaluatorKind::shift:
      break;
  }
  return "trained on other rows";
}

std::string models_text(const EvaluatorSummary& summary) {
  if (summary.is_per_answer) return "per answer";
  if (summary.tried == summary.models) return grouped(summary.models);
  return fmt::format("{} of {} tried", grouped(summary.models), grouped(summary.tried));
}

std::string evaluators_text(const EvaluationResult& evaluation, double confidence) {
  using enum TextTable::Align;
  TextTable table({left, right, right, right, right, right, right, right, left});
  table.header({"evaluator", "models", "objective", "robust", "of all",
                fmt::format("{} % interval", rounded(100 * confidence, 3)), "of valid",
                "l2 if robust", "models that judge"});
  for (const EvaluatorResult& result : evaluation.evaluators) {
    const EvaluatorSummary& summary = result.summary;
    const std::string bound = summary.bound ? "<= " + rounded(*summary.bound) : "any";
    std::vector<std::string> cells = {std::string(enum_name(summary.kind)), models_text(summary),
                                      bound};
    if (result.robustness) {
      cells.push_back(grouped(result.robust));
      cells.push_back(percent(*result.robustness));
      cells.push_back(interval_text(*result.interval, true));
      cells.push_back(result.robustness_valid_only ? percent(*result.robustness_valid_only) : "-");
      cells.push_back(result.l2 ? rounded(result.l2->mean) : "-");
    } else {
      cells.insert(cells.end(), {"-", "undefined", "-", "undefined", "-"});
    }
    cells.emplace_back(evaluator_words(summary.kind));
    table.row(cells);
  }
  return table.text();
}

/// What the tables cannot say.
std::string remarks(const EvaluationResult& evaluation, const EvaluationRequest& request) {
  std::string text;
  for (const EvaluatorResult& result : evaluation.evaluators) {
    const EvaluatorSummary& summary = result.summary;
    if (!summary.is_defined()) {
      text += fmt::format(
          "{} is undefined: none of {} models that were tried has an objective of at most {}; "
          "the base model has {}\n",
          enum_name(summary.kind), grouped(summary.tried), rounded(*summary.bound, 6),
          rounded(request.base_objective, 6));
    }
    const bool is_copy =
        summary.kind == EvaluatorKind::retrain && summary.models == 1 && summary.tried == 1;
    if (is_copy) {
      text +=
          "retrain: a linear model has one optimum, so that retraining on the same rows gives the "
          "model itself\n";
    }
  }
  if (request.lof_neighbours_asked) {
    text += fmt::format(
        "the outlier factor is of {} neighbours, not of {}: there are too few rows to compare "
        "with\n",
        request.plausibility.lof_neighbours, *request.lof_neighbours_asked);
  }
  if (const std::vector<const MeasuredAnswer*> broken = violating(evaluation); !broken.empty()) {
    text += fmt::format(
        "{} of {} answers break the schema, and are judged all the same; first query {}: {}\n",
        grouped(broken.size()), grouped(evaluation.found), broken.front()->query_index,
        fmt::join(broken.front()->violations, "; "));
  }
  return text;
}

}  // namespace

Json to_json(const EvaluationResult& evaluation, const EvaluationRequest& request) {
  Json document = make_envelope("ellice.evaluation", newest_version);
  document["model_sha256"] = request.model_sha256;
  document["target_epsilon"] = {{"value", request.epsilon}, {"rule", request.epsilon_rule}};
  document["base_objective"] = request.base_objective;
  document["variant"] = std::string(enum_name(evaluation.variant));
  document["threshold"] = evaluation.threshold;
  document["seed"] = request.seed;
  document["options"] = fields_to_json(request.evaluators);
  document["options"].erase("variant");
  document["options"].update(fields_to_json(request.plausibility));
  document["options"].update(fields_to_json(request.intervals));
  if (request.lof_neighbours_asked)
    document["options"]["lof_neighbours_asked"] = *request.lof_neighbours_asked;
  document["options"]["rows"] = std::string(enum_name(request.explained));
  document["columns"] = request.columns;
  document["features"] = request.features;
  document["rows"] = evaluation.rows;
  document["found"] = evaluation.found;
  document["valid"] = evaluation.valid;
  document["violating"] = violating(evaluation).size();
  if (const std::optional<std::size_t> all = evaluation.survive_all())
    document["survive_all"] = *all;
  document["left_out"] = {{"accepted", request.accepted},
                          {"unreadable", request.unreadable},
                          {"further_plans", request.further_plans}};
  if (evaluation.preparation_seconds)
    document["preparation_seconds"] = *evaluation.preparation_seconds;
  document["metrics"] = Json::object();
  for (const MeasureResult& result : evaluation.measures) {
    const bool is_absent = result.measure == Measure::seconds && !result.summary;
    if (is_absent) continue;
    document["metrics"][std::string(enum_name(result.measure))] = summary_json(result.summary);
  }
  document["evaluators"] = Json::array();
  for (const EvaluatorResult& result : evaluation.evaluators) {
    document["evaluators"].push_back(evaluator_json(result));
  }
  document["results"] = Json::array();
  for (std::size_t i = 0; i < evaluation.rows; ++i) {
    document["results"].push_back(answer_json(evaluation, i));
  }
  return document;
}

Json to_json(const std::vector<Comparison>& comparisons) {
  Json list = Json::array();
  for (const Comparison& comparison : comparisons) {
    Json json = {{"name", comparison.name}, {"kind", comparison.measure ? "metric" : "robustness"}};
    json["difference"] = comparison.result ? summary_json(comparison.result->difference) : Json();
    if (comparison.result) {
      json["larger"] = comparison.result->positive;
      json["smaller"] = comparison.result->negative;
      json["sign_p"] = comparison.result->sign_p;
      json["permutation_p"] = comparison.result->permutation_p;
      json["exact"] = comparison.result->is_exact;
    }
    list.push_back(json);
  }
  return list;
}

std::string evaluation_text(const EvaluationResult& evaluation, const EvaluationRequest& request) {
  std::string text = fmt::format(
      "{} people explained, {} with an answer, {} of these accepted by "
      "the model",
      grouped(evaluation.rows), grouped(evaluation.found), grouped(evaluation.valid));
  if (request.accepted > 0)
    text += fmt::format("; {} accepted as they are, left out", grouped(request.accepted));
  if (request.unreadable > 0)
    text += fmt::format("; {} unreadable, left out", grouped(request.unreadable));
  if (request.further_plans > 0)
    text += fmt::format("; first plans only, {} more left out", grouped(request.further_plans));
  text += fmt::format(
      "\ntarget epsilon {}{} above the objective {} of the model; variant {}\n\n",
      rounded(request.epsilon),
      request.epsilon_rule == number_text(request.epsilon) ? "" : " (" + request.epsilon_rule + ")",
      rounded(request.base_objective), enum_name(evaluation.variant));
  text += measures_text(evaluation, request);
  if (!evaluation.evaluators.empty()) {
    text += "\n" + evaluators_text(evaluation, request.intervals.confidence);
    if (const std::optional<std::size_t> all = evaluation.survive_all())
      text += fmt::format("survive all: {} of {}\n", grouped(*all), grouped(evaluation.rows));
  }
  const std::string more = remarks(evaluation, request);
  if (!more.empty()) text += "\n" + more;
  return text;
}

std::string comparison_text(const std::vector<Comparison>& comparisons, double confidence) {
  using enum TextTable::Align;
  TextTable table({left, right, right, right, right, right, right, right});
  table.header({"difference", "rows", "mean",
                fmt::format("{} % interval", rounded(100 * confidence, 3)), "larger", "smaller",
                "p (signs)", "p (permuted)"});
  for (const Comparison& comparison : comparisons) {
    const std::string name = comparison.measure ? std::string(measure_words(*comparison.measure))
                                                : "robust: " + comparison.name;
    if (!comparison.result) {
      if (comparison.measure != Measure::seconds)
        table.row({name, "0", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const PairedDifference& result = *comparison.result;
    const bool is_share = !comparison.measure || *comparison.measure == Measure::validity;
    table.row({name, grouped(result.difference.count),
               is_share ? percent(result.difference.mean) : rounded(result.difference.mean, 3),
               interval_text(result.difference.interval, is_share), grouped(result.positive),
               grouped(result.negative), rounded(result.sign_p, 2),
               rounded(result.permutation_p, 2)});
  }
  return table.text();
}

}  // namespace ellice
