#include "audit/audit_request.hpp"

#include <algorithm>
#include <string_view>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

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

}  // namespace

AuditRequest read_audit_request(JsonObject& top, const Model& model,
                                const std::vector<const Model*>& members, const StoredRows* rows) {
  JsonObject epsilon = top.object("epsilon");
  AuditRequest asked{.epsilon = epsilon.number("value")};
  (void)epsilon.string("rule");
  epsilon.finish();
  if (asked.epsilon < 0) epsilon.wrong("value", "a number >= 0");
  asked.set = {.kind = top.choice<SetKind>("set"), .members = members, .rows = rows};
  asked.cost.kind = top.choice<CostKind>("cost");
  (void)top.string("method");
  (void)top.seed("seed");
  JsonObject options = top.object("options");  // those of the method are its own business
  asked.threshold = options.number("threshold");
  if (options.has("sparsity_weight"))
    asked.cost.sparsity_weight = options.number("sparsity_weight");
  for (const char* method : {"exact", "network", "data"}) {
    if (!options.has(method)) continue;
    JsonObject own = options.object(method);
    if (own.has("max_changes")) asked.max_changes = own.integer("max_changes");
    asked.trade_off = own.has("trade_off") && own.boolean("trade_off");
    asked.counts_changes =
        asked.max_changes || asked.trade_off || (own.has("sparse") && own.boolean("sparse"));
    // Of training rows the plans are the nearest ones, whatever they change.
    asked.plans_differ = !asked.trade_off && std::string_view(method) != "data";
  }
  if (options.has("damping")) asked.set.damping = options.number("damping");
  if (options.has("retrain")) {
    try {
      asked.retraining = parse_retraining(options.string("retrain"));
    } catch (const Error&) {
      options.wrong("retrain", "same or fresh:N with N >= 1");
    }
  }
  if (asked.set.kind != SetKind::ensemble) asked.set.members.clear();
  if (model.network.outputs() > 1) asked.set.contest = read_contest(options, model);
  validate(asked.set, model);
  asked.constraints = constraints_from_json(options);
  validate(asked.constraints, model.schema());
  if (top.has("not_stated")) (void)top.at("not_stated");
  if (top.has("reasons")) asked.reference = reference_from_json(top.object("reasons"), model);
  return asked;
}

}  // namespace ellice
