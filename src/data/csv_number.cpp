#include "data/csv_number.hpp"

#include <cmath>

#include "core/number_text.hpp"
#include "data/number_format.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

double number_at(const CsvReader& file, std::size_t column, std::string_view cell) {
  double value = 0;
  const bool is_number = file.format().spells_plain_numbers()
                             ? parse_number(cell, value)
                             : parse_formatted_number(cell, file.format(), {}, value);
  require_input(is_number && std::isfinite(value), "{}: {}: found \"{}\", expected a number",
                file.place(),
                file.header()[column].empty() ? "first column" : file.header()[column], cell);
  return value;
}

}  // namespace ellice
