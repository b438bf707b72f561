#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/csv.hpp"

namespace ellice {

/// Some rows of a file, read by whoever has the turn and gone through later by anybody: they say
/// what the file would have said, errors and places included. What is held is used again.
class HeldRows final : public RowSource {
 public:
  /// Of this file, which must outlive them; the first rows are still to be taken.
  explicit HeldRows(const CsvReader& file) : file_(&file) {}

  /// Takes the next rows from the file, at most `most`, in the place of those before. Nothing comes
  /// behind an error after which the file cannot be read on.
  void take(CsvReader& file, std::size_t most);
  /// Rows that were taken; one that the file refuses counts.
  [[nodiscard]] std::size_t rows() const { return lines_.size(); }
  /// Whether the file ends with them, or cannot be read on.
  [[nodiscard]] bool are_last() const { return are_last_; }

  [[nodiscard]] const std::string& name() const override { return file_->name(); }
  [[nodiscard]] const std::vector<std::string>& header() const override { return file_->header(); }
  [[nodiscard]] const CsvFormat& format() const override { return file_->format(); }
  bool next(std::span<const std::string_view>& cells) override;
  [[nodiscard]] std::string place() const override;

 private:
  const CsvReader* file_;
  bool are_last_ = false;
  std::string text_;                                   // of the cells, one behind the other
  std::vector<std::size_t> ends_;                      // of the cells, in text_
  std::vector<std::size_t> lines_;                     // on which rows begin
  std::map<std::size_t, std::exception_ptr> refused_;  // by row
  std::size_t at_ = 0;                                 // rows that were gone through
  std::size_t cell_ = 0;                               // the next one
  std::vector<std::string_view> cells_;
};

}  // namespace ellice
