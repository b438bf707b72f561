#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// One person who asks.
struct Query {
  std::size_t index = 0;
  Vector raw = {};  // as in Dataset::raw, empty cells filled
  std::optional<std::string> id = {};
  std::vector<std::size_t> filled = {};  // features whose cell was empty: their value is a guess
};

}  // namespace ellice
