#pragma once

// Certificates that stand alone, or in records without the run around them (JSON Lines, tables):
// what verify can say of those.

#include <cstddef>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"

namespace ellice::cli {

/// Records on their way: taken from a file by whoever has the turn, read by anybody. A file of them
/// is never held whole.
class HeldRecords {
 public:
  virtual ~HeldRecords() = default;
  /// Takes the next ones in the place of those before; false: there are none. One at a time.
  virtual bool take() = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;  // of what was taken
  /// The next of those that were taken, nothing after the last.
  virtual std::optional<Json> next() = 0;
};
using MakeHeld = std::function<std::unique_ptr<HeldRecords>()>;

/// The rows of a table that `explain --certificates` wrote, as the records that it would have been.
/// Throws Error{input} naming the line, or the column that is missing.
[[nodiscard]] MakeHeld records_of_table(const std::string& path, const Model& model);

/// A file that holds a record on each line, or one document.
class RecordFile {
 public:
  /// "-" is standard input. Throws like read_file().
  explicit RecordFile(const std::string& path);
  [[nodiscard]] bool has_lines() const { return has_lines_; }
  /// The records of lines that are not empty; must not outlive the file. Throws Error{input} naming
  /// a line that is no JSON.
  [[nodiscard]] MakeHeld records();
  /// The whole text of a document.
  [[nodiscard]] std::string text();

 private:
  class HeldLines;

  std::string path_;
  std::ifstream file_;
  std::istream* stream_;
  std::string head_;  // up to the end of the first line that is not empty
  std::size_t line_ = 0;
  bool has_lines_ = false;
};

/// Of each record its certificate, and that it speaks of the record's row; nothing else is said to
/// hold. `verifier` is who checks a record; several threads ask at once.
[[nodiscard]] FileAudit audit_records(const MakeHeld& make, const Model& model,
                                      const std::function<const Verifier&(const Json&)>& verifier,
                                      const std::string& source, int threads);

}  // namespace ellice::cli
