#include "audit/audit_request.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

/// The first acceptable class against all that are not; answers name their own.
Contest read_contest(JsonObject& options, const Model& model) {
  std::vector<Index> acceptable;
  for (const std::string& name : options.strings("target")) {
    const std::vector<std::string>& classes = model.decision.classes;
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) {
      options.wrong("target", "classes of the model; " + suggestion(name, classes));
    }
    acceptable.push_back(found - classes.begin());
  }
  if (acceptable.empty()) options.wrong("target", "at least one class");
  return make_contest(model, acceptable.front(), acceptable);
}

/// Whether the rule gives the ε, where it can be followed from the model alone.
void check_rule(const std::string& rule, const Model& model, AuditRequest& asked) {
  std::string_view number = rule;
  const bool is_target = number.starts_with("target:");
  if (is_target) number.remove_prefix(std::string_view("target:").size());
  for (const std::string_view other : {"survival:", "accuracy:"}) {
    if (!number.starts_with(other)) continue;
    number.remove_prefix(other.size());
    double share = 0;
    const bool is_share = number.ends_with('%') &&
                          parse_number(number.substr(0, number.size() - 1), share) && share >= 0 &&
                          share <= 100;
    if (!is_share) asked.faults.push_back(fmt::format("epsilon.rule \"{}\" is no rule", rule));
    return;  // what it gives rests on more than the model
  }
  if (rule == "auto") return;
  const bool is_share = !is_target && number.ends_with('%');
  if (is_share) number.remove_suffix(1);
  double value = 0;
  if (!parse_number(number, value) || !(value >= 0)) {
    asked.faults.push_back(fmt::format("epsilon.rule \"{}\" is no rule", rule));
    return;
  }
  if (is_share) value *= model.training.objective / 100;
  if (is_target) value += 0.01;  // the paper's allowance
  // Counted from what is deployed, which need not be at the minimum (theory.md, Result 56).
  if (model.deployed) value += model.deployed->excess;
  asked.rule_is_recomputed = true;
  if (std::abs(value - asked.epsilon) > 1e-12 * std::max(value, asked.epsilon)) {
    asked.faults.push_back(
        fmt::format("epsilon.value is {}, but the rule {} gives {}", asked.epsilon, rule, value));
  }
}

/// Whether the options of a method are those of the one that is named.
void check_method(const std::string& method, std::uint64_t seed, JsonObject& options,
                  AuditRequest& asked) {
  if (!options.has(method)) {
    // Only what finds optima states none where nothing special was asked of it.
    if (method != "exact")
      asked.faults.push_back(fmt::format("method is {}, but options hold none of its own", method));
    return;
  }
  JsonObject own = options.object(method);
  if (own.has("seed")) {
    asked.seed_is_repeated = true;
    if (own.seed("seed") != seed)
      asked.faults.push_back(
          fmt::format("seed is {}, but options.{} say {}", seed, method, own.seed("seed")));
  }
  // Two methods take steps of a third, and keep how.
  const bool takes_steps = method == "greedy" || method == "gumbel";
  if (takes_steps && options.has("gradient")) (void)options.at("gradient");
}

/// The other models of an ensemble in the order in which proofs count them.
std::vector<const Model*> ordered_members(JsonObject& options,
                                          const std::vector<const Model*>& given) {
  std::vector<const Model*> result;
  for (const std::string& sha256 : options.strings("ensemble")) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const Model* model) { return model->sha256 == sha256; });
    require(found != given.end(),
            "the answers are for an ensemble with the model {}: give that model, too", sha256);
    result.push_back(*found);
  }
  return result;
}

}  // namespace

AuditRequest read_audit_request(JsonObject& top, const Model& model,
                                const std::vector<const Model*>& members, const StoredRows* rows) {
  JsonObject epsilon = top.object("epsilon");
  AuditRequest asked{.epsilon = epsilon.number("value")};
  const std::string rule = epsilon.string("rule");
  epsilon.finish();
  if (asked.epsilon < 0) epsilon.wrong("value", "a number >= 0");
  check_rule(rule, model, asked);
  asked.set = {.kind = top.choice<SetKind>("set"), .members = members, .rows = rows};
  asked.cost.kind = top.choice<CostKind>("cost");
  const std::string method = top.string("method");
  const std::uint64_t seed = top.seed("seed");
  JsonObject options = top.object("options");
  asked.threshold = options.number("threshold");
  if (options.has("sparsity_weight"))
    asked.cost.sparsity_weight = options.number("sparsity_weight");
  check_method(method, seed, options, asked);
  if (options.has(method)) {
    JsonObject own = options.object(method);  // of which the rest is its own business
    if (own.has("max_changes")) asked.max_changes = own.integer("max_changes");
    asked.trade_off = own.has("trade_off") && own.boolean("trade_off");
    asked.fewest = asked.trade_off || (own.has("sparse") && own.boolean("sparse"));
    asked.counts_changes = asked.max_changes || asked.fewest;
    // Of training rows the plans are the nearest ones, whatever they change.
    asked.plans_differ = !asked.trade_off && method != "data";
  }
  if (options.has("declined")) (void)options.boolean("declined");  // of the people, not of answers
  if (options.has("damping")) asked.set.damping = options.number("damping");
  if (options.has("retrain")) {
    try {
      asked.retraining = parse_retraining(options.string("retrain"));
    } catch (const Error&) {
      options.wrong("retrain", "same or fresh:N with N >= 1");
    }
  }
  asked.set.members = asked.set.kind == SetKind::ensemble ? ordered_members(options, members)
                                                          : std::vector<const Model*>{};
  if (model.network.outputs() > 1) asked.set.contest = read_contest(options, model);
  validate(asked.set, model);
  asked.constraints = constraints_from_json(options);
  validate(asked.constraints, model.schema());
  if (options.has("used")) (void)options.object("used");  // limits that were not asked for
  options.finish();
  if (top.has("not_stated")) (void)top.at("not_stated");
  if (top.has("reasons")) asked.reference = reference_from_json(top.object("reasons"), model);
  return asked;
}

}  // namespace ellice
