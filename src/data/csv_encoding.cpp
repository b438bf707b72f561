#include "data/csv_encoding.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "core/utf8.hpp"

namespace ellice {

namespace {

/// What Windows-1252 has in place of the control characters 0x80 to 0x9F of Latin-1; the five bytes
/// that it leaves undefined stay these.
constexpr std::array<std::uint16_t, 32> windows = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

}  // namespace

void append_latin1(std::string_view bytes, std::string& text) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
      continue;
    }
    const unsigned code = byte < 0xA0 ? windows[byte - 0x80U] : byte;
    if (code < 0x800) {
      text += static_cast<char>(0xC0U | (code >> 6U));
    } else {
      text += static_cast<char>(0xE0U | (code >> 12U));
      text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    }
    text += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

bool is_utf8(std::string_view start) {
  const std::optional<std::size_t> fault = find_invalid_utf8(start);
  if (!fault) return true;
  return start.size() >= longest_start && *fault + 4 > start.size() &&
         static_cast<unsigned char>(start[*fault]) >= 0xC0;
}

}  // namespace ellice
