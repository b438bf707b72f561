#pragma once

#include <span>

#include "audit/audit_request.hpp"
#include "ellice/audit/audit.hpp"

namespace ellice {

/// A later plan changes not all that an earlier one changes; in a trade-off it changes more for
/// less cost. `earlier` are the query's plans before this one.
void check_plan(const AuditRequest& asked, std::span<const AnswerAudit> earlier, AnswerAudit& plan);

}  // namespace ellice
