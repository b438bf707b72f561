#pragma once

// How well each field of a recourse file is known after its audit.

#include <map>
#include <string>

#include "audit/audit_request.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

/// What there was besides the file to hold it against.
struct Evidence {
  bool rows = false;    // the training rows
  bool people = false;  // the table of those who asked
  bool hashes = false;  // the file has some, and they are right
};

/// Of the fields around the results.
[[nodiscard]] std::map<std::string, Standing> file_standings(const Json& file,
                                                             const AuditRequest& asked,
                                                             const Evidence& evidence);

/// Of one record, of which the audit found what `result` says.
[[nodiscard]] std::map<std::string, Standing> record_standings(const Json& record,
                                                               const AnswerAudit& result,
                                                               const Evidence& evidence);

}  // namespace ellice::audit
