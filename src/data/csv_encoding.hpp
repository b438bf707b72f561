#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ellice {

/// Appends bytes of Windows-1252, the superset of Latin-1, as UTF-8: at most three for each.
void append_latin1(std::string_view bytes, std::string& text);

/// How many bytes of a file are looked at before it is read.
inline constexpr std::size_t longest_start = std::size_t{1} << 24U;

/// Whether the first bytes of a file are UTF-8, but for a character that their end cuts.
[[nodiscard]] bool is_utf8(std::string_view start);

}  // namespace ellice
