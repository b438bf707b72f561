#pragma once

namespace ellice {

/// The q with P(X ≤ q) = p for X with the χ² distribution of so many degrees of freedom: 3.841459
/// for 0.95 and 1. Throws Error{argument} unless 0 < p < 1 and the degrees are at least 1.
[[nodiscard]] double chi_square_quantile(double p, double degrees);

}  // namespace ellice
