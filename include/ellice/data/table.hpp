#pragma once

// A batch in memory, as data frames and record batches hold it: one vector per column.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ellice/data/csv.hpp"

namespace ellice {

/// Numbers, of which NaN is an empty cell, or texts, of which the empty one is.
struct Column {
  std::string name = {};
  std::variant<std::vector<double>, std::vector<std::string>> values = {};
  [[nodiscard]] std::size_t size() const;
};

struct Table {
  std::string name = "table";  // for messages
  std::vector<Column> columns = {};
  /// Throws Error{input} where columns differ in length.
  [[nodiscard]] std::size_t rows() const;
};

/// The rows of a table, read like those of a file: a number that nobody takes as it is becomes text
/// that reads back identically. Refuses a repeated name. The table must outlive it.
class TableSource final : public RowSource {
 public:
  explicit TableSource(const Table& table);

  [[nodiscard]] const std::string& name() const override { return table_->name; }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  bool next(std::span<const std::string_view>& cells) override;
  [[nodiscard]] bool takes_numbers(std::size_t column) override;
  [[nodiscard]] std::span<const double> numbers() const override { return numbers_; }
  /// «table: row 3», counted from 0.
  [[nodiscard]] std::string place() const override;

 private:
  const Table* table_;
  std::vector<std::string> header_;
  std::size_t rows_;
  std::size_t row_ = 0;  // those that were handed out
  std::vector<std::string> texts_;
  std::vector<std::string_view> cells_;
  std::vector<bool> is_taken_;
  std::vector<double> numbers_;
};

}  // namespace ellice
