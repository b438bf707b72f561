#pragma once

// How a file spells its table, where it is not comma-separated UTF-8 with points before decimals.

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"

namespace ellice {

enum class Encoding {
  utf8,
  latin1,  // read as Windows-1252, its superset with the euro sign, which is what banks mean
};

template <>
struct EnumNames<Encoding> {
  static constexpr std::array<std::string_view, 2> names = {"utf8", "latin1"};
};

struct CsvFormat {
  char separator = ',';  // or ';', a tab, '|'
  char decimal = '.';    // or ','
  /// Between groups of three digits: '.', ',', ' ' (any blank, also one that does not break), '\''
  /// (also the typographic one); 0: there are no groups.
  char thousands = '\0';
  Encoding encoding = Encoding::utf8;
  /// By column: what may stand before or after its numbers, such as "%", "EUR", "€".
  std::map<std::string, std::vector<std::string>> symbols = {};

  [[nodiscard]] bool is_plain() const { return *this == CsvFormat{}; }
  /// Whether its numbers are spelled as this program writes them, however the cells are separated.
  [[nodiscard]] bool spells_plain_numbers() const {
    return decimal == '.' && thousands == '\0' && symbols.empty();
  }
  bool operator==(const CsvFormat&) const = default;
};

inline constexpr std::string_view separators = ",;\t|";
inline constexpr std::string_view decimal_marks = ".,";
inline constexpr std::string_view thousands_marks = "., '";

}  // namespace ellice
