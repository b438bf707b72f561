#pragma once

#include <string>

namespace ellice {

/// The shortest decimal that reads back identically, in the layout of Python's repr except that
/// whole numbers carry no ".0". Throws Error{internal} for a number that is not finite.
[[nodiscard]] std::string number_text(double value);

}  // namespace ellice
