#pragma once

#include "data/yaml_entry.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// `constraints`: rules and implications between the features that were read.
void read_constraints(const YamlEntry* entry, Schema& schema);

}  // namespace ellice
