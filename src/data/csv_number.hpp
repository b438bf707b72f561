#pragma once

#include <string_view>

#include "ellice/data/csv.hpp"

namespace ellice {

/// The number in a cell of the reader's present line, as its format spells numbers. Throws
/// Error{input} naming file, line and column for anything else.
[[nodiscard]] double number_at(const CsvReader& file, std::size_t column, std::string_view cell);

}  // namespace ellice
