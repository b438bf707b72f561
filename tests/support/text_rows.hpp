#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/csv.hpp"

namespace ellice::testing_support {

/// A table in memory; the header is line 1 and row k stands on line k + 2.
class TextRows final : public RowSource {
 public:
  using Row = std::vector<std::string>;

  TextRows(Row header, std::vector<Row> rows)
      : header_(std::move(header)), rows_(std::move(rows)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  [[nodiscard]] std::string place() const override {
    return name_ + ":" + std::to_string(next_ + 1);
  }
  bool next(std::span<const std::string_view>& cells) override {
    if (next_ == rows_.size()) return false;
    cells_.assign(rows_[next_].begin(), rows_[next_].end());
    ++next_;
    cells = cells_;
    return true;
  }

 private:
  std::string name_ = "people.csv";
  Row header_;
  std::vector<Row> rows_;
  std::vector<std::string_view> cells_;
  std::size_t next_ = 0;
};

}  // namespace ellice::testing_support
