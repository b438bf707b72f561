#pragma once

#include <cstdint>

namespace ellice {

/// A hash of what `hash` is one of, and then `value`.
[[nodiscard]] inline std::uint64_t mixed_with(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

}  // namespace ellice
