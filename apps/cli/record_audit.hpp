#pragma once

// Certificates that stand alone, or in records without the run around them (JSON Lines, tables):
// what verify can say of those.

#include <cstddef>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice::cli {

/// Records one after the other, nothing after the last: a file of them is never held whole.
using NextRecord = std::function<std::optional<Json>()>;

/// The rows of a table that `explain --certificates` wrote, as the records that it would have been.
/// Throws Error{input} naming the line, or the column that is missing.
[[nodiscard]] NextRecord records_of_table(const std::string& path, const Model& model);

/// A file that holds a record on each line, or one document.
class RecordFile {
 public:
  /// "-" is standard input. Throws like read_file().
  explicit RecordFile(const std::string& path);
  [[nodiscard]] bool has_lines() const { return has_lines_; }
  /// The records of lines that are not empty; must not outlive the file. Throws Error{input} naming
  /// a line that is no JSON.
  [[nodiscard]] NextRecord records();
  /// The whole text of a document.
  [[nodiscard]] std::string text();

 private:
  std::string path_;
  std::ifstream file_;
  std::istream* stream_;
  std::string head_;  // up to the end of the first line that is not empty
  std::size_t line_ = 0;
  bool has_lines_ = false;
};

/// Of each record its certificate, and that it speaks of the record's row; nothing else is said to
/// hold. `verifier` is who checks a record.
[[nodiscard]] FileAudit audit_records(const NextRecord& next, const Model& model,
                                      const std::function<const Verifier&(const Json&)>& verifier,
                                      const std::string& source);

}  // namespace ellice::cli
