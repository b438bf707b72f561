#include "solver/box_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
// A factor for another ν leaves so much of the residual, times the relative difference of the two.
constexpr double reused_residual = 1e-11;
// Coordinates are held or free by the minimisers of their own parabolas, so much narrower than
// those of the function.
constexpr double step_damping = 1.25;

/// Along x₁ + a·δμ + b·δν: where g = t and ν·s = μ meet, s² and θᵀx̃ − t being these polynomials.
struct Meeting {
  double mu = 0, nu = 0;
  double score = 0, score_mu = 0, score_nu = 0;  // θᵀx̃ − t at x₁, and its slopes
  double square = 0;                             // s² at x₁
  double square_mu = 0, square_nu = 0;           // half its slopes
  double square_mu_mu = 0, square_mu_nu = 0, square_nu_nu = 0;

  struct Change {
    double mu = 0;
    double nu = 0;
  };
  /// Newton's method, with both kept positive; nothing where it leaves the numbers.
  [[nodiscard]] std::optional<Change> solve() const {
    Change at;
    for (int i = 0; i < 40; ++i) {
      const double s2 = square + 2 * (at.mu * square_mu + at.nu * square_nu) +
                        at.mu * (at.mu * square_mu_mu + 2 * at.nu * square_mu_nu) +
                        at.nu * at.nu * square_nu_nu;
      const double s = std::sqrt(std::max(s2, std::numeric_limits<double>::min()));
      const double s_mu = (square_mu + at.mu * square_mu_mu + at.nu * square_mu_nu) / s;
      const double s_nu = (square_nu + at.mu * square_mu_nu + at.nu * square_nu_nu) / s;
      const double level = score + at.mu * score_mu + at.nu * score_nu - s;
      const double ratio = (nu + at.nu) * s - (mu + at.mu);
      const double level_mu = score_mu - s_mu;
      const double level_nu = score_nu - s_nu;
      const double ratio_mu = (nu + at.nu) * s_mu - 1;
      const double ratio_nu = (nu + at.nu) * s_nu + s;
      const double determinant = level_mu * ratio_nu - level_nu * ratio_mu;
      const double by_mu = (ratio * level_nu - level * ratio_nu) / determinant;
      const double by_nu = (level * ratio_mu - ratio * level_mu) / determinant;
      if (!std::isfinite(by_mu) || !std::isfinite(by_nu)) return std::nullopt;
      const double share = std::min(shortened(by_mu, mu + at.mu), shortened(by_nu, nu + at.nu));
      at.mu += share * by_mu;
      at.nu += share * by_nu;
      if (share == 1 && std::abs(by_mu) <= 1e-14 * mu && std::abs(by_nu) <= 1e-14 * nu) break;
    }
    return Change{.mu = std::clamp(at.mu, -0.8 * mu, 4 * mu),
                  .nu = std::clamp(at.nu, -0.8 * nu, 4 * nu)};
  }

 private:
  /// The share of a step that leaves a number between a tenth and four times what it was.
  [[nodiscard]] static double shortened(double step, double from) {
    if (step < -0.9 * from) return -0.9 * from / step;
    return step > 3 * from ? 3 * from / step : 1;
  }
};

}  // namespace

void BoxSearch::prepare(const RobustLogit& logit, const BoxCost& cost, double threshold) {
  logit_ = &logit;
  cost_ = &cost;
  threshold_ = threshold;
  multiplier_ = 0;
  iterations_ = factorisations_ = 0;
  descent_.reset();
  factored_.clear();
  const Index d = logit.dimension();
  diagonal_ = logit.two_epsilon() * logit.inverse().diagonal().head(d);
  if (change_.size() == d) return;
  matrix_ = NewtonMatrix(d);
  for (Vector* vector :
       {&change_, &sign_, &slope_, &coupling_, &defect_, &step_, &per_mu_, &per_nu_, &image_}) {
    vector->resize(d);
  }
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
  is_inside_ =
      (start.array() >= cost_->lower.array() && start.array() <= cost_->upper.array()).all();
  if ((!(multiplier > 0) || state_.s == 0) && linear_steps() == Outcome::infeasible)
    return Outcome::infeasible;
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
  double now = residual(state_, multiplier_);
  double best = infinity;  // of points of the box
  double best_multiplier = multiplier_;
  const auto keep_best = [&] {
    if (!(now < best)) return;
    best = now;
    best_state = state_;
    best_multiplier = multiplier_;
  };
  if (is_inside_) keep_best();
  nu_ = multiplier_ * state_.inverse_s;
  int failures = 0;
  for (int i = 0; i < 60 && best > converged_residual && failures < 6; ++i) {
    check_stop();
    if (!(nu_ > 0) || !newton_step(now)) break;
    ++iterations_;
    now = residual(state_, multiplier_);
    failures += !(now < 0.9 * best);
    if (!(now < best) && best < settled_residual) break;
    keep_best();
    if (failures > 0 && multiplier_ > 0 && now > 1e-3 && proved_infeasible(state_)) {
      return Outcome::infeasible;
    }
  }
  if (best < infinity) {
    state_ = best_state;
  } else {
    state_.x = state_.x.cwiseMax(cost_->lower).cwiseMin(cost_->upper);
    logit_->evaluate(state_);
  }
  is_inside_ = true;
  multiplier_ = best_multiplier;
  return best < settled_residual ? Outcome::converged : Outcome::stuck;
}

// Newton's method on the optimality conditions with μ and ν = μ/s apart (theory.md, Result 6):
// coordinates that the box or the kink holds go there, the others follow x = x₁ + a·δμ + b·δν, and
// δμ and δν are what g = t and ν·s = μ ask of such points.
bool BoxSearch::newton_step(double residual) {
  const Index d = state_.x.size();
  const double s = state_.s;
  const double two_epsilon = logit_->two_epsilon();
  Meeting meeting = {.mu = multiplier_, .nu = nu_, .square = s * s};
  meeting.score = state_.value + s - threshold_;
  free_.clear();
  pinned_.clear();
  coupling_.setZero();
  for (Index i = 0; i < d; ++i) {
    const double image = s * state_.z[i];  // of x̃ under M
    const double slope = cost_->d[i] * (state_.x[i] - cost_->center[i]) -
                         multiplier_ * logit_->theta()[i] + nu_ * image;
    const double curvature = step_damping * (cost_->d[i] + nu_ * diagonal_[i]);
    const BoxCost::Minimiser at = cost_->nearest(i, state_.x[i] - slope / curvature, curvature);
    sign_[i] = at.sign;
    slope_[i] = slope + cost_->c[i] * at.sign;
    if (at.free && cost_->lower[i] < cost_->upper[i]) {
      free_.push_back(i);
    } else {
      change_[i] = at.x - state_.x[i];
      if (change_[i] == 0) continue;
      pinned_.push_back(i);
      coupling_ += two_epsilon * change_[i] * logit_->inverse().col(i).head(d);
    }
  }
  for (const Index i : pinned_) {
    meeting.score += logit_->theta()[i] * change_[i];
    meeting.square += change_[i] * (2 * s * state_.z[i] + coupling_[i]);
  }
  const Index size = static_cast<Index>(free_.size());
  if (size == 0) return false;
  // An old factor does where the next residual will be rounding all the same.
  const bool is_near = free_ == factored_ &&
                       residual * std::abs(nu_ - factored_nu_) <= reused_residual * factored_nu_;
  if (!is_near) {
    ++factorisations_;
    factored_.clear();
    if (!matrix_.factorise(CurvatureKind::majorant, *logit_, state_, nu_, cost_->d, free_))
      return false;
    factored_ = free_;
    factored_nu_ = nu_;
  }
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    defect_[j] = step_[j] = -slope_[i] - nu_ * coupling_[i];
    per_mu_[j] = logit_->theta()[i];
  }
  matrix_.solve(step_.head(size), per_mu_.head(size));
  // Products with M by the equations that were solved: ν·M·step = defect − d·step.
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    const double before = s * state_.z[i] + coupling_[i];
    const double added = (defect_[j] - cost_->d[i] * step_[j]) / factored_nu_;
    meeting.square += step_[j] * (2 * before + added);
    meeting.score += logit_->theta()[i] * step_[j];
    image_[j] = before + added;
    per_nu_[j] = -image_[j];
  }
  matrix_.solve(per_nu_.head(size));
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    const double theta = logit_->theta()[i];
    const double of_mu = (theta - cost_->d[i] * per_mu_[j]) / factored_nu_;
    const double of_nu = (-image_[j] - cost_->d[i] * per_nu_[j]) / factored_nu_;
    meeting.score_mu += theta * per_mu_[j];
    meeting.score_nu += theta * per_nu_[j];
    meeting.square_mu += image_[j] * per_mu_[j];
    meeting.square_nu += image_[j] * per_nu_[j];
    meeting.square_mu_mu += of_mu * per_mu_[j];
    meeting.square_mu_nu += of_mu * per_nu_[j];
    meeting.square_nu_nu += of_nu * per_nu_[j];
  }
  const std::optional<Meeting::Change> found = meeting.solve();
  if (!found) return false;
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    double low = cost_->lower[i];
    double high = cost_->upper[i];
    if (cost_->c[i] > 0 && sign_[i] > 0) low = std::max(low, cost_->query[i]);
    if (cost_->c[i] > 0 && sign_[i] < 0) high = std::min(high, cost_->query[i]);
    const double change = step_[j] + found->mu * per_mu_[j] + found->nu * per_nu_[j];
    state_.x[i] = std::clamp(state_.x[i] + change, low, high);
  }
  for (const Index i : pinned_)
    state_.x[i] = std::clamp(state_.x[i] + change_[i], cost_->lower[i], cost_->upper[i]);
  multiplier_ += found->mu;
  nu_ += found->nu;
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
