#pragma once

#include <variant>

#include "ellice/core/json.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// A number or a level, as every file of ours has it.
[[nodiscard]] inline Json value_to_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

}  // namespace ellice
