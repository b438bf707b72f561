#include "study/cell.hpp"

#include <algorithm>

#include "core/as_input.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

std::optional<StudyRun::Average> average_of(const EvaluationResult& evaluation, Measure measure) {
  for (const MeasureResult& result : evaluation.measures) {
    if (result.measure == measure && result.summary)
      return StudyRun::Average{.mean = result.summary->mean, .median = result.summary->median};
  }
  return std::nullopt;
}

SetName name_of(const EvaluatorSummary& summary, const std::vector<double>& targets) {
  SetName name{.kind = summary.kind};
  if (summary.epsilon) {
    const auto at = std::find(targets.begin(), targets.end(), *summary.epsilon);
    require(at != targets.end(), "the evaluator's epsilon {} is none of the targets",
            *summary.epsilon);
    name.target = static_cast<std::size_t>(at - targets.begin());
  }
  return name;
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

std::optional<double> optional_number(JsonObject& object, std::string_view key) {
  if (object.at(key).is_null()) return std::nullopt;
  return object.number(key);
}

Json set_json(const SetName& set) {
  Json json = {{"evaluator", std::string(enum_name(set.kind))}};
  if (set.target) json["target"] = *set.target;
  return json;
}

SetName set_from(JsonObject& object) {
  SetName set{.kind = object.choice<EvaluatorKind>("evaluator")};
  if (object.has("target")) set.target = static_cast<std::size_t>(object.integer("target"));
  return set;
}

Json average_json(const std::optional<StudyRun::Average>& average) {
  return average ? Json{average->mean, average->median} : Json();
}

std::optional<StudyRun::Average> average_from(JsonObject& object, std::string_view key) {
  if (object.at(key).is_null()) return std::nullopt;
  const Vector pair = object.vector(key, 2);
  return StudyRun::Average{.mean = pair(0), .median = pair(1)};
}

Json run_json(const StudyRun& run) {
  Json json = {{"value", run.value},
               {"preparation", run.preparation},
               {"seconds", run.seconds},
               {"rows", run.rows},
               {"found", run.found},
               {"valid", run.valid},
               {"l2", average_json(run.l2)},
               {"l1", average_json(run.l1)},
               {"changed", average_json(run.changed)},
               {"lof", average_json(run.lof)}};
  json["scores"] = Json::array();
  for (const StudyRun::Score& score : run.scores) {
    Json one = set_json(score.set);
    one["models"] = score.models;
    one["robustness"] = optional_json(score.robustness);
    one["valid_only"] = optional_json(score.valid_only);
    one["robust_l2"] = optional_json(score.robust_l2);
    json["scores"].push_back(std::move(one));
  }
  return json;
}

std::size_t count(JsonObject& object, std::string_view key) {
  const std::int64_t value = object.integer(key);
  if (value < 0) object.wrong(key, "a number of things, from 0");
  return static_cast<std::size_t>(value);
}

StudyRun run_from(JsonObject& object) {
  StudyRun run{.value = object.string("value"),
               .preparation = object.number("preparation"),
               .seconds = object.number("seconds"),
               .rows = count(object, "rows"),
               .found = count(object, "found"),
               .valid = count(object, "valid"),
               .l2 = average_from(object, "l2"),
               .l1 = average_from(object, "l1"),
               .changed = average_from(object, "changed"),
               .lof = average_from(object, "lof")};
  for (JsonObject& score : object.objects("scores")) {
    run.scores.push_back({.set = set_from(score),
                          .models = count(score, "models"),
                          .robustness = optional_number(score, "robustness"),
                          .valid_only = optional_number(score, "valid_only"),
                          .robust_l2 = optional_number(score, "robust_l2")});
    score.finish();
  }
  return run;
}

}  // namespace

std::string CellName::text() const {
  return fmt::format("{}/{}/{}/{}/{}", enum_name(mode), dataset, enum_name(model), fold, method);
}

double StudyRun::validity() const {
  return rows == 0 ? 0 : static_cast<double>(valid) / static_cast<double>(rows);
}

const StudyRun::Score* StudyRun::find(const SetName& set) const {
  for (const Score& score : scores) {
    if (score.set == set) return &score;
  }
  return nullptr;
}

const StudyTest* StudyCell::chosen(const SetName& set) const {
  for (const StudyTest& test : tests) {
    if (std::find(test.chosen_for.begin(), test.chosen_for.end(), set) != test.chosen_for.end())
      return &test;
  }
  return nullptr;
}

StudyRun summarise_run(const EvaluationResult& evaluation, const std::vector<double>& targets) {
  StudyRun run{.preparation = evaluation.preparation_seconds.value_or(0),
               .rows = evaluation.rows,
               .found = evaluation.found,
               .valid = evaluation.valid,
               .l2 = average_of(evaluation, Measure::l2),
               .l1 = average_of(evaluation, Measure::l1),
               .changed = average_of(evaluation, Measure::changed),
               .lof = average_of(evaluation, Measure::lof)};
  for (const EvaluatorResult& result : evaluation.evaluators) {
    StudyRun::Score score{.set = name_of(result.summary, targets),
                          .models = result.summary.models,
                          .robustness = result.robustness,
                          .valid_only = result.robustness_valid_only};
    if (result.l2) score.robust_l2 = result.l2->mean;
    run.scores.push_back(score);
  }
  return run;
}

StudyTest summarise_test(const EvaluationResult& evaluation, const std::vector<double>& targets) {
  StudyTest test{.run = summarise_run(evaluation, targets)};
  for (const EvaluatedAnswer& answer : evaluation.answers) {
    const MeasuredAnswer& measured = answer.measured;
    test.l2.push_back(measured.is_valid ? std::optional(measured.l2) : std::nullopt);
  }
  for (std::size_t e = 0; e < evaluation.evaluators.size(); ++e) {
    std::string flags;
    for (std::size_t i = 0; i < evaluation.answers.size(); ++i)
      flags += evaluation.is_robust(i, e).value_or(false) ? '1' : '0';
    test.robust.push_back(std::move(flags));
  }
  return test;
}

Json to_json(const StudyCell& cell) {
  Json json = {{"mode", std::string(enum_name(cell.name.mode))},
               {"dataset", cell.name.dataset},
               {"model", std::string(enum_name(cell.name.model))},
               {"fold", cell.name.fold},
               {"method", cell.name.method},
               {"fitted_rows", cell.fitted_rows},
               {"columns", cell.columns},
               {"targets", cell.targets}};
  if (!cell.failure.empty()) json["failure"] = cell.failure;
  if (!cell.people.empty()) json["people"] = cell.people;
  if (!cell.commit.empty()) json["commit"] = cell.commit;
  json["walk"] = Json::array();
  for (const StudyRun& run : cell.walk) json["walk"].push_back(run_json(run));
  json["tests"] = Json::array();
  for (const StudyTest& test : cell.tests) {
    Json one = {{"run", run_json(test.run)}};
    one["chosen_for"] = Json::array();
    for (const SetName& set : test.chosen_for) one["chosen_for"].push_back(set_json(set));
    one["l2"] = Json::array();
    for (const std::optional<double>& l2 : test.l2) one["l2"].push_back(optional_json(l2));
    one["robust"] = test.robust;
    json["tests"].push_back(std::move(one));
  }
  return json;
}

namespace {

StudyCell read_cell(const Json& json, const std::string& source) {
  JsonObject object(json, source);
  StudyCell cell;
  cell.name = {.mode = object.choice<StudyMode>("mode"),
               .dataset = object.string("dataset"),
               .model = object.choice<StudyModel>("model"),
               .fold = object.whole_number("fold", at_least(0)),
               .method = object.string("method")};
  cell.fitted_rows = count(object, "fitted_rows");
  cell.columns = count(object, "columns");
  const Vector targets = object.vector("targets");
  cell.targets.assign(targets.begin(), targets.end());
  if (object.has("failure")) cell.failure = object.string("failure");
  if (object.has("people")) cell.people = object.string("people");
  if (object.has("commit")) cell.commit = object.string("commit");
  for (JsonObject& run : object.objects("walk")) {
    cell.walk.push_back(run_from(run));
    run.finish();
  }
  for (JsonObject& one : object.objects("tests")) {
    JsonObject run = one.object("run");
    StudyTest test{.run = run_from(run)};
    run.finish();
    for (JsonObject& set : one.objects("chosen_for")) {
      test.chosen_for.push_back(set_from(set));
      set.finish();
    }
    for (const Json& l2 : one.at("l2")) {
      if (!l2.is_null() && !l2.is_number()) one.wrong("l2", "numbers, null where there is none");
      test.l2.push_back(l2.is_null() ? std::nullopt : std::optional(l2.get<double>()));
    }
    test.robust = one.strings("robust");
    const bool fits = test.robust.size() == test.run.scores.size() &&
                      std::all_of(test.robust.begin(), test.robust.end(), [&](const auto& flags) {
                        return flags.size() == test.l2.size();
                      });
    if (!fits) one.wrong("robust", "for each score one sign for each entry of l2");
    one.finish();
    cell.tests.push_back(std::move(test));
  }
  object.finish();
  return cell;
}

}  // namespace

StudyCell cell_from_json(const Json& json, const std::string& source) {
  return as_input(source, [&] { return read_cell(json, source); });
}

}  // namespace ellice
