#pragma once

#include <functional>
#include <string>

#include "ellice/data/csv.hpp"

namespace ellice {

/// Opens a file of rows that a schema's `format` describes. Programs that export a table choose its
/// encoding by themselves: a file that is UTF-8, with characters beyond ASCII, is read as such also
/// where the format says Latin-1, and `say` is told.
[[nodiscard]] CsvReader open_rows(const std::string& path, const CsvFormat& format,
                                  const std::function<void(const std::string&)>& say = {});

}  // namespace ellice
