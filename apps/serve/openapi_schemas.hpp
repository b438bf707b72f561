#pragma once

// What requests and answers look like: the schemas of the description (openapi.cpp).

#include <string_view>

#include "ellice/core/json.hpp"
#include "served_model.hpp"

namespace ellice::serve {

[[nodiscard]] Json typed(std::string_view type);
/// To a schema by its name.
[[nodiscard]] Json reference(std::string_view name);
template <class Names>
[[nodiscard]] Json one_of(const Names& names) {
  Json values = Json::array();
  for (const auto& name : names) values.push_back(std::string(name));
  return {{"type", "string"}, {"enum", values}};
}

/// All that the description names, by their names.
[[nodiscard]] Json named_schemas(const ServedModels& models);

}  // namespace ellice::serve
