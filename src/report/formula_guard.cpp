#include "report/formula_guard.hpp"

#include "ellice/data/csv.hpp"

namespace ellice {

bool is_formula(std::string_view cell) {
  if (cell.empty() || std::string_view("=+-@\t\r").find(cell.front()) == std::string_view::npos)
    return false;
  double number = 0;
  return !parse_number(cell, number);
}

std::string_view without_guard(std::string_view cell) {
  return cell.starts_with('\'') && is_formula(cell.substr(1)) ? cell.substr(1) : cell;
}

std::string FormulaGuard::cell(std::string_view text) {
  if (!is_formula(text)) return csv_cell(text);
  if (found_++ == 0) first_ = text;
  return csv_cell(disarms_ ? "'" + std::string(text) : std::string(text));
}

}  // namespace ellice
