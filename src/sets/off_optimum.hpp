#pragma once

#include <algorithm>

#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// Whether it matters beside ε how far θ̂ is above the minimum of its objective. Off the optimum the
/// objective is not centred on θ̂, and the ellipsoid around θ̂ is not of the models within ε of the
/// optimum, not to second order either; 1 % of ε is where that begins to matter.
[[nodiscard]] inline bool is_off_optimum(double decrement, double epsilon) {
  return decrement > 0.01 * epsilon && decrement > 1e-15;
}

/// Of the models that a set is around.
[[nodiscard]] inline double largest_decrement(const Model& model, const SetChoice& choice) {
  double result = model.training.head_decrement;
  for (const Model* one : choice.members) result = std::max(result, one->training.head_decrement);
  return result;
}

}  // namespace ellice
