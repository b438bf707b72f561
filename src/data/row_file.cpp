#include "data/row_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/csv_encoding.hpp"
#include "ellice/core/file.hpp"

namespace ellice {

CsvReader open_rows(const std::string& path, const CsvFormat& format,
                    const std::function<void(const std::string&)>& say) {
  // What is UTF-8 anyway is not held back to look at it: rows may come slowly from a pipe.
  if (format.encoding == Encoding::utf8) return CsvReader(path, format);
  return CsvReader(path, [&](std::string_view start) {
    CsvFormat found = format;
    const bool is_ascii = std::none_of(
        start.begin(), start.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    if (is_ascii || !is_utf8(start)) return found;
    found.encoding = Encoding::utf8;
    if (say) {
      say(fmt::format("{} is UTF-8, not Latin-1 as the schema's format says: it is read as UTF-8",
                      input_name(path)));
    }
    return found;
  });
}

}  // namespace ellice
