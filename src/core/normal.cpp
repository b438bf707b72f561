#include "core/normal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ellice/core/error.hpp"

namespace ellice {

double normal_cdf(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

double normal_quantile(double p) {
  require(p > 0 && p < 1, "a probability of {} has no normal quantile, only those in (0, 1) do", p);
  // In the lower tail Φ keeps its relative precision, and 1 − p is exact for p ≥ 1/2.
  const double wanted = std::log(p < 0.5 ? p : 1 - p);
  // Φ(z) ≤ exp(−z²/2)/2 for z ≤ 0, so that this lies to the left of the root; log Φ is concave, so
  // that Newton's method climbs from there without overshooting.
  double z = -std::sqrt(std::max(0.0, -2 * (wanted + std::numbers::ln2)));
  constexpr int most_steps = 100;
  for (int step = 0; step < most_steps; ++step) {
    const double below = normal_cdf(z);
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double next = z - (std::log(below) - wanted) * below / density;
    if (std::abs(next - z) <= 1e-15 * std::abs(z)) break;
    z = next;
  }
  return p < 0.5 ? z : -z;
}

}  // namespace ellice
