#pragma once

#include <string>

namespace ellice {

/// number_text() at the end of a text.
void append_number(std::string& out, double value);

}  // namespace ellice
