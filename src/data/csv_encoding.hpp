#pragma once

#include <string>
#include <string_view>

namespace ellice {

/// Appends bytes of Windows-1252, the superset of Latin-1, as UTF-8: at most three for each.
void append_latin1(std::string_view bytes, std::string& text);

}  // namespace ellice
