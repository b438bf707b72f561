#pragma once

// The separable cost on a box, coordinate by coordinate.

#include <algorithm>
#include <cmath>
#include <optional>

#include "ellice/core/types.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

/// Σᵢ ½dᵢ(xᵢ − centerᵢ)² + cᵢ|xᵢ − queryᵢ| on lower ≤ x ≤ upper. The centre differs from the query
/// in the proximal-point iteration only.
struct BoxCost {
  Vector d, c;
  Vector center, query, lower, upper;
  bool is_plain =
      false;  // d > 0 and c = 0 throughout, which loops over all coordinates make use of

  [[nodiscard]] double value(VectorArg x) const {
    return 0.5 * (x - center).cwiseAbs2().dot(d) + (x - query).cwiseAbs().dot(c);
  }

  struct Minimiser {
    double x = 0;
    bool free = false;  // strictly inside the box and off the kink
    double sign = 0;    // side of the kink
  };
  /// argmin over the i-th interval of the i-th cost − slope·x.
  [[nodiscard]] Minimiser minimiser(Index i, double slope) const;
  /// argmin over the i-th interval of ½curvature·(x − from)² + cᵢ|x − queryᵢ|.
  [[nodiscard]] Minimiser nearest(Index i, double from, double curvature) const;

  /// each(i, x, free) with the minimiser of every coordinate at the slope m·gradientᵢ.
  template <class Each>
  void minimise_each(double m, const Vector& gradient, const Each& each) const;
};

// Here, for the compiler to see in the loops over all coordinates.
inline BoxCost::Minimiser BoxCost::nearest(Index i, double from, double curvature) const {
  const double lo = lower[i];
  const double hi = upper[i];
  // Soft thresholding around the query, then the interval.
  const double away = from - query[i];
  const double threshold = c[i] > 0 ? c[i] / curvature : 0;
  const double sign = away > 0 ? 1.0 : -1.0;
  const bool kink = std::abs(away) <= threshold && c[i] > 0;
  const double x = kink ? query[i] : query[i] + away - sign * threshold;
  if (x <= lo) return {.x = lo, .free = false, .sign = sign};
  if (x >= hi) return {.x = hi, .free = false, .sign = sign};
  return {.x = x, .free = !kink, .sign = sign};
}

inline BoxCost::Minimiser BoxCost::minimiser(Index i, double slope) const {
  if (d[i] > 0) return nearest(i, center[i] + slope / d[i], d[i]);
  const double lo = lower[i];
  const double hi = upper[i];
  if (slope > c[i]) return {.x = hi, .free = false, .sign = 1};
  if (slope < -c[i]) return {.x = lo, .free = false, .sign = -1};
  return {.x = std::clamp(query[i], lo, hi), .free = false, .sign = 0};
}

// Of plain costs some at a time, without a branch, so that they run side by side; the same
// operations on each as in minimiser().
template <class Each>
inline void BoxCost::minimise_each(double m, const Vector& gradient, const Each& each) const {
  constexpr Index together = 4;
  const Index size = d.size();
  Index i = 0;
  for (; is_plain && i + together <= size; i += together) {
    double x[together];
    for (Index k = 0; k < together; ++k) {
      const double away = center[i + k] + m * gradient[i + k] / d[i + k] - query[i + k];
      const double inside = query[i + k] + away;
      const double above = inside <= lower[i + k] ? lower[i + k] : inside;
      x[k] = above >= upper[i + k] ? upper[i + k] : above;
    }
    for (Index k = 0; k < together; ++k)
      each(i + k, x[k], x[k] > lower[i + k] && x[k] < upper[i + k]);
  }
  for (; i < size; ++i) {
    const Minimiser at = minimiser(i, m * gradient[i]);
    each(i, at.x, at.free);
  }
}

/// The problem with g replaced by its linearisation at a state: its dual has one variable m.
class Linearised {
 public:
  Linearised(const BoxCost& cost, const RobustLogit::State& state, double threshold)
      : cost_(cost), state_(state), threshold_(threshold) {}

  /// The multiplier at which the minimiser of cost − m·∇gᵀx reaches the threshold; nothing if the
  /// whole box lies below it.
  [[nodiscard]] std::optional<double> multiplier(double guess) const;

  /// min over the box of cost(x) − m·(g(x̂) − t + ∇g(x̂)ᵀ(x − x̂)): a lower bound on the cost of every
  /// feasible point for any m ≥ 0 (theory.md, Result 6).
  [[nodiscard]] double bound(double m) const;

  struct Bound {
    double value = 0;
    double multiplier = 0;
  };
  /// The best bound over m.
  [[nodiscard]] Bound best_bound(double guess) const;

 private:
  struct Excess {
    double value = 0;       // of the linearised g at the minimiser, minus t; grows with m
    double slope = 0;       // its derivative in m
    bool saturated = true;  // no larger m changes it
  };
  [[nodiscard]] Excess excess(double m) const;
  /// multiplier() where d = 0.
  [[nodiscard]] std::optional<double> jump(double guess) const;

  const BoxCost& cost_;
  const RobustLogit::State& state_;
  double threshold_;
};

}  // namespace ellice
