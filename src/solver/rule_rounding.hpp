#pragma once

#include <cmath>

namespace ellice {

/// What rounding may take from a rule's half-space: a grid may lie exactly on it, and answers keep
/// no distance from rules as they do from cones.
[[nodiscard]] inline double rule_rounding(double need) {
  return 1e-11 * (1 + std::abs(need));
}

}  // namespace ellice
