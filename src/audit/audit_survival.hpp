#pragma once

#include <functional>
#include <string>
#include <vector>

#include "audit/audit_constraints.hpp"
#include "audit/audit_request.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// What the survival of every row needs of the model's curvature.
struct SurvivalCurvature {
  explicit SurvivalCurvature(const Model& model);
  Matrix inverse = {};
  double lost_by_solve = 0;  // what solving with H in double precision may lose, relatively
};
using AskCurvature = std::function<const SurvivalCurvature&()>;

/// What is wrong with the survival that an answer states (theory.md, Result 33 and Result 35), by
/// dense solves of our own from the moments that the model file holds, or its rows. What refits and
/// disturbed models showed is taken from the answer and held against the numbers that follow from
/// it; a selection effect that has a closed form is recomputed. `z` is the answer in model space;
/// the curvature is asked for where it is needed.
[[nodiscard]] std::vector<std::string> survival_failures(
    const Model& model, const AuditRequest& asked, JsonObject& answer,
    const audit::RowConstraints& constraints, const Vector& z, const AskCurvature& curvature,
    std::vector<std::string>& unverified);

}  // namespace ellice
