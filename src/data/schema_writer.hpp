#pragma once

#include <map>
#include <string>

#include "ellice/data/schema.hpp"

namespace ellice {

/// One line each, by column: shown beside its feature, its group or its place under drop.
using YamlComments = std::map<std::string, std::string>;

[[nodiscard]] std::string to_yaml(const Schema& schema, const YamlComments& comments);

}  // namespace ellice
