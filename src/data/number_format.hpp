#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ellice/data/csv_format.hpp"

namespace ellice {

/// Parses the whole cell as a finite number in the spelling of `format`: its decimal mark, its mark
/// between groups of exactly three digits, and at most one of `symbols` before or after the number;
/// blanks around each do not count. False for anything else: with "," before decimals and "."
/// between groups "1.5" is no number.
[[nodiscard]] bool parse_formatted_number(std::string_view cell, const CsvFormat& format,
                                          std::span<const std::string> symbols, double& value);

/// The number that a cell, which is one in the spelling of `format`, would be if its decimal mark
/// stood between groups of three digits: 29000 for "29.000". Nothing where it cannot, as in "2.5"
/// and "0.125".
[[nodiscard]] std::optional<double> read_as_groups(std::string_view cell, const CsvFormat& format,
                                                   std::span<const std::string> symbols);

/// The reverse: the number that such a cell would be if its mark between groups stood before
/// decimals, 7.325 for "7.325" that is read as 7325. Nothing where it cannot, as in "1.234.567" and
/// "7.325,5", and where the mark is one that nobody writes before decimals.
[[nodiscard]] std::optional<double> read_as_decimals(std::string_view cell, const CsvFormat& format,
                                                     std::span<const std::string> symbols);

/// Removes blanks at both ends, also those that do not break.
[[nodiscard]] std::string_view without_outer_blanks(std::string_view text);

/// The length in bytes of the mark between groups of digits at the front of the text; 0: none.
[[nodiscard]] std::size_t thousands_length(std::string_view text, char thousands);

}  // namespace ellice
