#include "audit/audit_fields.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

using enum Standing;

struct Known {
  std::string_view name;
  Standing standing;
};

// What is asked is held against everything that the records say.
constexpr std::array<Known, 12> of_the_file = {{{"model_sha256", recomputed},
                                                {"epsilon.value", consistent},
                                                {"set", consistent},
                                                {"cost", consistent},
                                                {"method", consistent},
                                                {"options", consistent},
                                                {"not_stated", not_checked},
                                                {"explained", recomputed},
                                                {"epsilon.rule", not_checked},
                                                {"seed", not_checked},
                                                {"reasons", consistent},
                                                {"sha256", recomputed}}};

// Rows, ids and times are taken as they stand: nothing is claimed of them. Messages and what refits
// showed are held against the record's hash alone, and are not checked in files without.
constexpr std::array<Known, 39> of_a_record = {{{"query_index", consistent},
                                                {"plan", consistent},
                                                {"status", proved},
                                                {"id", not_checked},
                                                {"target", consistent},
                                                {"query", not_checked},
                                                {"query_violations", recomputed},
                                                {"reasons", recomputed},
                                                {"held", consistent},
                                                {"counterfactual", proved},
                                                {"changes", recomputed},
                                                {"score", recomputed},
                                                {"distance", recomputed},
                                                {"logit", recomputed},
                                                {"robust_logit", proved},
                                                {"robustness_radius", recomputed},
                                                {"predicted_survival", recomputed},
                                                {"selection_shift", recomputed},
                                                {"refits", not_checked},
                                                {"survival_interval", recomputed},
                                                {"survival_spread", recomputed},
                                                {"gap", proved},
                                                {"attained_epsilon", proved},
                                                {"infeasible.proof", proved},
                                                {"infeasible.proofs", proved},
                                                {"infeasible.max_epsilon", proved},
                                                {"infeasible.max_epsilon_bounds", proved},
                                                {"infeasible.blocking", proved},
                                                {"infeasible.blocking_is", proved},
                                                {"infeasible.blocking_witnesses", proved},
                                                {"infeasible.blocking_proofs", proved},
                                                {"infeasible.best", proved},
                                                {"certificate", proved},
                                                {"reason", recomputed},
                                                {"message", not_checked},
                                                {"seconds", not_checked},
                                                {"attack", consistent},
                                                {"optimality", proved},
                                                {"sha256", recomputed}}};

template <std::size_t N>
Standing find(const std::array<Known, N>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Known& known) { return known.name == name; });
  return found == all.end() ? not_checked : found->standing;
}

/// Whether the audit left open what a field says.
bool is_open(const AnswerAudit& result, std::string_view field) {
  return std::any_of(
      result.unverified.begin(), result.unverified.end(),
      [&](const std::string& text) { return field.starts_with(text.substr(0, text.find(':'))); });
}

/// What nothing else says anything about is at least as it was written.
void hold_against_hash(std::map<std::string, Standing>& fields) {
  for (auto& [name, standing] : fields) {
    if (standing == not_checked) standing = consistent;
  }
}

}  // namespace

std::map<std::string, Standing> file_standings(const Json& file, const AuditRequest& asked,
                                               const Evidence& evidence) {
  std::map<std::string, Standing> result;
  for (const auto& [key, value] : file.items()) {
    if (key == "format" || key == "version" || key == "results") continue;
    if (key == "epsilon") {
      result["epsilon.value"] = find(of_the_file, "epsilon.value");
      result["epsilon.rule"] = asked.rule_is_recomputed ? recomputed : not_checked;
    } else {
      result[key] = find(of_the_file, key);
    }
  }
  if (asked.seed_is_repeated) result["seed"] = consistent;
  if (asked.reference && evidence.rows) result["reasons"] = recomputed;
  if (evidence.hashes) hold_against_hash(result);
  return result;
}

std::map<std::string, Standing> record_standings(const Json& record, const AnswerAudit& audited,
                                                 const Evidence& evidence) {
  std::map<std::string, Standing> result;
  const bool is_certain = is_certified(audited.status) || audited.status == Status::infeasible;
  const auto note = [&](const std::string& name) {
    Standing standing = find(of_a_record, name);
    // Of a row that no certificate is about the numbers are recomputed, and nothing is proved.
    if (standing == proved && !is_certain)
      standing = name == "robust_logit" ? recomputed : not_checked;
    result[name] = standing;
  };
  for (const auto& [key, value] : record.items()) {
    if (key != "infeasible" || !value.is_object()) {
      note(key);
      continue;
    }
    for (const auto& [inner, unused] : value.items()) note("infeasible." + inner);
    const auto best = value.find("best");
    if (best != value.end() && !best->contains("bound")) result["infeasible.best"] = recomputed;
  }
  if (evidence.people) result["query"] = recomputed;
  if (evidence.rows && record.contains("attack")) result["attack"] = recomputed;
  if (evidence.hashes) hold_against_hash(result);
  for (auto& [name, standing] : result) {
    const std::string_view last = std::string_view(name).substr(name.find('.') + 1);
    if (is_open(audited, last)) standing = not_checked;
  }
  if (is_open(audited, "selection_shift")) {  // they follow from it
    for (const char* name : {"predicted_survival", "survival_spread"}) {
      if (result.contains(name) && result[name] != not_checked) result[name] = consistent;
    }
  }
  if (audited.status == Status::optimal && is_open(audited, "gap")) result["status"] = not_checked;
  if (audited.status == Status::infeasible && is_open(audited, "proof"))
    result["status"] = not_checked;
  return result;
}

}  // namespace ellice::audit
