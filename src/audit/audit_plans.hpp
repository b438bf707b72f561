#pragma once

#include <span>

#include "audit/audit_request.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice {

/// A later plan changes not all that an earlier one changes; in a trade-off it changes more for
/// less cost. `earlier` are the query's plans before this one; `record` is what the file says of
/// it, whose reason must be the sentence that belongs to the changes of these plans.
void check_plan(const AuditRequest& asked, std::span<const AnswerAudit> earlier, const Json& record,
                AnswerAudit& plan);

}  // namespace ellice
