#pragma once

// What each feature adds to the score of an additive model, and how much of that the models that
// are nearly as good leave open.

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// The shape function of one feature at some of its values.
struct Shape {
  std::size_t feature = 0;
  std::vector<double> values = {};      // numbers, or indices of levels or bins
  std::vector<std::string> names = {};  // of levels and bins; numbers have none
  Vector contribution = {};             // at each value, of the model itself
  Vector spread = {};                   // models of the set give contribution ± spread at most
};

/// score(x) = base + Σ contributions. They are centred: their mean is 0, over the rows of the
/// training where these are at hand, else over the values that are listed.
struct Shapes {
  double epsilon = 0;
  double base = 0;
  bool is_over_rows = false;
  std::vector<Shape> shapes = {};  // in the order of the schema
};

/// Over the last-layer set of that ε (theory.md, Result 72). Throws Error{argument} for models
/// whose score is no sum over features.
[[nodiscard]] Shapes shape_functions(const Model& model, double epsilon,
                                     const RowMatrix* encoded_rows = nullptr);

/// The largest contribution less the smallest.
[[nodiscard]] double range_of(const Shape& shape);

/// A line for each feature, those that matter most first.
[[nodiscard]] std::string shapes_text(const Shapes& shapes, const Model& model);
[[nodiscard]] Json shapes_json(const Shapes& shapes, const Model& model);
[[nodiscard]] std::string shapes_svg(const Shapes& shapes, const Model& model);
/// A page that loads nothing.
[[nodiscard]] std::string shapes_html(const Shapes& shapes, const Model& model);

}  // namespace ellice
