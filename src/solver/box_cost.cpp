#include "solver/box_cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice {

Linearised::Excess Linearised::excess(double m) const {
  Excess result = {.value = state_.value - threshold_};
  cost_.minimise_each(m, state_.gradient, [&](Index i, double x, bool free) {
    const double gradient = state_.gradient[i];
    if (gradient == 0) return;
    result.value += gradient * (x - state_.x[i]);
    if (free) result.slope += gradient * gradient / cost_.d[i];
    result.saturated &= x == (gradient > 0 ? cost_.upper[i] : cost_.lower[i]);
  });
  return result;
}

namespace {

/// The first number m whose product with the slope exceeds the price, as rounded.
double first_above(double price, double slope) {
  double m = price / slope;
  while (!(m * slope > price)) m = std::nextafter(m, infinity);
  while (std::nextafter(m, 0.0) * slope > price) m = std::nextafter(m, 0.0);
  return m;
}

}  // namespace

// With absolute costs alone the minimiser jumps where m·|∇gᵢ| passes a price, and stays put
// between: the jump that reaches the threshold is looked for among them, those near the guess
// first.
std::optional<double> Linearised::jump(double guess) const {
  double low = 0;
  double high = infinity;
  for (Index round = 0;; ++round) {
    const double middle = high == infinity ? 8 * std::max(low, guess) : std::sqrt(low * high);
    const double aim = round < 4 ? guess : middle;
    double next = infinity;
    for (Index i = 0; i < cost_.c.size(); ++i) {
      const double slope = std::abs(state_.gradient[i]);
      const double at = cost_.c[i] / slope;
      if (!(at < 1e300)) continue;
      if (!(at >= low * (1 - 1e-15) && at <= high) || std::abs(at - aim) >= std::abs(next - aim))
        continue;
      const double exact = first_above(cost_.c[i], slope);
      if (exact > low && exact < high) next = exact;
    }
    if (next == infinity) break;
    (excess(next).value < 0 ? low : high) = next;
  }
  return high < infinity ? std::optional(high) : std::nullopt;
}

std::optional<double> Linearised::multiplier(double guess) const {
  if (excess(0).value >= 0) return 0.0;
  if (cost_.d.maxCoeff() == 0) return jump(guess > 0 && std::isfinite(guess) ? guess : 1);
  double low = 0;
  double high = infinity;
  double m = guess > 0 && std::isfinite(guess) ? guess : 1;
  for (int i = 0; i < 400; ++i) {
    const Excess at = excess(m);
    if (at.value < 0) {
      if (at.saturated) return std::nullopt;
      low = m;
    } else {
      high = m;
    }
    if (std::abs(at.value) <= 1e-16 * state_.scale) return m;
    // Piecewise linear in m: Newton's method ends as soon as it is on the right piece.
    double next = at.slope > 0 && at.value < infinity ? m - at.value / at.slope : m;
    if (std::abs(next - m) <= 1e-16 * m && at.slope > 0) return m;
    if (!(next > low && next < high)) {
      next = high == infinity ? 8 * m : low > 0 ? std::sqrt(low) * std::sqrt(high) : high / 8;
    }
    if (next == m || next == low || next == high || next > 1e300) break;
    m = next;
  }
  return high < infinity ? std::optional(high) : std::nullopt;
}

double Linearised::bound(double m) const {
  double sum = -m * (state_.value - threshold_);
  bool is_finite = true;
  cost_.minimise_each(m, state_.gradient, [&](Index i, double x, bool /*free*/) {
    is_finite &= std::isfinite(x);
    const double from_center = x - cost_.center[i];
    sum += 0.5 * cost_.d[i] * from_center * from_center +
           cost_.c[i] * std::abs(x - cost_.query[i]) - m * state_.gradient[i] * (x - state_.x[i]);
  });
  return is_finite ? sum : -infinity;
}

Linearised::Bound Linearised::best_bound(double guess) const {
  const std::optional<double> found = multiplier(guess);
  if (!found) return {.value = bound(guess), .multiplier = guess};
  // With a piecewise linear cost the best m is a jump of the minimiser; just before it, x stays
  // finite.
  Bound best = {.value = bound(*found), .multiplier = *found};
  for (const double back : {1e-15, 1e-13, 1e-11}) {
    const double m = *found * (1 - back);
    const double value = bound(m);
    if (value > best.value) best = {.value = value, .multiplier = m};
  }
  return best;
}

}  // namespace ellice
