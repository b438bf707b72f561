#pragma once

#include <string>
#include <vector>

#include "audit/audit_constraints.hpp"
#include "audit/audit_request.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// What is wrong with the survival that an answer states (theory.md, Result 33 and Result 35), by
/// dense solves of our own from the moments that the model file holds, or its rows. What refits and
/// disturbed models showed is taken from the answer and held against the numbers that follow from
/// it; a selection effect that has a closed form is recomputed. `z` is the answer in model space.
[[nodiscard]] std::vector<std::string> survival_failures(const Model& model,
                                                         const AuditRequest& asked,
                                                         JsonObject& answer,
                                                         const audit::RowConstraints& constraints,
                                                         const Vector& z,
                                                         std::vector<std::string>& unverified);

}  // namespace ellice
