#pragma once

#include "request/feasible_set.hpp"

namespace ellice {

/// Raw numbers of a point in model space, every feature at a value of its own range and grid:
/// numbers and ordinal levels that are not take the next one on the side on which the robust logit
/// grows by its slope, else on the other; of a category, the allowed level with the largest entry.
/// Features that did not move keep the query's value.
[[nodiscard]] Vector allowed_row(const FeasibleSet& feasible, const Vector& slope, const Vector& z);

/// Whether a feature is a choice between levels without an order, which no relaxation can round.
[[nodiscard]] inline bool is_category(const Feature& feature) {
  return feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary;
}

/// The levels that a category may take, the query's own among them.
[[nodiscard]] std::vector<double> allowed_levels(const FeasibleSet& feasible, std::size_t feature);

/// Writes a level of a category into its columns of a point in model space.
void set_level(const Encoder& encoder, std::size_t feature, double level, Vector& z);

}  // namespace ellice
