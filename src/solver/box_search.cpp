#include "solver/box_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr double converged_residual = 3e-13;
// Ill-conditioned data do not allow that; then a residual that no longer falls must be below this.
constexpr double settled_residual = 1e-9;
// What remains after all rounds is for the certificate to judge, if it is at all near.
constexpr double usable_residual = 1e-5;
constexpr double largest_multiplier = 1e14;

}  // namespace

void BoxSearch::prepare(const RobustLogit& logit, const BoxCost& cost, double threshold) {
  logit_ = &logit;
  cost_ = &cost;
  threshold_ = threshold;
  multiplier_ = 0;
  iterations_ = factorisations_ = 0;
  descent_.reset();
  const Index d = logit.dimension();
  if (change_.size() == d) return;
  matrix_ = NewtonMatrix(d);
  for (Vector* vector : {&change_, &sign_, &along_gradient_, &correction_}) vector->resize(d);
  free_.reserve(static_cast<std::size_t>(d));
  pinned_.reserve(static_cast<std::size_t>(d));
}

// How far x is from the minimiser of cost − μ∇gᵀx, relative to the whole move. The move is measured
// from the query: from the centre of a proximal step it would vanish at the solution.
double BoxSearch::stationarity(const RobustLogit::State& state, double multiplier) const {
  double error = 0;
  double move = 0;
  cost_->minimise_each(multiplier, state.gradient, [&](Index i, double x, bool /*free*/) {
    error += cost_->d[i] * (x - state.x[i]) * (x - state.x[i]);
    move += cost_->d[i] * (x - cost_->query[i]) * (x - cost_->query[i]);
  });
  return move > 0 ? std::sqrt(error / move) : error > 0 ? infinity : 0;
}

double BoxSearch::residual(const RobustLogit::State& state, double multiplier) const {
  return stationarity(state, multiplier) + std::abs(state.value - threshold_) / state.scale;
}

bool BoxSearch::proved_infeasible(const RobustLogit::State& state) const {
  return logit_->upper_bound(state, cost_->lower, cost_->upper).value < threshold_;
}

BoxSearch::Outcome BoxSearch::run(VectorArg start, double multiplier) {
  state_.x = start;
  logit_->evaluate(state_);
  multiplier_ = multiplier;
  if (linear_steps() == Outcome::infeasible) return Outcome::infeasible;
  double accuracy = 1e-2;
  for (int round = 0; round < 8; ++round) {
    check_stop();
    const Outcome fast = newton();
    if (fast != Outcome::stuck) return fast;
    const Outcome safe = follow_path(accuracy);
    if (safe != Outcome::stuck) return safe;
    accuracy *= 1e-2;
  }
  return residual(state_, multiplier_) < usable_residual ? Outcome::converged : Outcome::stuck;
}

// Freezes the gradient and solves the separable problem that remains: cheap steps, no
// factorisation, that find most of the active bounds.
BoxSearch::Outcome BoxSearch::linear_steps() {
  double best = multiplier_ > 0 ? residual(state_, multiplier_) : infinity;
  RobustLogit::State& trial = other_;
  trial = state_;
  double guess = multiplier_;
  for (int i = 0; i < 6 && best > 1e-3; ++i) {
    const std::optional<double> m = Linearised(*cost_, trial, threshold_).multiplier(guess);
    if (!m) return Outcome::infeasible;
    guess = *m;
    cost_->minimise_each(guess, trial.gradient,
                         [&](Index j, double x, bool /*free*/) { trial.x[j] = x; });
    logit_->evaluate(trial);
    ++iterations_;
    const double now = residual(trial, guess);
    if (now < best) {
      best = now;
      state_ = trial;
      multiplier_ = guess;
    } else if (now > 3 * best) {
      break;
    }
  }
  return Outcome::stuck;
}

BoxSearch::Outcome BoxSearch::newton() {
  RobustLogit::State& best_state = other_;
  best_state = state_;
  double best_multiplier = multiplier_;
  double best = residual(state_, multiplier_);
  int failures = 0;
  for (int i = 0; i < 60 && best > converged_residual && failures < 4; ++i) {
    check_stop();
    if (!newton_step()) break;
    ++iterations_;
    const double now = residual(state_, multiplier_);
    failures += !(now < 0.9 * best);
    if (now < best) {
      best = now;
      best_state = state_;
      best_multiplier = multiplier_;
    } else if (best < settled_residual) {
      break;
    }
    if (failures > 0 && multiplier_ > 0 && now > 1e-3 && proved_infeasible(state_)) {
      return Outcome::infeasible;
    }
  }
  state_ = best_state;
  multiplier_ = best_multiplier;
  return best < settled_residual ? Outcome::converged : Outcome::stuck;
}

// One step of the semismooth Newton method on x = argmin(cost − μ∇g(x)ᵀx), g(x) = t: pinned
// coordinates go to their bound or kink, the free ones and μ solve the linearised equations.
bool BoxSearch::newton_step() {
  const Index d = state_.x.size();
  const double nu = multiplier_ * state_.inverse_s;
  free_.clear();
  pinned_.clear();
  double needed = threshold_ - state_.value;
  double z_change = 0;
  for (Index i = 0; i < d; ++i) {
    const BoxCost::Minimiser at = cost_->minimiser(i, multiplier_ * state_.gradient[i]);
    sign_[i] = at.sign;
    if (at.free) {
      free_.push_back(i);
    } else {
      change_[i] = at.x - state_.x[i];
      if (change_[i] != 0) pinned_.push_back(i);
      needed -= state_.gradient[i] * change_[i];
      z_change += state_.z[i] * change_[i];
    }
  }
  const Index size = static_cast<Index>(free_.size());
  ++factorisations_;
  if (size == 0 ||
      !matrix_.factorise(CurvatureKind::exact, *logit_, state_, multiplier_, cost_->d, free_))
    return false;
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    double defect = cost_->d[i] * (state_.x[i] - cost_->center[i]) + cost_->c[i] * sign_[i] -
                    multiplier_ * state_.gradient[i];
    double coupling = 0;
    for (const Index k : pinned_) coupling += logit_->inverse()(k, i) * change_[k];
    defect += nu * (logit_->two_epsilon() * coupling - state_.z[i] * z_change);
    along_gradient_[j] = state_.gradient[i];
    correction_[j] = -defect;
  }
  matrix_.solve(along_gradient_.head(size), correction_.head(size));
  double gain = 0;
  for (Index j = 0; j < size; ++j) {
    const double gradient = state_.gradient[free_[static_cast<std::size_t>(j)]];
    needed -= gradient * correction_[j];
    gain += gradient * along_gradient_[j];
  }
  if (!(gain > 0)) return false;
  const double step = std::clamp(needed / gain, -0.9 * multiplier_, 9 * multiplier_);
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    double low = cost_->lower[i];
    double high = cost_->upper[i];
    if (cost_->c[i] > 0 && sign_[i] > 0) low = std::max(low, cost_->query[i]);
    if (cost_->c[i] > 0 && sign_[i] < 0) high = std::min(high, cost_->query[i]);
    state_.x[i] = std::clamp(state_.x[i] + correction_[j] + step * along_gradient_[j], low, high);
  }
  for (const Index k : pinned_) state_.x[k] += change_[k];
  for (const Index k : pinned_)
    state_.x[k] = std::clamp(state_.x[k], cost_->lower[k], cost_->upper[k]);
  multiplier_ += step;
  logit_->evaluate(state_);
  return multiplier_ < largest_multiplier;
}

// The dual function of g ≥ t is concave in μ and its derivative t − g(x(μ)) monotone: Newton's
// method on it, kept inside a bracket, with x(μ) from a descent method. Convergent from anywhere,
// but slower.
BoxSearch::Outcome BoxSearch::follow_path(double accuracy) {
  double low = 0;
  double high = infinity;
  if (!(multiplier_ > 0)) multiplier_ = 1;
  Vector direction;
  if (!descent_) descent_.emplace(*logit_, *cost_);
  for (int i = 0; i < 100; ++i) {
    check_stop();
    const auto close = [&](const RobustLogit::State& at) {
      const double off = std::abs(at.value - threshold_) / at.scale;
      return stationarity(at, multiplier_) < std::min(accuracy, 0.1 * off);
    };
    iterations_ += descent_->minimise(multiplier_, 100, state_, close);
    if (residual(state_, multiplier_) < accuracy) return Outcome::stuck;  // Newton's turn again
    const double excess = state_.value - threshold_;
    (excess < 0 ? low : high) = multiplier_;
    if (excess < 0 && proved_infeasible(state_)) return Outcome::infeasible;
    if (low > largest_multiplier || (high < infinity && high - low <= 1e-15 * high)) break;
    const double slope = descent_->path_derivative(multiplier_, state_, direction);
    double next = slope > 0 ? multiplier_ - excess / slope : 0;
    next = std::clamp(next, 0.1 * multiplier_, 10 * multiplier_);
    if (!(next > low && next < high)) {
      next = high == infinity ? 10 * multiplier_ : low > 0 ? std::sqrt(low * high) : 0.1 * high;
    }
    state_.x += (next - multiplier_) * direction;
    state_.x = state_.x.cwiseMax(cost_->lower).cwiseMin(cost_->upper);
    logit_->evaluate(state_);
    multiplier_ = next;
  }
  return Outcome::stuck;
}

}  // namespace ellice
