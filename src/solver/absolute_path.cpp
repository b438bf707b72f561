#include "solver/absolute_path.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

// Of a coordinate that just changed: the same root again.
constexpr double same_root = 1e-9;
// Events that coincide are told in any order.
constexpr double coincidence = 1e-12;

}  // namespace

bool AbsolutePath::run(const RobustLogit& logit, const BoxCost& cost, double threshold,
                       RobustLogit::State& state) {
  logit_ = &logit;
  cost_ = &cost;
  threshold_ = threshold;
  events_ = 0;
  if (!(logit.two_epsilon() > 0)) return false;
  prepare(state);
  const int most = 50 + 8 * static_cast<int>(logit.dimension());
  while (events_ < most) {
    check_stop();
    if (!solve(state)) return false;
    const Event next = next_event();
    if (!(next.rho > 0)) return false;
    ++events_;
    rho_ = next.rho;
    if (next.coordinate < 0) {
      arrive(state);
      return true;
    }
    change(next);
  }
  return false;
}

void AbsolutePath::prepare(const RobustLogit::State& state) {
  const Index d = logit_->dimension();
  if (side_.size() != d) {
    matrix_ = NewtonMatrix(d);
    for (Vector* vector : {&with_s_, &with_rho_, &rest_, &image_with_s_, &image_with_rho_})
      vector->resize(d);
  }
  place_ = state.x;
  side_.setZero(d);
  image_ = logit_->inverse().col(d);
  image_.noalias() += logit_->inverse().leftCols(d) * place_;
  image_ *= logit_->two_epsilon();
  free_.clear();
  rho_ = infinity;
  last_ = {};
}

// x_F = s(u − ρv) − w with M_FF(u, v, w) = (θ, cσ, image)_F, and s = r/√(1 − α + 2βρ − γρ²).
bool AbsolutePath::solve(const RobustLogit::State& state) {
  const Index d = logit_->dimension();
  const Index size = static_cast<Index>(free_.size());
  const double two_epsilon = logit_->two_epsilon();
  // In this order the factor's rounding depends on what moves, not on how it came to.
  std::sort(free_.begin(), free_.end());
  if (!matrix_.factorise(CurvatureKind::majorant, *logit_, state, 1, cost_->d, free_)) return false;
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    with_s_[j] = logit_->theta()[i];
    with_rho_[j] = cost_->c[i] * side_[i];
    rest_[j] = image_[i];
  }
  if (size > 0) {
    matrix_.solve(with_s_.head(size), with_rho_.head(size));
    matrix_.solve(rest_.head(size));
  }
  image_with_s_.setZero();
  image_with_rho_.setZero();
  residue_ = image_.head(d);
  alpha_ = beta_ = gamma_ = 0;
  squared_rest_ = image_[d];
  level_ = logit_->theta()[d];
  for (Index i = 0; i < d; ++i) {
    if (side_[i] != 0) continue;
    squared_rest_ += place_[i] * image_[i];
    level_ += place_[i] * logit_->theta()[i];
  }
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    const double theta = logit_->theta()[i];
    const double price = cost_->c[i] * side_[i];
    alpha_ += theta * with_s_[j];
    beta_ += theta * with_rho_[j];
    gamma_ += price * with_rho_[j];
    squared_rest_ -= rest_[j] * image_[i];
    level_ -= theta * rest_[j];
    const auto column = logit_->inverse().col(i).head(d);
    image_with_s_ += two_epsilon * with_s_[j] * column;
    image_with_rho_ += two_epsilon * with_rho_[j] * column;
    residue_ -= two_epsilon * rest_[j] * column;
  }
  return squared_rest_ > 0;
}

double AbsolutePath::root(double p, double q, double e, bool is_new) const {
  // (p + qρ)²r² = e²(1 − α + 2βρ − γρ²), of whose two roots those count at which p + qρ has e's
  // sign.
  const double a = squared_rest_ * q * q + e * e * gamma_;
  const double half_b = squared_rest_ * p * q - e * e * beta_;
  const double c = squared_rest_ * p * p - e * e * (1 - alpha_);
  const double discriminant = half_b * half_b - a * c;
  if (!(discriminant >= 0)) return 0;
  const double sum = -(half_b + std::copysign(std::sqrt(discriminant), half_b));
  double best = 0;
  for (const double rho : {sum / a, c / sum}) {
    const bool is_behind =
        is_new ? !(rho < rho_ * (1 - same_root)) : !(rho <= rho_ * (1 + coincidence));
    if (!is_behind && rho > best && (p + q * rho) * e >= 0) best = rho;
  }
  return std::min(best, rho_);
}

void AbsolutePath::stops(Index position, Event& next) const {
  const Index i = free_[static_cast<std::size_t>(position)];
  const double query = cost_->query[i];
  const double low = side_[i] > 0 ? std::max(cost_->lower[i], query) : cost_->lower[i];
  const double high = side_[i] < 0 ? std::min(cost_->upper[i], query) : cost_->upper[i];
  for (const double place : {low, high}) {
    if (!std::isfinite(place)) continue;
    const bool is_new = i == last_.coordinate && place == last_.place;
    const double rho =
        root(with_s_[position], -with_rho_[position], rest_[position] + place, is_new);
    if (rho > next.rho) next = {.rho = rho, .coordinate = i, .place = place};
  }
}

void AbsolutePath::starts(Index i, Event& next) const {
  if (cost_->lower[i] == cost_->upper[i]) return;
  const double x = place_[i];
  const double up = x >= cost_->query[i] ? 1 : -1;
  const double down = x <= cost_->query[i] ? -1 : 1;
  const double p = logit_->theta()[i] - image_with_s_[i];
  const auto consider = [&](double side) {
    const bool is_new = i == last_.coordinate && side == last_.side;
    const double rho = root(p, image_with_rho_[i] - cost_->c[i] * side, residue_[i], is_new);
    if (rho > next.rho) next = {.rho = rho, .coordinate = i, .place = x, .side = side};
  };
  if (x < cost_->upper[i]) consider(up);
  if (x > cost_->lower[i] && (down != up || !(x < cost_->upper[i]))) consider(down);
}

AbsolutePath::Event AbsolutePath::next_event() const {
  Event next = {.rho = root(1 - alpha_, beta_, level_ - threshold_, false)};
  for (Index j = 0; j < static_cast<Index>(free_.size()); ++j) stops(j, next);
  for (Index i = 0; i < logit_->dimension(); ++i) {
    if (side_[i] == 0) starts(i, next);
  }
  return next;
}

void AbsolutePath::change(const Event& event) {
  const Index i = event.coordinate;
  last_ = event;
  const bool starts = event.side != 0;
  if (starts) {
    free_.push_back(i);
    side_[i] = event.side;
  } else {
    free_.erase(std::find(free_.begin(), free_.end(), i));
    last_.side = side_[i];
    side_[i] = 0;
    place_[i] = event.place;
  }
  image_ += (starts ? -1 : 1) * logit_->two_epsilon() * place_[i] * logit_->inverse().col(i);
}

void AbsolutePath::arrive(RobustLogit::State& state) const {
  const double s = std::sqrt(squared_rest_ / (1 - alpha_ + rho_ * (2 * beta_ - rho_ * gamma_)));
  state.x = place_;
  for (Index j = 0; j < static_cast<Index>(free_.size()); ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    state.x[i] = s * (with_s_[j] - rho_ * with_rho_[j]) - rest_[j];
  }
  state.x = state.x.cwiseMax(cost_->lower).cwiseMin(cost_->upper);
  logit_->evaluate(state);
}

}  // namespace ellice
