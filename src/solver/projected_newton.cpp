#include "solver/projected_newton.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"

namespace ellice {

ProjectedNewton::ProjectedNewton(const RobustLogit& logit, const BoxCost& cost)
    : logit_(logit),
      cost_(cost),
      matrix_(logit.dimension()),
      slope_(logit.dimension()),
      direction_(logit.dimension()),
      gathered_(logit.dimension()),
      low_(logit.dimension()),
      high_(logit.dimension()) {
  free_.reserve(static_cast<std::size_t>(logit.dimension()));
}

// Sets the free coordinates, the slopes of the function on them (0 elsewhere) and the reach of a
// step. A coordinate is held where it cannot move downhill; one that is about to run into a nearby
// bound goes there by itself (direction_), so that it does not bend the step of the others.
void ProjectedNewton::classify(double multiplier, const RobustLogit::State& state) {
  free_.clear();
  const double nu = multiplier * state.inverse_s;
  for (Index i = 0; i < state.x.size(); ++i) {
    const double x = state.x[i];
    const double lo = cost_.lower[i];
    const double hi = cost_.upper[i];
    double slope = cost_.d[i] * (x - cost_.center[i]) - multiplier * state.gradient[i];
    double low = lo;
    double high = hi;
    slope_[i] = 0;
    direction_[i] = 0;
    if (cost_.c[i] > 0) {
      const double away = x - cost_.query[i];
      if (away == 0 && std::abs(slope) <= cost_.c[i]) continue;
      const bool above = away > 0 || (away == 0 && slope < 0);
      slope += above ? cost_.c[i] : -cost_.c[i];
      (above ? low : high) = above ? std::max(lo, cost_.query[i]) : std::min(hi, cost_.query[i]);
    }
    low_[i] = low;
    high_[i] = high;
    if (low == high || (x <= low && slope >= 0) || (x >= high && slope <= 0)) continue;
    slope_[i] = slope;
    const double curvature =
        cost_.d[i] + nu * (logit_.two_epsilon() * logit_.inverse()(i, i) - state.z[i] * state.z[i]);
    const double aim = x - slope / curvature;
    const double near = 1e-6 * (1 + std::abs(x));
    if (slope > 0 && aim <= low && x - low <= near) {
      direction_[i] = low - x;
    } else if (slope < 0 && aim >= high && high - x <= near) {
      direction_[i] = high - x;
    } else {
      free_.push_back(i);
    }
  }
}

// Backtracks along the projection of x + αp; false if the function does not decrease.
bool ProjectedNewton::step(double multiplier, int trials, RobustLogit::State& state) {
  const double before = value(multiplier, state);
  const double noise = 1e-14 * (cost_.value(state.x) + multiplier * state.scale);
  double alpha = 1;
  for (int i = 0; i < trials; ++i) {
    trial_.x = state.x;
    for (Index j = 0; j < state.x.size(); ++j) {
      if (direction_[j] == 0) continue;
      trial_.x[j] = std::clamp(state.x[j] + alpha * direction_[j], low_[j], high_[j]);
    }
    const double promised = slope_.dot(state.x - trial_.x);
    if (!(promised > 0)) return false;
    logit_.evaluate(trial_);
    const double after = value(multiplier, trial_);
    if (after <= before - 1e-4 * promised || (promised <= noise && after <= before + noise)) {
      std::swap(state, trial_);
      stalled_ = promised <= noise;
      return true;
    }
    alpha *= i == 0 ? 0.5 : 0.3;
  }
  return false;
}

bool ProjectedNewton::newton_step(CurvatureKind curvature, double multiplier, int trials,
                                  RobustLogit::State& state) {
  const Index size = static_cast<Index>(free_.size());
  ++factorisations_;
  if (!matrix_.factorise(curvature, logit_, state, multiplier * state.inverse_s, cost_.d, free_))
    return false;
  for (Index j = 0; j < size; ++j) gathered_[j] = -slope_[free_[static_cast<std::size_t>(j)]];
  matrix_.solve(gathered_.head(size));
  for (Index j = 0; j < size; ++j) direction_[free_[static_cast<std::size_t>(j)]] = gathered_[j];
  return step(multiplier, trials, state);
}

int ProjectedNewton::minimise(double multiplier, int max_steps, RobustLogit::State& state,
                              const std::function<bool(const RobustLogit::State&)>& done) {
  int stalls = 0;
  for (int steps = 0; steps < max_steps; ++steps) {
    check_stop();
    if (done(state)) return steps;
    classify(multiplier, state);
    bool moved = newton_step(CurvatureKind::exact, multiplier, 1, state);
    if (!moved) {
      other_ = state;
      moved = newton_step(CurvatureKind::majorant, multiplier, 20, state);
      const bool other_moved = newton_step(CurvatureKind::exact, multiplier, 20, other_);
      if (other_moved && (!moved || value(multiplier, other_) < value(multiplier, state))) {
        std::swap(state, other_);
        moved = true;
      }
    }
    if (!moved) {
      // Steepest descent, scaled by an upper bound on the curvature of each coordinate.
      const double nu = multiplier * state.inverse_s * logit_.two_epsilon();
      for (Index i = 0; i < state.x.size(); ++i) {
        const double curvature = cost_.d[i] + nu * logit_.inverse()(i, i);
        direction_[i] = slope_[i] == 0 ? 0 : -slope_[i] / curvature;
      }
      if (!step(multiplier, 50, state)) return steps + 1;
    }
    // Where the function is flat to rounding, Newton's steps still improve the slopes, on which
    // bounds and multipliers depend to first order.
    stalls += stalled_;
    if (stalls > 6) return steps + 1;
  }
  return max_steps;
}

double ProjectedNewton::path_derivative(double multiplier, const RobustLogit::State& state,
                                        Vector& direction) {
  classify(multiplier, state);
  direction.setZero(state.x.size());
  ++factorisations_;
  const double nu = multiplier * state.inverse_s;
  if (!matrix_.factorise(CurvatureKind::exact, logit_, state, nu, cost_.d, free_)) return 0;
  const Index size = static_cast<Index>(free_.size());
  for (Index j = 0; j < size; ++j) {
    gathered_[j] = state.gradient[free_[static_cast<std::size_t>(j)]];
  }
  matrix_.solve(gathered_.head(size));
  for (Index j = 0; j < size; ++j) direction[free_[static_cast<std::size_t>(j)]] = gathered_[j];
  return direction.dot(state.gradient);
}

}  // namespace ellice
