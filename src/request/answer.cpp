#include "ellice/request/answer.hpp"

#include <algorithm>
#include <array>

#include "certificate/certificate_json.hpp"
#include "data/row_json.hpp"
#include "ellice/core/json.hpp"
#include "request/answer_json.hpp"
#include "request/enumeration.hpp"

namespace ellice {

namespace {

using Items = JsonOutput::Items;

void write(JsonOutput& out, const InfeasibilityProof& proof) {
  out.begin_object();
  out.put("upper_bound", proof.upper_bound);
  if (!proof.supposes.empty()) out.put("supposes", proof.supposes);
  if (!proof.models.empty()) {
    out.key("models");
    out.begin_array(Items::structures);
    for (const WeightedModel& model : proof.models) {
      out.begin_object();
      out.put("member", model.member);
      out.put("weight", model.weight);
      out.put("model", model.model);
      out.end_object();
    }
    out.end_array();
  } else if (proof.model.size() > 0) {
    out.put("model", proof.model);
  }
  if (!proof.rules.empty()) {
    out.key("rules");
    out.begin_array(Items::structures);
    for (const WeightedRule& rule : proof.rules) {
      out.begin_object();
      out.put("rule", rule.rule);
      out.put("multiplier", rule.multiplier);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

void put(JsonOutput& out, std::string_view name, const std::vector<InfeasibilityProof>& proofs) {
  out.key(name);
  out.begin_array(Items::structures);
  for (const InfeasibilityProof& proof : proofs) write(out, proof);
  out.end_array();
}

void put(JsonOutput& out, std::string_view name, const RawRow& row, const Schema& schema) {
  out.key(name);
  write_row(out, schema, row);
}

void write(JsonOutput& out, const EpsilonBounds& bounds, const Schema& schema) {
  out.begin_object();
  if (bounds.lower) {
    out.put("lower", *bounds.lower);
    put(out, "point", bounds.point, schema);
  }
  out.put("upper", bounds.upper);
  if (!bounds.proofs.empty()) put(out, "proofs", bounds.proofs);
  out.end_object();
}

void write(JsonOutput& out, const Infeasibility& why, const Schema& schema) {
  out.begin_object();
  if (is_by_enumeration(why)) {
    out.key("proof");
    out.begin_object();
    out.put("enumeration", true);
    out.end_object();
  } else if (why.cases.empty()) {
    out.key("proof");
    write(out, {.upper_bound = why.upper_bound,
                .model = why.model,
                .models = why.models,
                .rules = why.rules});
  } else {
    put(out, "proofs", why.cases);
  }
  out.put("max_epsilon", why.max_epsilon.lower.value_or(0));
  out.key("max_epsilon_bounds");
  write(out, why.max_epsilon, schema);
  out.put("blocking", why.blocking.constraints);
  out.put("blocking_is", why.blocking.is_proved ? "proved" : "likely");
  out.key("blocking_witnesses");
  const std::vector<RawRow>& witnesses = why.blocking.witnesses;
  const bool has_rows = std::any_of(witnesses.begin(), witnesses.end(),
                                    [](const RawRow& row) { return !row.empty(); });
  out.begin_array(has_rows ? Items::structures : Items::scalars);
  for (const RawRow& row : witnesses) {
    if (row.empty()) {
      out.null();
    } else {
      write_row(out, schema, row);
    }
  }
  out.end_array();
  if (!why.blocking.proofs.empty()) put(out, "blocking_proofs", why.blocking.proofs);
  if (!why.best.empty()) {
    out.key("best");
    out.begin_object();
    put(out, "point", why.best, schema);
    out.put("robust_logit", why.best_robust_logit);
    out.put("bound", why.best_bound);
    out.end_object();
  }
  out.end_object();
}

void put(JsonOutput& out, std::string_view name, const std::optional<Interval>& interval) {
  if (interval) out.put(name, std::array{interval->low, interval->high});
}

/// What an answer says of the row that was found.
void write_counterfactual(JsonOutput& out, const Answer& answer, const Schema& schema) {
  put(out, "counterfactual", *answer.counterfactual, schema);
  out.key("changes");
  out.begin_array(Items::structures);
  for (const Change& change : answer.changes) {
    out.begin_object();
    out.put("feature", change.feature);
    out.key("from");
    write_value(out, change.from);
    out.key("to");
    write_value(out, change.to);
    out.put_if("points", change.points);
    out.end_object();
  }
  out.end_array();
  out.key("distance");
  out.begin_object();
  out.put("l2", answer.distance.l2);
  out.put("l1", answer.distance.l1);
  out.put("weighted", answer.distance.weighted);
  out.put("changed", answer.distance.changed);
  out.end_object();
  out.put("logit", answer.logit);
  out.put("robust_logit", answer.robust_logit);
  out.put_if("robustness_radius", answer.robustness_radius);
  out.put_if("predicted_survival", answer.predicted_survival);
  out.put_if("selection_shift", answer.selection_shift);
  if (answer.refits) {
    out.key("refits");
    out.begin_object();
    out.put("shift", answer.refits->shift);
    out.put("scale", answer.refits->scale);
    out.end_object();
  }
  put(out, "survival_interval", answer.survival_interval);
  put(out, "survival_spread", answer.survival_spread);
}

void write(JsonOutput& out, const Score& score) {
  out.begin_object();
  out.put("now", score.now);
  out.put_if("after", score.after);
  out.put("needed", score.needed);
  if (score.is_upper) out.put("less_is_better", true);
  out.end_object();
}

void write(JsonOutput& out, const Attack& attack) {
  out.begin_object();
  out.put("broken", attack.broken);
  out.put("logit", attack.logit);
  out.put("excess_objective", attack.excess);
  out.put("direction", attack.direction);
  out.end_object();
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

void write_members(JsonOutput& out, const Answer& answer, const Schema& schema) {
  out.put("query_index", answer.query_index);
  out.put("plan", answer.plan);
  out.put("status", answer.status);
  out.put_if("id", answer.id);
  if (!answer.target.empty()) out.put("target", answer.target);
  if (!answer.query.empty()) put(out, "query", answer.query, schema);
  if (!answer.query_violations.empty()) out.put("query_violations", answer.query_violations);
  if (answer.reasons) {
    out.key("reasons");
    write_json(out, *answer.reasons);
  }
  if (!answer.held.empty()) out.put("held", answer.held);
  if (answer.score) {
    out.key("score");
    write(out, *answer.score);
  }
  if (answer.counterfactual) write_counterfactual(out, answer, schema);
  out.put_if("gap", answer.gap);
  out.put_if("attained_epsilon", answer.attained_epsilon);
  if (answer.infeasible) {
    out.key("infeasible");
    write(out, *answer.infeasible, schema);
  }
  if (!answer.message.empty()) out.put("message", answer.message);
  if (!answer.reason.empty()) out.put("reason", answer.reason);
  if (answer.certificate) {
    out.key("certificate");
    write_json(out, *answer.certificate, schema);
  }
  if (answer.attack) {
    out.key("attack");
    write(out, *answer.attack);
  }
  out.put_if("seconds", answer.seconds);
}

Json to_json(const Answer& recourse, const Schema& schema) {
  JsonTree tree;
  tree.begin_object();
  write_members(tree, recourse, schema);
  tree.end_object();
  return tree.take();
}

}  // namespace ellice
