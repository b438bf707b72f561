#pragma once

// A recourse file as `explain` lays it out, read and audited record by record, so that it is never
// held whole and several threads take part.

#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/recourse_audit.hpp"
#include "ellice/core/json.hpp"

namespace ellice::cli {

/// The parts of such a file. Where it is cut does not rest on its layout: a part that is not JSON
/// by itself, with nothing but commas and white space around it, is an error.
class RecourseStream {
 public:
  /// Null for a file that is laid out in another way, has no hashes, or cannot be read.
  [[nodiscard]] static std::unique_ptr<RecourseStream> open(const std::string& path);

  /// What stands before the records, and no records.
  [[nodiscard]] const Json& head() const { return head_; }

  /// Answers to some people, all to each.
  struct Block {
    std::string text = {};
    std::vector<std::size_t> ends = {};      // of the records in the text, which begin there
    std::size_t first = 0;                   // record of the file
    std::optional<std::size_t> before = {};  // query of the record before them
    [[nodiscard]] std::vector<Json> records() const;
  };
  /// At least so many records where there are more; false: there are none.
  bool take(Block& block, std::size_t least);

  /// When all were taken: what stands behind them.
  [[nodiscard]] Json tail();

 private:
  explicit RecourseStream(const std::string& path) : file_(path, std::ios::binary) {}
  bool find_head();
  /// Makes so many bytes follow, if the file has them.
  bool has(std::size_t bytes);
  bool read_more();
  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(at_); }
  /// The query of the record that begins here.
  std::size_t query();
  /// How long the record is that begins here.
  std::size_t record_size();

  std::ifstream file_;
  std::string text_ = {};  // as far as it was read and is needed
  std::size_t at_ = 0;     // how far it was used
  Json head_ = {};
  std::size_t taken_ = 0;                 // records
  std::optional<std::size_t> last_ = {};  // query
  bool is_at_end_ = false;
};

/// The audit of a file that was opened so; nothing where anything is wrong with its form, which a
/// look at the whole of it says.
[[nodiscard]] std::optional<FileAudit> audit_stream(RecourseStream& stream, const Model& model,
                                                    const std::string& source,
                                                    const AuditSources& sources, int threads);

}  // namespace ellice::cli
