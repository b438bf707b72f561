#pragma once

// The separable cost on a box, coordinate by coordinate.

#include <optional>

#include "ellice/core/types.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

/// Σᵢ ½dᵢ(xᵢ − centerᵢ)² + cᵢ|xᵢ − queryᵢ| on lower ≤ x ≤ upper. The centre differs from the query
/// in the proximal-point iteration only.
struct BoxCost {
  Vector d, c;
  Vector center, query, lower, upper;

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
};

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

  const BoxCost& cost_;
  const RobustLogit::State& state_;
  double threshold_;
};

}  // namespace ellice
