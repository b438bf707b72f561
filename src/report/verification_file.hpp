#pragma once

// What a look at a file of answers, or at one certificate, found: the same for every shell.

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// Whether a document, a certificate or a record says that it is about the true set.
[[nodiscard]] bool is_about_true_set(const Json& document);

/// A certificate that stands alone.
[[nodiscard]] AnswerAudit audit_certificate(const Json& document, const Model& model,
                                            const Verifier& verifier, const std::string& source);

/// A document that holds one certificate, or the answers of a whole run. `rows`, `people` and
/// their `ids` may be null. Throws like audit_recourse_file(), and for people beside a certificate.
[[nodiscard]] FileAudit audit_document(const Json& document, const Model& model,
                                       const std::vector<const Model*>& ensemble,
                                       const StoredRows* rows, const People* people,
                                       const std::string& source, const PeopleIds* ids = nullptr);

/// Whether the answer says something about the models of the set, and that was looked at.
[[nodiscard]] bool is_confirmed(const AnswerAudit& one);

/// For how many records each field stands how, fields in the order of their names.
[[nodiscard]] std::map<std::string, std::array<std::size_t, 4>> counted_fields(
    const FileAudit& all);

/// {"format": "ellice.verification", …}.
[[nodiscard]] Json verification_document(const Model& model, const FileAudit& all);

}  // namespace ellice
