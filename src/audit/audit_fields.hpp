#pragma once

// How well each field of a recourse file is known after its audit.

#include <map>
#include <string>

#include "audit/audit_request.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

/// Of the fields around the results; `has_rows` where the training rows were at hand.
[[nodiscard]] std::map<std::string, Standing> file_standings(const Json& file,
                                                             const AuditRequest& asked,
                                                             bool has_rows);

/// Of one record, of which the audit found what `result` says.
[[nodiscard]] std::map<std::string, Standing> record_standings(const Json& record,
                                                               const AnswerAudit& result);

}  // namespace ellice::audit
