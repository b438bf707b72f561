#include "data/draft_column.hpp"

#include <algorithm>
#include <cmath>

#include "data/digit.hpp"
#include "data/labeller.hpp"
#include "data/number_format.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

/// «2024-02-29», «29.2.2024», «2/29/24», with a time behind it or not: three groups of one to four
/// digits, one or two groups of which have two at most, between the same marks.
bool looks_like_date(std::string_view cell) {
  std::array<std::size_t, 3> digits = {};
  std::size_t group = 0;
  char mark = '\0';
  std::size_t i = 0;
  for (; i < cell.size(); ++i) {
    if (is_digit(cell[i])) {
      ++digits[group];
      continue;
    }
    if (group == 2 || (cell[i] != '-' && cell[i] != '.' && cell[i] != '/')) break;
    if (mark != '\0' && cell[i] != mark) return false;
    mark = cell[i];
    ++group;
  }
  if (group != 2 || (i < cell.size() && cell[i] != ' ' && cell[i] != 'T')) return false;
  const bool year_first = digits[0] == 4 && digits[2] <= 2;
  const bool year_last = (digits[2] == 4 || digits[2] == 2) && digits[0] <= 2;
  return (year_first || year_last) && digits[0] >= 1 && digits[1] >= 1 && digits[1] <= 2 &&
         digits[2] >= 1;
}

}  // namespace

CellReader::CellReader(const CsvFormat& format, const std::vector<std::string>& missing_values)
    : format_(&format),
      is_plain_(format.spells_plain_numbers()),
      missing_(missing_values.begin(), missing_values.end()) {}

bool CellReader::is_missing(std::string_view cell) const {
  if (is_empty_cell(cell)) return true;
  return !missing_.empty() && missing_.contains(std::string(without_outer_blanks(cell)));
}

bool CellReader::read_number(std::string_view cell, const std::vector<std::string>& symbols,
                             double& value) const {
  return is_plain_ ? parse_number(cell, value)
                   : parse_formatted_number(cell, *format_, symbols, value);
}

const std::vector<std::string>& CellReader::symbols_of(const std::string& column) const {
  static const std::vector<std::string> none;
  const auto found = format_->symbols.find(column);
  return found == format_->symbols.end() ? none : found->second;
}

void ColumnSummary::add(std::string_view cell, const CellReader& reader,
                        const std::vector<std::string>& symbols) {
  ++rows;
  if (reader.is_missing(cell)) {
    ++empty;
    counts_up = false;
    return;
  }
  double value = 0;
  const bool is_number = reader.read_number(cell, symbols, value);
  if (is_number) {
    add_number(value);
  } else {
    add_text(cell);
  }
  if (std::all_of(cell.begin(), cell.end(), is_digit)) {
    ++digits_only;
    leading_zeros += cell.size() > 1 && cell.front() == '0' ? 1 : 0;
  }
  shortest = std::min(shortest, cell.size());
  longest = std::max(longest, cell.size());
  std::string spelling(cell);
  if (const auto known = values.find(spelling); known != values.end()) {
    ++known->second;
    return;
  }
  if (more_values) return;
  more_values = values.size() == most_values;
  if (!more_values) values.emplace(std::move(spelling), 1);
}

void ColumnSummary::add_number(double value) {
  const bool is_whole = value == std::nearbyint(value);
  counts_up = counts_up && is_whole && (numbers == 0 || value == last + 1);
  rises += numbers > 0 && value > last ? 1 : 0;
  last = value;
  least = numbers == 0 ? value : std::min(least, value);
  greatest = numbers == 0 ? value : std::max(greatest, value);
  ++numbers;
  whole = whole && is_whole;
  if (value == 0) return;  // which lies on every grid, and says nothing
  ++nonzero;
  // From the finest on, each of which the next is a multiple of.
  for (std::size_t k = grids.size(); k-- > 0;) {
    const double steps = value / grids[k];
    if (steps != std::nearbyint(steps)) return;
    ++on_grid[k];
  }
}

void ColumnSummary::add_text(std::string_view cell) {
  counts_up = false;
  if (text.empty()) text = cell;
  dates += looks_like_date(without_outer_blanks(cell)) ? 1 : 0;
  words += 1 + static_cast<std::size_t>(std::count(cell.begin(), cell.end(), ' '));
}

std::vector<std::string> ColumnSummary::sorted_values() const {
  std::vector<std::string> result;
  for (const auto& [value, count] : values) result.push_back(value);
  std::sort(result.begin(), result.end());
  return result;
}

double ColumnSummary::distinct_share() const {
  if (more_values || filled() == 0) return 1;
  return static_cast<double>(values.size()) / static_cast<double>(filled());
}

}  // namespace ellice
