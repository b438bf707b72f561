#pragma once

// A recourse file, audited piece by piece.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/audit_fields.hpp"
#include "audit/audit_hashes.hpp"
#include "audit/audit_request.hpp"
#include "audit/auditor.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// What the audit of a file may be held against beside its model; null where it is not there.
struct AuditSources {
  std::vector<const Model*> members = {};
  const StoredRows* rows = nullptr;
  const People* people = nullptr;
  const PeopleIds* ids = nullptr;
};

class RecourseAudit {
 public:
  /// `file` is the file, or one without records and without what stands behind them; `are_hashed`
  /// as audit::Hashes::are_in() says of the whole. File, model and sources must outlive this.
  /// Throws like audit_recourse_file().
  RecourseAudit(const Json& file, bool are_hashed, const Model& model, const std::string& source,
                AuditSources sources);
  ~RecourseAudit() = default;
  RecourseAudit(const RecourseAudit&) = delete;
  RecourseAudit& operator=(const RecourseAudit&) = delete;
  RecourseAudit(RecourseAudit&&) = delete;
  RecourseAudit& operator=(RecourseAudit&&) = delete;

  /// What was found of some records.
  struct Piece {
    std::vector<AnswerAudit> answers = {};
    std::string hashes = {};  // that they state
  };
  /// The answers to some people, all to each; `before` is the query of the answer before them. Many
  /// threads may ask at once.
  [[nodiscard]] Piece audit(std::span<const JsonObject> answers,
                            std::optional<std::size_t> before) const;
  /// Piece by piece, in the order of the file.
  void add(Piece piece);

  /// The records of the file, where it has them.
  [[nodiscard]] std::vector<JsonObject> records() { return top_.objects("results"); }
  /// When all were added; `end` is what stands behind the records where that is not in the file.
  [[nodiscard]] FileAudit finish(const Json* end = nullptr);

 private:
  const Model* model_;
  AuditSources sources_;
  JsonObject top_;
  AuditRequest asked_;
  std::optional<Model> wished_;
  Auditor auditor_;
  audit::Hashes hashes_;
  audit::Evidence evidence_;
  FileAudit found_ = {};
};

}  // namespace ellice
