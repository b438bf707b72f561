#pragma once

namespace ellice {

/// Of ASCII, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace ellice
