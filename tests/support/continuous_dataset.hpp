#pragma once

#include <string>
#include <utility>

#include "data/recipe.hpp"

namespace ellice {

/// A built-in data set with a schema in which every column is a number of its own, as the paper
/// treats its data. `swapped` makes the other class the favourable one.
inline Dataset continuous_dataset(const std::string& name, bool swapped = false) {
  Dataset data = with_numeric_columns(load_recipe(name));
  if (swapped) {
    for (int& label : data.labels) label = 1 - label;
    std::swap(data.classes[0], data.classes[1]);
    data.schema.target.favourable = data.classes[1];
  }
  return data;
}

}  // namespace ellice
