#pragma once

#include <string>
#include <vector>

#include "audit/audit_request.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// What an answer says was found against it: that its numbers go together, and, where the training
/// rows are at hand, that the attack finds the same again. `rows` may be null.
void check_attack(JsonObject stated, const Model& model, const AuditRequest& asked,
                  const Certificate& certificate, const StoredRows* rows,
                  std::vector<std::string>& failures);

}  // namespace ellice
