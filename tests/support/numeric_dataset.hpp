#pragma once

#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"
#include "support/problem_zoo.hpp"

namespace ellice::problem_zoo {

/// Rows as a data set of numeric features x0, x1, …, with the target `outcome` no/yes.
inline Dataset numeric_dataset(const Labelled& rows) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  for (Index j = 0; j < rows.features.cols(); ++j) {
    data.schema.features.push_back({.name = "x" + std::to_string(j)});
  }
  data.raw = rows.features;
  data.labels = rows.labels;
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

}  // namespace ellice::problem_zoo
