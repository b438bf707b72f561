#pragma once

#include <string>
#include <vector>

#include "ellice/data/schema.hpp"

namespace ellice {

/// For suggestions.
[[nodiscard]] inline std::vector<std::string> feature_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const Feature& feature : schema.features) names.push_back(feature.name);
  return names;
}

/// Whether more and less mean something.
[[nodiscard]] inline bool has_order(const Feature& feature) {
  return feature.is_number() || feature.kind == FeatureKind::ordinal;
}

/// Whether its column is (raw − mean)/scale.
[[nodiscard]] inline bool is_standardised(const Feature& feature) {
  return has_order(feature) && !feature.is_binned();
}

}  // namespace ellice
