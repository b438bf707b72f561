#pragma once

#include <string>
#include <utility>

#include "ellice/data/encoder.hpp"
#include "ellice/data/recipe.hpp"

namespace ellice {

/// A built-in data set with a schema in which every column is a number of its own, as the paper
/// treats its data. `swapped` makes the other class the favourable one.
inline Dataset continuous_dataset(const std::string& name, bool swapped = false) {
  const Dataset original = load_recipe(name);
  const Encoder encoder = Encoder::fit(original);
  Dataset data = original;
  data.raw = RowMatrix(original.rows(), encoder.columns());
  data.schema.features.clear();
  data.schema.constraints.clear();
  for (std::size_t j = 0; j < original.schema.features.size(); ++j) {
    const Feature& feature = original.schema.features[j];
    for (Index c = 0; c < encoder.column_count(j); ++c) {
      const Index column = encoder.first_column(j) + c;
      data.schema.features.push_back(
          {.name = encoder.column_names()[static_cast<std::size_t>(column)]});
      for (Index i = 0; i < original.rows(); ++i) {
        const double raw = original.raw(i, static_cast<Index>(j));
        data.raw(i, column) = feature.kind == FeatureKind::categorical
                                  ? (raw == static_cast<double>(c) ? 1 : 0)
                                  : raw;
      }
    }
  }
  if (swapped) {
    for (int& label : data.labels) label = 1 - label;
    std::swap(data.classes[0], data.classes[1]);
    data.schema.target.favourable = data.classes[1];
  }
  return data;
}

}  // namespace ellice
