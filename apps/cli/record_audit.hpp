#pragma once

// Certificates that stand alone, or in records without the run around them (JSON Lines, tables):
// what verify can say of those.

#include <string>
#include <vector>

#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice::cli {

[[nodiscard]] AnswerAudit audit_certificate(const Json& document, const Model& model,
                                            const Verifier& verifier, const std::string& source);

/// The rows of a table that `explain --certificates` wrote, as the records that it would have been.
/// Throws Error{input} naming the line, or the column that is missing.
[[nodiscard]] std::vector<Json> records_of_table(const std::string& path, const Model& model);

/// Of each record its certificate, and that it speaks of the record's row; nothing else is said to
/// hold.
[[nodiscard]] FileAudit audit_records(const std::vector<Json>& records, const Model& model,
                                      const std::vector<const Model*>& ensemble,
                                      const StoredRows* rows, const std::string& source);

}  // namespace ellice::cli
