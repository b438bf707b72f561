#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "solver/box_cost.hpp"
#include "solver/box_projection.hpp"
#include "solver/projected_newton.hpp"
#include "solver/robust_logit.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

/// A direction along which the box is infinite and g grows for ever: g(x + τv)/τ → wᵀv − √(vᵀMv).
std::optional<Vector> growing_ray(const RobustLogit& logit, Vector v, VectorArg lower,
                                  VectorArg upper) {
  const Index d = v.size();
  for (Index i = 0; i < d; ++i) {
    if (v[i] > 0 ? upper[i] < infinity : lower[i] > -infinity) v[i] = 0;
  }
  const double penalty =
      std::sqrt(logit.two_epsilon() * v.dot(logit.inverse().topLeftCorner(d, d) * v));
  const double gain = logit.theta().head(d).dot(v);
  if (gain - penalty > 1e-12 * (std::abs(gain) + penalty)) return v;
  return std::nullopt;
}

}  // namespace

BoxMaximum BoxFactor::maximize(VectorArg lower, VectorArg upper, double epsilon,
                               const std::optional<Vector>& start,
                               std::optional<double> enough) const {
  const Index d = dimension();
  require(lower.size() == d && upper.size() == d,
          "the box has {} lower and {} upper bounds; expected {}", lower.size(), upper.size(), d);
  require((lower.array() <= upper.array()).all(), "the box is empty");
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  const RobustLogit logit(theta_, inverse_, epsilon);
  const Vector zero = Vector::Zero(d);
  const BoxCost nothing = {
      .d = zero, .c = zero, .center = zero, .query = zero, .lower = lower, .upper = upper};
  RobustLogit::State state;
  state.x = start ? *start : zero;
  require(state.x.size() == d, "the start has length {}; expected {}", state.x.size(), d);
  state.x = state.x.cwiseMax(lower).cwiseMin(upper);
  logit.evaluate(state);

  BoxMaximum result;
  const bool bounded = lower.allFinite() && upper.allFinite();
  Vector before = state.x;
  const auto done = [&](const RobustLogit::State& at) {
    if (enough && at.value >= *enough) return true;
    if (!bounded) {
      result.ray = growing_ray(logit, at.x - before, lower, upper);
      if (!result.ray) result.ray = growing_ray(logit, at.gradient, lower, upper);
      before = at.x;
      if (result.ray) return true;
      if (at.gradient.norm() > 1e-6 * theta_.norm()) return false;
    }
    return logit.upper_bound(at, lower, upper).value - at.value <= 1e-14 * at.scale;
  };
  if (epsilon == 0) {
    // g is linear: every coordinate goes to the bound that favours it.
    for (Index i = 0; i < d; ++i) {
      const double best = theta_[i] > 0 ? upper[i] : lower[i];
      if (theta_[i] != 0 && std::isfinite(best)) state.x[i] = best;
    }
    logit.evaluate(state);
    result.ray = growing_ray(logit, state.gradient, lower, upper);
  } else {
    ProjectedNewton descent(logit, nothing);
    result.iterations = descent.minimise(1.0, 300, state, done);
  }
  result.point = state.x;
  result.logit = state.value;
  RobustLogit::Bound bound = logit.upper_bound(state, lower, upper);
  result.logit_bound = result.ray ? infinity : bound.value;
  result.model = std::move(bound.model);
  return result;
}

// theory.md, Result 8: λ(x) = (θᵀx̃ − t)/√(x̃ᵀH⁻¹x̃) is quasi-concave where θᵀx̃ > t, and max λ²/2 is
// the answer. Dinkelbach's iteration: if g at ε = λ(xₖ)²/2 has a maximum above t, its maximiser has
// a larger λ; otherwise λ(xₖ) is the maximum.
BoxRadius BoxFactor::max_epsilon(VectorArg lower, VectorArg upper, double threshold) const {
  const Index d = dimension();
  require(lower.size() == d && upper.size() == d,
          "the box has {} lower and {} upper bounds; expected {}", lower.size(), upper.size(), d);
  require((lower.array() <= upper.array()).all(), "the box is empty");
  require(std::isfinite(threshold), "threshold = {} must be finite", threshold);
  BoxRadius result;
  const Vector lo = lower.cwiseMax(-far_away).cwiseMin(upper);
  const Vector hi = upper.cwiseMin(far_away).cwiseMax(lower);
  result.truncated = !(lower.allFinite() && upper.allFinite());
  result.point = maximize(lo, hi, 0.0).point;

  const auto lambda_of = [&](const Vector& x) {
    Vector lifted(d + 1);
    lifted << x, 1;
    return (theta_.dot(lifted) - threshold) / std::sqrt(lifted.dot(inverse_ * lifted));
  };
  double lambda = lambda_of(result.point);
  if (lambda <= 0) return result;
  const auto maximum_at = [&](double level) {
    BoxMaximum best = maximize(lo, hi, level * level / 2, result.point);
    result.iterations += best.iterations;
    return best;
  };
  for (int i = 0; i < 100; ++i) {
    const BoxMaximum best = maximum_at(lambda);
    const double next = lambda_of(best.point);
    if (!(next > lambda)) break;
    const bool settled = next <= lambda * (1 + 1e-14);
    lambda = next;
    result.point = best.point;
    if (settled) break;
  }
  result.epsilon = lambda * lambda / 2;
  // A level just above, as close as rounding allows, at which the whole box is proved to lie below
  // t.
  double excess = 1e-13;
  while (excess < 1 && maximum_at(lambda * (1 + excess)).logit_bound >= threshold) excess *= 10;
  result.upper_bound = excess < 1 ? result.epsilon * (1 + excess) * (1 + excess) : infinity;
  return result;
}

}  // namespace ellice
