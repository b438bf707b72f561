#pragma once

// Quadratic pictures of objectives with an l1 penalty, for the verifier: coordinates one after the
// other, then the minimiser among the signs that they end with.

#include <vector>

#include "certificate/plain_objective.hpp"

namespace ellice {

// Of the largest curvature: what directions get that only the corners hold.
inline constexpr long double held_by_corners = 1e-14L;

/// L at a model to second order without its corners, among the models with the same score cᵀθ, c
/// ending with 1 (or not 0) for the intercept, which has no penalty.
struct CorneredPicture {
  const PlainObjective::LongMatrix& curvature;
  const PlainObjective::LongVector& gradient;
  const PlainObjective::LongVector& at;
  const PlainObjective::LongVector& score;
};

/// Its minimiser with Σ lⱼ|θⱼ|.
[[nodiscard]] PlainObjective::LongVector lowest_of_picture(const CorneredPicture& picture,
                                                           const std::vector<long double>& corners);

/// By how much L falls to first order from one model to another, corners included; 0 where that is
/// a difference of rounding, so that only the curvature on the way tells.
[[nodiscard]] long double expected_gain(const PlainObjective::LongVector& gradient,
                                        const PlainObjective::LongVector& from,
                                        const PlainObjective::LongVector& to,
                                        const std::vector<long double>& corners);

}  // namespace ellice
