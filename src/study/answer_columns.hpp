#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"

namespace ellice {

/// A table of answers as a table of the schema's columns: those that speak about the answer are
/// taken out, and a one-hot group in one column becomes its 0/1 columns. Any other column stays,
/// for the parser to refuse it.
class AnswerColumns final : public RowSource {
 public:
  /// Throws Error{input} where there is no query_index.
  AnswerColumns(RowSource& table, const Schema& schema);

  [[nodiscard]] const std::string& name() const override { return table_->name(); }
  [[nodiscard]] const std::vector<std::string>& header() const override { return header_; }
  [[nodiscard]] std::string place() const override { return table_->place(); }
  bool next(std::span<const std::string_view>& cells) override;

  // Of the current row:
  [[nodiscard]] std::string_view index() const { return row_[index_]; }
  [[nodiscard]] int plan() const;  // 0 without such a column
  [[nodiscard]] std::optional<Status> status() const;
  [[nodiscard]] std::optional<double> seconds() const { return number("seconds"); }
  /// Of one of our columns that hold a number >= 0; nothing where it is absent or empty.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool is_empty() const { return is_empty_; }  // of features

 private:
  struct Group {
    const Feature* feature = nullptr;
    std::size_t cell = 0;
  };
  /// The place of a column of ours; it has underscores at its end where a feature has its name.
  [[nodiscard]] std::optional<std::size_t> own(std::string name, const Schema& schema) const;
  void expand(const Group& group);

  RowSource* table_;
  std::vector<std::string> header_;
  std::vector<std::size_t> kept_;  // cells passed on as they are
  std::vector<Group> groups_;
  std::size_t index_ = 0;
  std::optional<std::size_t> plan_;
  std::optional<std::size_t> status_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::span<const std::string_view> row_;
  std::vector<std::string_view> cells_;
  bool is_empty_ = false;
};

}  // namespace ellice
