#pragma once

#include "ellice/core/types.hpp"

namespace ellice {

// So many standard deviations from the training rows an ordinary change, of one, has six digits
// left in a double: nearest, robust and proved mean nothing beyond.
inline constexpr double farthest = 1e10;

/// Whether a row in model space is farther away than can be computed with: neither people nor
/// answers may be.
[[nodiscard]] inline bool is_too_far(VectorArg z) {
  return !z.allFinite() || (z.size() > 0 && z.lpNorm<Eigen::Infinity>() > farthest);
}

}  // namespace ellice
