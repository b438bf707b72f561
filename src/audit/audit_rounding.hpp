#pragma once

// What double precision may have lost of the numbers that an answer rests on, from the sizes of
// the terms that were added up: where these cancel, honest numbers differ in more than their last
// digits.

#include "audit/audit_cones.hpp"
#include "ellice/model/model.hpp"

namespace ellice::audit {

/// How far the features h̃ of a point z, found in double precision, may be from the true ones, given
/// how far z may be. A layer's sums Σwᵢaᵢ + b of n terms lose at most (n + 2)u·(Σ|wᵢaᵢ| + |b|) and
/// what their inputs have lost, Σ|wᵢ|δᵢ; φ passes on no more than its steepest slope times that,
/// nor more than the width of its range. What was lost matters where people are far from the
/// training rows: sums of 10⁸ leave seven digits of a unit that is neither on nor off.
[[nodiscard]] LongVector feature_rounding(const Network& network, VectorArg z,
                                          const LongVector& z_rounding);

/// The same of a point that was moved from one model's columns to another's: z′ = (raw − mean′)/s′
/// with raw = z·s + mean is a difference of terms of the size of the means.
[[nodiscard]] LongVector move_rounding(const Encoder& from, const Encoder& to, VectorArg z);

}  // namespace ellice::audit
