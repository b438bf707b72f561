#pragma once

#include "data/yaml_entry.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// Edges, closed side, codes and values of a binned feature, whose kind is known; refuses the keys
/// for all others.
void read_bins(const YamlRecord& record, Feature& feature);

/// The grid of a feature for which the schema has none: whole numbers where all edges are whole,
/// else one decimal place more than the edges have.
[[nodiscard]] double usual_bin_step(const Bins& bins);

void bins_to_json(const Bins& bins, Json& feature);

}  // namespace ellice
