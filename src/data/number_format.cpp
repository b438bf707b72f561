#include "data/number_format.hpp"

#include <algorithm>
#include <array>

#include "data/digit.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr std::array<std::string_view, 4> blanks = {" ", "\t", "\u00A0", "\u202F"};
constexpr std::array<std::string_view, 2> apostrophes = {"'", "\u2019"};

bool is_sign(char c) {
  return c == '+' || c == '-';
}

/// Takes one symbol away at either end; that of the longest name, as "US$" is not "$".
void remove_symbol(std::string_view& cell, std::span<const std::string> symbols) {
  std::string_view longest;
  bool in_front = false;
  for (const std::string& symbol : symbols) {
    if (symbol.size() <= longest.size()) continue;
    if (!cell.starts_with(symbol) && !cell.ends_with(symbol)) continue;
    longest = symbol;
    in_front = cell.starts_with(symbol);
  }
  if (in_front) {
    cell.remove_prefix(longest.size());
  } else {
    cell.remove_suffix(longest.size());
  }
  cell = without_outer_blanks(cell);
}

/// Copies the digits before the decimals, without the marks between their groups; false if the
/// groups are not of three digits.
bool take_whole_part(std::string_view& text, char thousands, std::string& plain) {
  std::size_t digits = 0;  // of this group
  bool has_groups = false;
  while (!text.empty()) {
    if (is_digit(text.front())) {
      plain += text.front();
      text.remove_prefix(1);
      ++digits;
      continue;
    }
    const std::size_t mark = thousands_length(text, thousands);
    if (mark == 0) break;
    if (has_groups ? digits != 3 : digits == 0 || digits > 3) return false;
    has_groups = true;
    digits = 0;
    text.remove_prefix(mark);
  }
  return !has_groups || digits == 3;
}

}  // namespace

std::string_view without_outer_blanks(std::string_view text) {
  for (std::size_t before = 0; before != text.size();) {
    before = text.size();
    for (const std::string_view blank : blanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size());
      if (text.ends_with(blank)) text.remove_suffix(blank.size());
    }
  }
  return text;
}

std::size_t thousands_length(std::string_view text, char thousands) {
  const auto length = [&](const auto& spellings) -> std::size_t {
    for (const std::string_view spelling : spellings) {
      if (text.starts_with(spelling)) return spelling.size();
    }
    return 0;
  };
  if (thousands == ' ') return length(blanks);
  if (thousands == '\'') return length(apostrophes);
  return thousands != '\0' && text.starts_with(thousands) ? 1 : 0;
}

bool parse_formatted_number(std::string_view cell, const CsvFormat& format,
                            std::span<const std::string> symbols, double& value) {
  cell = without_outer_blanks(cell);
  std::string plain;
  const auto take_sign = [&] {
    if (!plain.empty() || cell.empty() || !is_sign(cell.front())) return;
    plain += cell.front();
    cell.remove_prefix(1);
  };
  take_sign();  // before the symbol or behind it
  if (!symbols.empty()) {
    if (!plain.empty()) cell = without_outer_blanks(cell);
    remove_symbol(cell, symbols);
    take_sign();
  }
  if (!take_whole_part(cell, format.thousands, plain)) return false;
  if (cell.starts_with(format.decimal)) {
    plain += '.';
    cell.remove_prefix(1);
  }
  // Decimals and an exponent, which are spelled alike everywhere.
  for (const char c : cell) {
    if (!is_digit(c) && c != 'e' && c != 'E' && !is_sign(c)) return false;
  }
  plain += cell;
  return parse_number(plain, value);
}

std::optional<double> read_as_groups(std::string_view cell, const CsvFormat& format,
                                     std::span<const std::string> symbols) {
  const std::size_t mark = cell.find(format.decimal);
  if (mark == std::string_view::npos) return std::nullopt;
  // Most cells are told by this alone, where no symbol has such a mark of its own.
  const std::string_view behind = cell.substr(mark + 1);
  const auto digits = std::find_if_not(behind.begin(), behind.end(), is_digit) - behind.begin();
  if (symbols.empty() && digits != 3) return std::nullopt;
  CsvFormat other = format;
  other.thousands = format.decimal;
  other.decimal = format.decimal == '.' ? ',' : '.';
  // No group of three digits follows a zero alone.
  const std::size_t first = cell.find_first_of("0123456789");
  double value = 0;
  if (first == std::string_view::npos || cell[first] == '0' ||
      !parse_formatted_number(cell, other, symbols, value))
    return std::nullopt;
  return value;
}

std::optional<double> read_as_decimals(std::string_view cell, const CsvFormat& format,
                                       std::span<const std::string> symbols) {
  if (format.thousands != '.' && format.thousands != ',') return std::nullopt;
  if (cell.find(format.thousands) == std::string_view::npos) return std::nullopt;
  CsvFormat other = format;
  other.decimal = format.thousands;
  other.thousands = '\0';
  double value = 0;
  if (!parse_formatted_number(cell, other, symbols, value)) return std::nullopt;
  return value;
}

}  // namespace ellice
