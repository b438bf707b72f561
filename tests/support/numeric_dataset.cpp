#include "support/numeric_dataset.hpp"

namespace ellice::problem_zoo {

Dataset numeric_dataset(const Labelled& rows) {
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
