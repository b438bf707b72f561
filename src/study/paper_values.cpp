#include "study/paper_values.hpp"

#include <algorithm>
#include <array>

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr std::array<std::string_view, 9> columns = {
    "table", "mode", "model", "dataset", "method", "evaluator", "metric", "mean", "spread"};

template <class E>
E choice(const CsvReader& file, std::string_view column, std::string_view cell) {
  const std::optional<E> value = enum_from_name<E>(cell);
  require_input(value.has_value(), "{}: {}: found \"{}\", expected one of {}", file.place(), column,
                cell, join_names(EnumNames<E>::names));
  return *value;
}

double number(const CsvReader& file, std::string_view column, std::string_view cell) {
  double value = 0;
  require_input(parse_number(cell, value), "{}: {}: found \"{}\", expected a number", file.place(),
                column, cell);
  return value;
}

}  // namespace

PaperValues::PaperValues(const std::string& path) {
  CsvReader file(path);
  require_input(
      std::equal(file.header().begin(), file.header().end(), columns.begin(), columns.end()),
      "{}: found the columns {}, expected {}", path, fmt::join(file.header(), ", "),
      fmt::join(columns, ", "));
  std::span<const std::string_view> cells;
  while (file.next(cells)) {
    const Key key{.mode = choice<StudyMode>(file, "mode", cells[1]),
                  .model = choice<StudyModel>(file, "model", cells[2]),
                  .dataset = std::string(cells[3]),
                  .method = std::string(cells[4]),
                  .evaluator = std::string(cells[5]),
                  .metric = std::string(cells[6])};
    // Short tables of the main text come first, the full ones of the appendix replace them.
    Measured& value = values_[key] = {};
    if (cells[7].empty()) continue;
    value.mean = number(file, "mean", cells[7]);
    if (!cells[8].empty()) value.spread = number(file, "spread", cells[8]);
  }
}

Measured PaperValues::find(const Key& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? Measured{} : at->second;
}

}  // namespace ellice
