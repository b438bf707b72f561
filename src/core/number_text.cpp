#include "core/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "core/append_number.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    fail(ErrorCode::internal, "a number that is not finite ({}) must not be written", value);
  }
  if (value == 0) {
    out += std::signbit(value) ? "-0.0" : "0";
    return;
  }
  // Python's rule: positional for exponents -4 … 15, otherwise scientific.
  const double magnitude = std::abs(value);
  const auto format = magnitude >= 1e-4 && magnitude < 1e16 ? std::chars_format::fixed
                                                            : std::chars_format::scientific;
  std::array<char, 32> buffer{};
  const auto [end, code] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  out.append(buffer.data(), end);
}

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

}  // namespace ellice
