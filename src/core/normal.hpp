#pragma once

namespace ellice {

/// Φ(z), the standard normal distribution; accurate to the last digits in both tails.
[[nodiscard]] double normal_cdf(double z);

/// The z with Φ(z) = p: 1.644854 for 0.95. Throws Error{argument} unless 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);

}  // namespace ellice
