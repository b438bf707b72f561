#include "explain/epsilon_findings.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "radius/selection_effect.hpp"
#include "radius/survival_notes.hpp"

namespace ellice {

namespace {

void check_question(const OwnedProblem& owned, const EpsilonQuestion& question) {
  validate(question.measuring, "options");
  for (const double survival : question.survival) {
    require(survival > 0 && survival < 1,
            "`survival`: found {}, expected probabilities above 0 and below 1, e.g. 0.95,0.99",
            survival);
  }
  require_one_logit(owned.model(), "epsilon");
  if (question.check) owned.require_rows("`check`", RowsOf::model);
  if (owned.rows() != nullptr) owned.require_rows("epsilon", RowsOf::model);
}

/// The ε of each survival, where that is predicted.
void add_wanted(EpsilonFindings& findings, const OwnedProblem& owned,
                const EpsilonQuestion& question, const Execution& execution) {
  const Problem& problem = owned.problem();
  const Model& model = owned.model();
  if (problem.retraining.fresh_rows && owned.rows() == nullptr) {
    findings.notes.push_back(fmt::format(
        "no survival is stated for {} fresh rows: answers follow the errors of their model, by how "
        "much is seen on people among the training rows; give `rows`",
        *problem.retraining.fresh_rows));
    return;
  }
  if (model.network.layers.size() > 1 || !no_survival_reason(model, problem.set).empty()) return;
  for (const double survival : question.survival) {
    const EpsilonRule rule = parse_epsilon_rule(fmt::format("survival:{}%", 100 * survival));
    try {
      findings.wanted.push_back({.survival = survival, .epsilon = owned.resolve(rule, execution)});
    } catch (const Error& error) {
      // The others are still worth a table.
      const bool is_last = survival == question.survival.back();
      if (error.code() != ErrorCode::input || (is_last && findings.wanted.empty())) throw;
      findings.notes.emplace_back(error.what());
    }
  }
}

/// What calibration recommends, else the first survival that is at least 95 %, else the last.
void suggest(EpsilonFindings& findings, const Problem& problem) {
  const Model& model = *problem.model;
  if (has_recommendation(model, problem.set)) {
    findings.suggested = parse_epsilon_rule("auto").resolve(model, problem.set);
    findings.reason = "recommended in the model file";
    return;
  }
  if (findings.wanted.empty()) return;
  const auto enough =
      std::find_if(findings.wanted.begin(), findings.wanted.end(),
                   [](const SurvivalEpsilon& wanted) { return wanted.survival >= 0.95; });
  const SurvivalEpsilon& chosen =
      enough != findings.wanted.end() ? *enough : findings.wanted.back();
  findings.suggested = chosen.epsilon;
  findings.reason = fmt::format("survival {:.1f} %", 100 * chosen.survival);
}

Json check_json(const std::vector<SurvivalLevel>& levels) {
  Json list = Json::array();
  for (const SurvivalLevel& level : levels) {
    Json json = {{"wanted", level.wanted},     {"epsilon", level.epsilon},
                 {"trials", level.trials},     {"predicted", level.predicted},
                 {"measured", level.measured}, {"standard_error", level.standard_error}};
    if (level.corrected) json["corrected"] = *level.corrected;
    if (level.interval) json["interval"] = {level.interval->low, level.interval->high};
    list.push_back(json);
  }
  return list;
}

Json level_json(const EpsilonLevel& level) {
  Json json = {{"epsilon", level.epsilon}, {"objective", level.objective}};
  if (level.survival) json["survival"] = *level.survival;
  if (level.interval) json["interval"] = {level.interval->low, level.interval->high};
  if (level.accuracy) {
    json["accuracy"] = {{"base", level.accuracy->base},
                        {"mean", level.accuracy->mean},
                        {"worst", level.accuracy->worst}};
  }
  if (level.share_with_recourse) json["share_with_recourse"] = *level.share_with_recourse;
  if (level.median_distance) json["median_distance"] = *level.median_distance;
  return json;
}

}  // namespace

EpsilonFindings find_epsilons(const OwnedProblem& owned, const EpsilonQuestion& question,
                              const Execution& execution) {
  check_question(owned, question);
  std::vector<EpsilonRule> rules;
  for (const std::string& text : question.epsilons) rules.push_back(parse_epsilon_rule(text));
  EpsilonFindings findings;
  std::vector<double> epsilons = owned.resolve(rules, execution);
  add_wanted(findings, owned, question, execution);
  for (const SurvivalEpsilon& wanted : findings.wanted) epsilons.push_back(wanted.epsilon);
  std::sort(epsilons.begin(), epsilons.end());
  epsilons.erase(std::unique(epsilons.begin(), epsilons.end()), epsilons.end());
  require(!epsilons.empty(), "`epsilons`: give at least one");
  const std::optional<FittedRows> fitted =
      owned.rows() != nullptr ? std::optional(owned.fitted()) : std::nullopt;
  findings.table =
      epsilon_table(owned.problem(), fitted, epsilons, question.measuring.people, execution);
  suggest(findings, owned.problem());
  if (question.check) {
    findings.check = check_survival(owned.problem(), *fitted, question.survival, question.measuring,
                                    Random(owned.request().seed), execution);
  }
  for (std::string& note : survival_notes(owned.problem()))
    findings.notes.push_back(std::move(note));
  if (owned.model().network.layers.size() > 1) {
    findings.notes.emplace_back(
        "no survival is predicted for a network: retraining moves its hidden layers as well; "
        "`ellice calibrate` measures it");
  }
  return findings;
}

Json to_json(const EpsilonFindings& findings, const EpsilonQuestion& question,
             const OwnedProblem& owned) {
  const Problem& problem = owned.problem();
  Json document = make_envelope("ellice.epsilon", 1);
  document["model_sha256"] = problem.model->sha256;
  document["set"] = std::string(enum_name(problem.set.kind));
  document["retrain"] = problem.retraining.text();
  document["options"] = to_json(problem.constraints);
  document["options"]["threshold"] = problem.threshold;
  document["seed"] = owned.request().seed;
  document["rows"] = problem.model->training.rows;
  document["people"] = findings.table.people;
  if (findings.table.epsilon_max) document["epsilon_max"] = *findings.table.epsilon_max;
  if (findings.suggested)
    document["suggested"] = {{"epsilon", *findings.suggested}, {"reason", findings.reason}};
  document["survival"] = Json::array();
  for (const SurvivalEpsilon& wanted : findings.wanted)
    document["survival"].push_back({{"survival", wanted.survival}, {"epsilon", wanted.epsilon}});
  document["levels"] = Json::array();
  for (const EpsilonLevel& level : findings.table.levels)
    document["levels"].push_back(level_json(level));
  if (findings.check) {
    document["check"] = {{"options", fields_to_json(question.measuring)},
                         {"same", check_json(findings.check->same)},
                         {"fresh", check_json(findings.check->fresh)}};
  }
  return document;
}

}  // namespace ellice
