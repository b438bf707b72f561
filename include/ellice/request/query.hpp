#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ellice/core/types.hpp"

namespace ellice {

/// One person who asks.
struct Query {
  std::size_t index = 0;
  Vector raw = {};  // as in Dataset::raw, empty cells filled
  std::optional<std::string> id = {};
};

}  // namespace ellice
