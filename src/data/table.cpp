#include "ellice/data/table.hpp"

#include <cmath>
#include <set>

#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

std::size_t Column::size() const {
  return std::visit([](const auto& entries) { return entries.size(); }, values);
}

std::size_t Table::rows() const {
  if (columns.empty()) return 0;
  for (const Column& column : columns) {
    require_input(column.size() == columns.front().size(),
                  "{}: column \"{}\" has {} rows, but \"{}\" has {}", name, column.name,
                  column.size(), columns.front().name, columns.front().size());
  }
  return columns.front().size();
}

TableSource::TableSource(const Table& table)
    : table_(&table),
      rows_(table.rows()),
      texts_(table.columns.size()),
      cells_(table.columns.size()),
      is_taken_(table.columns.size()),
      numbers_(table.columns.size()) {
  std::set<std::string_view> seen;
  for (const Column& column : table.columns) {
    require_input(seen.insert(column.name).second, "{}: there are two columns \"{}\"", table.name,
                  column.name);
    header_.push_back(column.name);
  }
}

std::string TableSource::place() const {
  return fmt::format("{}: row {}", table_->name, row_ - 1);
}

bool TableSource::takes_numbers(std::size_t column) {
  is_taken_[column] = std::holds_alternative<std::vector<double>>(table_->columns[column].values);
  cells_[column] = {};
  return is_taken_[column];
}

bool TableSource::next(std::span<const std::string_view>& cells) {
  if (row_ == rows_) return false;
  for (std::size_t j = 0; j < cells_.size(); ++j) {
    const auto& values = table_->columns[j].values;
    if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
      cells_[j] = (*texts)[row_];
      continue;
    }
    const double number = std::get<std::vector<double>>(values)[row_];
    if (is_taken_[j]) {
      numbers_[j] = number;
      continue;
    }
    // What is infinite is no number of a file either, and refused by the reader with this text.
    texts_[j] = std::isnan(number)   ? ""
                : std::isinf(number) ? (number > 0 ? "inf" : "-inf")
                                     : number_text(number);
    cells_[j] = texts_[j];
  }
  ++row_;
  cells = cells_;
  return true;
}

}  // namespace ellice
