#include "data/row_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.hpp"
#include "data/csv_encoding.hpp"
#include "ellice/core/file.hpp"

namespace ellice {

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

CsvReader open_rows(const std::string& path, const CsvFormat& format,
                    const std::function<void(const std::string&)>& say) {
  // What is UTF-8 anyway is not held back to look at it: rows may come slowly from a pipe.
  if (format.encoding == Encoding::utf8) return CsvReader(path, format);
  return CsvReader(path, [&](std::string_view start) {
    CsvFormat found = format;
    if (looks_like_utf16(start)) {
      found.encoding = Encoding::utf8;  // refused by name
      return found;
    }
    // By the header where that tells: then a row in another encoding is an error that names it.
    const std::string_view header = start.substr(0, start.find('\n'));
    const std::string_view telling = is_ascii(header) ? start : header;
    if (is_ascii(telling) || !is_utf8(telling)) return found;
    found.encoding = Encoding::utf8;
    if (say) {
      say(fmt::format("{} is UTF-8, not Latin-1 as the schema's format says: it is read as UTF-8",
                      input_name(path)));
    }
    return found;
  });
}

}  // namespace ellice
