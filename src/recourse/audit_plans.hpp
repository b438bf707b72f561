#pragma once

#include <span>

#include "ellice/recourse/recourse_file.hpp"
#include "recourse/audit_request.hpp"

namespace ellice {

/// A later plan changes not all that an earlier one changes; in a trade-off it changes more for
/// less cost. `earlier` are the query's plans before this one.
void check_plan(const AuditRequest& asked, std::span<const AnswerAudit> earlier, AnswerAudit& plan);

}  // namespace ellice
