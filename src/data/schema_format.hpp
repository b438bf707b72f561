#pragma once

// The parts of a schema about spelling: how a file writes its cells, and how levels are shown.

#include <string>
#include <utility>
#include <vector>

#include "data/yaml_entry.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// A level and what people read in its place (empty: the level itself), with the entry they came
/// from.
struct ReadLevel {
  std::string level = {};
  std::string text = {};
  YamlEntry entry;
};

/// `levels` in any of its forms: a list of levels, of which each may be a map of one member from
/// the level to its text, or one map from levels to texts.
[[nodiscard]] std::vector<ReadLevel> read_level_entries(const YamlEntry& entry,
                                                        std::string_view expected);

[[nodiscard]] Pace read_pace(const YamlEntry& entry, const Feature& feature);

/// `format`, `missing_values` and what they must not contradict: the features that were read.
void read_spelling(const YamlRecord& top, Schema& schema);

[[nodiscard]] Json levels_to_json(const Feature& feature);
[[nodiscard]] Json format_to_json(const CsvFormat& format);

}  // namespace ellice
