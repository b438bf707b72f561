#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/request/constraints.hpp"
#include "ellice/request/cost.hpp"
#include "ellice/request/reasons.hpp"
#include "ellice/sets/retraining.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// What the file says was asked.
struct AuditRequest {
  double epsilon = 0;
  double threshold = 0;
  SetChoice set = {};
  Cost cost = {};
  Constraints constraints = {};
  std::optional<std::int64_t> max_changes = {};
  bool counts_changes = false;  // limited or made few
  bool trade_off = false;       // plans are answers with more and more changes
  bool fewest = false;          // the fewest changes come first
  bool plans_differ = false;    // no plan changes all that an earlier one changes
  Retraining retraining = {};
  std::optional<ReasonReference> reference = {};  // of reasons
  bool rule_is_recomputed = false;                // epsilon.rule gives the ε, from the model alone
  bool seed_is_repeated = false;                  // among the options of the method
  std::vector<std::string> faults = {};           // what does not go together
};

/// Reads it from a recourse file whose format and model are checked already; `members` and `rows`
/// are what the sets ensemble and true need besides the model. Throws Error{input} naming the key.
[[nodiscard]] AuditRequest read_audit_request(JsonObject& top, const Model& model,
                                              const std::vector<const Model*>& members,
                                              const StoredRows* rows);

}  // namespace ellice
