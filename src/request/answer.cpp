#include "ellice/request/answer.hpp"

#include "data/value_json.hpp"
#include "ellice/core/json.hpp"
#include "request/enumeration.hpp"

namespace ellice {

namespace {

Json proof_to_json(const InfeasibilityProof& proof) {
  Json result = {{"upper_bound", proof.upper_bound}};
  if (!proof.supposes.empty()) result["supposes"] = proof.supposes;
  if (!proof.models.empty()) {
    result["models"] = Json::array();
    for (const WeightedModel& model : proof.models) {
      result["models"].push_back({{"member", model.member},
                                  {"weight", model.weight},
                                  {"model", to_json_array(model.model)}});
    }
  } else if (proof.model.size() > 0) {
    result["model"] = to_json_array(proof.model);
  }
  if (!proof.rules.empty()) {
    result["rules"] = Json::array();
    for (const WeightedRule& rule : proof.rules) {
      result["rules"].push_back({{"rule", rule.rule}, {"multiplier", rule.multiplier}});
    }
  }
  return result;
}

Json proofs_to_json(const std::vector<InfeasibilityProof>& proofs) {
  Json result = Json::array();
  for (const InfeasibilityProof& proof : proofs) result.push_back(proof_to_json(proof));
  return result;
}

Json to_json(const EpsilonBounds& bounds, const Schema& schema) {
  Json result = Json::object();
  if (bounds.lower) {
    result["lower"] = *bounds.lower;
    result["point"] = row_to_json(schema, bounds.point);
  }
  result["upper"] = bounds.upper;
  if (!bounds.proofs.empty()) result["proofs"] = proofs_to_json(bounds.proofs);
  return result;
}

Json to_json(const Infeasibility& why, const Schema& schema) {
  Json result = Json::object();
  if (is_by_enumeration(why)) {
    result["proof"] = {{"enumeration", true}};
  } else if (why.cases.empty()) {
    result["proof"] = proof_to_json({.upper_bound = why.upper_bound,
                                     .model = why.model,
                                     .models = why.models,
                                     .rules = why.rules});
  } else {
    result["proofs"] = proofs_to_json(why.cases);
  }
  result["max_epsilon"] = why.max_epsilon.lower.value_or(0);
  result["max_epsilon_bounds"] = to_json(why.max_epsilon, schema);
  result["blocking"] = why.blocking.constraints;
  result["blocking_is"] = why.blocking.is_proved ? "proved" : "likely";
  result["blocking_witnesses"] = Json::array();
  for (const RawRow& row : why.blocking.witnesses) {
    result["blocking_witnesses"].push_back(row.empty() ? Json() : row_to_json(schema, row));
  }
  if (!why.blocking.proofs.empty()) result["blocking_proofs"] = proofs_to_json(why.blocking.proofs);
  if (!why.best.empty()) {
    result["best"] = {{"point", row_to_json(schema, why.best)},
                      {"robust_logit", why.best_robust_logit},
                      {"bound", why.best_bound}};
  }
  return result;
}

Json to_json(const Interval& interval) {
  return Json::array({interval.low, interval.high});
}

}  // namespace

void state_survival(Answer& answer, const std::optional<Survival>& survival) {
  const Survival stated = survival.value_or(Survival{});
  answer.predicted_survival = survival ? std::optional(stated.mean) : std::nullopt;
  answer.selection_shift = stated.shift;
  answer.refits = stated.refits;
  answer.survival_interval = stated.interval;
  answer.survival_spread = stated.spread;
}

bool is_certified(Status status) {
  return status == Status::optimal || status == Status::certified ||
         status == Status::already_robust || status == Status::reduced;
}

Json to_json(const Answer& recourse, const Schema& schema) {
  Json result = Json::object();
  result["query_index"] = recourse.query_index;
  result["plan"] = recourse.plan;
  result["status"] = std::string(enum_name(recourse.status));
  if (recourse.id) result["id"] = *recourse.id;
  if (!recourse.target.empty()) result["target"] = recourse.target;
  if (!recourse.query.empty()) result["query"] = row_to_json(schema, recourse.query);
  if (!recourse.query_violations.empty()) result["query_violations"] = recourse.query_violations;
  if (recourse.reasons) result["reasons"] = to_json(*recourse.reasons);
  if (!recourse.held.empty()) result["held"] = recourse.held;
  if (recourse.counterfactual) {
    result["counterfactual"] = row_to_json(schema, *recourse.counterfactual);
    result["changes"] = Json::array();
    for (const Change& change : recourse.changes) {
      result["changes"].push_back({{"feature", change.feature},
                                   {"from", value_to_json(change.from)},
                                   {"to", value_to_json(change.to)}});
    }
    result["distance"] = {{"l2", recourse.distance.l2},
                          {"l1", recourse.distance.l1},
                          {"weighted", recourse.distance.weighted},
                          {"changed", recourse.distance.changed}};
    result["logit"] = recourse.logit;
    result["robust_logit"] = recourse.robust_logit;
    if (recourse.robustness_radius) result["robustness_radius"] = *recourse.robustness_radius;
    if (recourse.predicted_survival) result["predicted_survival"] = *recourse.predicted_survival;
    if (recourse.selection_shift) result["selection_shift"] = *recourse.selection_shift;
    if (recourse.refits)
      result["refits"] = {{"shift", recourse.refits->shift}, {"scale", recourse.refits->scale}};
    if (recourse.survival_interval)
      result["survival_interval"] = to_json(*recourse.survival_interval);
    if (recourse.survival_spread) result["survival_spread"] = to_json(*recourse.survival_spread);
  }
  if (recourse.gap) result["gap"] = *recourse.gap;
  if (recourse.attained_epsilon) result["attained_epsilon"] = *recourse.attained_epsilon;
  if (recourse.infeasible) result["infeasible"] = to_json(*recourse.infeasible, schema);
  if (!recourse.message.empty()) result["message"] = recourse.message;
  if (!recourse.reason.empty()) result["reason"] = recourse.reason;
  if (recourse.certificate) result["certificate"] = to_json(*recourse.certificate, schema);
  if (recourse.attack) {
    result["attack"] = {{"broken", recourse.attack->broken},
                        {"logit", recourse.attack->logit},
                        {"excess_objective", recourse.attack->excess},
                        {"direction", std::string(enum_name(recourse.attack->direction))}};
  }
  if (recourse.seconds) result["seconds"] = *recourse.seconds;
  return result;
}

}  // namespace ellice
