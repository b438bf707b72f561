#include "ellice/core/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

std::string number_text(double value) {
  if (!std::isfinite(value)) {
    fail(ErrorCode::internal, "a number that is not finite ({}) must not be written", value);
  }
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";
  // Python's rule: positional for exponents -4 … 15, otherwise scientific.
  const double magnitude = std::abs(value);
  const auto format = magnitude >= 1e-4 && magnitude < 1e16 ? std::chars_format::fixed
                                                            : std::chars_format::scientific;
  std::array<char, 32> buffer{};
  const auto [end, code] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return {buffer.data(), end};
}

}  // namespace ellice
