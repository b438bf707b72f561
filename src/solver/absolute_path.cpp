#include "solver/absolute_path.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

// Of a coordinate that changed at the present ρ: the same root again.
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
      arrive(next, state);
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
  last_.assign(static_cast<std::size_t>(d), {.rho = infinity});
}

// x_F = s(u − ηv) − w, η = ρ − ρ₀, with M_FF(u, v, w) = (θ − ρ₀cσ, cσ, image)_F, and
// s = r/√(1 − α − γη²). ρ₀ makes u and v orthogonal: what θ and cσ have in common is large where ε
// is small, and nearly cancels.
bool AbsolutePath::solve(const RobustLogit::State& state) {
  const Index d = logit_->dimension();
  const Index size = static_cast<Index>(free_.size());
  const double two_epsilon = logit_->two_epsilon();
  // In this order the factor's rounding depends on what moves, not on how it came to.
  std::sort(free_.begin(), free_.end());
  if (!matrix_.factorise(CurvatureKind::majorant, *logit_, state, 1, cost_->d, free_)) return false;
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    with_rho_[j] = cost_->c[i] * side_[i];
    rest_[j] = image_[i];
  }
  if (size > 0) matrix_.solve(with_rho_.head(size), rest_.head(size));
  gamma_ = 0;
  double beta = 0;
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    gamma_ += cost_->c[i] * side_[i] * with_rho_[j];
    beta += logit_->theta()[i] * with_rho_[j];
  }
  middle_ = size > 0 ? beta / gamma_ : 0;
  const auto apart = [&](Index i) { return logit_->theta()[i] - middle_ * cost_->c[i] * side_[i]; };
  for (Index j = 0; j < size; ++j) with_s_[j] = apart(free_[static_cast<std::size_t>(j)]);
  if (size > 0) matrix_.solve(with_s_.head(size));
  image_with_s_.setZero();
  image_with_rho_.setZero();
  residue_ = image_.head(d);
  left_ = 1;
  squared_rest_ = image_[d];
  level_ = logit_->theta()[d];
  for (Index i = 0; i < d; ++i) {
    if (side_[i] != 0) continue;
    squared_rest_ += place_[i] * image_[i];
    level_ += place_[i] * logit_->theta()[i];
  }
  for (Index j = 0; j < size; ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    left_ -= apart(i) * with_s_[j];
    squared_rest_ -= rest_[j] * image_[i];
    level_ -= logit_->theta()[i] * rest_[j];
    const auto column = logit_->inverse().col(i).head(d);
    image_with_s_ += two_epsilon * with_s_[j] * column;
    image_with_rho_ += two_epsilon * with_rho_[j] * column;
    residue_ -= two_epsilon * rest_[j] * column;
  }
  return squared_rest_ > 0;
}

AbsolutePath::Root AbsolutePath::root(double p, double q, double e, bool is_new) const {
  // (p + qη)²r² = e²(1 − α − γη²), of whose two roots those count at which p + qη has e's sign.
  const double a = squared_rest_ * q * q + e * e * gamma_;
  const double half_b = squared_rest_ * p * q;
  const double c = squared_rest_ * p * p - e * e * left_;
  // half_b² − ac without what both have.
  const double discriminant = e * e * (left_ * a - gamma_ * squared_rest_ * p * p);
  if (!(discriminant >= 0)) return {};
  const double sum = -(half_b + std::copysign(std::sqrt(discriminant), half_b));
  Root best;
  for (const double eta : {sum / a, c / sum}) {
    const double rho = middle_ + eta;
    const bool is_behind =
        is_new ? !(rho < rho_ * (1 - same_root)) : !(rho <= rho_ * (1 + coincidence));
    if (!is_behind && rho > best.rho && (p + q * eta) * e >= 0) best = {.rho = rho, .eta = eta};
  }
  best.rho = std::min(best.rho, rho_);
  return best;
}

void AbsolutePath::stops(Index position, Event& next) const {
  const Index i = free_[static_cast<std::size_t>(position)];
  const double query = cost_->query[i];
  const double low = side_[i] > 0 ? std::max(cost_->lower[i], query) : cost_->lower[i];
  const double high = side_[i] < 0 ? std::min(cost_->upper[i], query) : cost_->upper[i];
  for (const double place : {low, high}) {
    if (!std::isfinite(place)) continue;
    const bool is_new = has_just_changed(i) && place == last_of(i).place;
    const double rho =
        root(with_s_[position], -with_rho_[position], rest_[position] + place, is_new).rho;
    if (rho > next.rho) next = {.rho = rho, .coordinate = i, .place = place};
  }
}

void AbsolutePath::starts(Index i, Event& next) const {
  if (cost_->lower[i] == cost_->upper[i]) return;
  const double x = place_[i];
  const double up = x >= cost_->query[i] ? 1 : -1;
  const double down = x <= cost_->query[i] ? -1 : 1;
  const auto consider = [&](double side) {
    const bool is_new = has_just_changed(i) && side == last_of(i).side;
    const double price = cost_->c[i] * side;
    const double p = logit_->theta()[i] - middle_ * price - image_with_s_[i];
    const double rho = root(p, image_with_rho_[i] - price, residue_[i], is_new).rho;
    if (rho > next.rho) next = {.rho = rho, .coordinate = i, .place = x, .side = side};
  };
  if (x < cost_->upper[i]) consider(up);
  if (x > cost_->lower[i] && (down != up || !(x < cost_->upper[i]))) consider(down);
}

bool AbsolutePath::has_just_changed(Index i) const {
  return last_of(i).rho <= rho_ * (1 + coincidence);
}

AbsolutePath::Event AbsolutePath::next_event() const {
  const Root end = root(left_, middle_ * gamma_, level_ - threshold_, false);
  Event next = {.rho = end.rho, .eta = end.eta};
  for (Index j = 0; j < static_cast<Index>(free_.size()); ++j) stops(j, next);
  for (Index i = 0; i < logit_->dimension(); ++i) {
    if (side_[i] == 0) starts(i, next);
  }
  return next;
}

void AbsolutePath::change(const Event& event) {
  const Index i = event.coordinate;
  last_of(i) = event;
  const bool starts = event.side != 0;
  if (starts) {
    free_.push_back(i);
    side_[i] = event.side;
  } else {
    free_.erase(std::find(free_.begin(), free_.end(), i));
    last_of(i).side = side_[i];
    side_[i] = 0;
    place_[i] = event.place;
  }
  image_ += (starts ? -1 : 1) * logit_->two_epsilon() * place_[i] * logit_->inverse().col(i);
}

void AbsolutePath::arrive(const Event& end, RobustLogit::State& state) const {
  // By s²(1 − α − γη²) = r² or by s(1 − α + βη) = θᵀ[x_A; 1] − θᵀw − t: what cancels less.
  const double square = left_ - gamma_ * end.eta * end.eta;
  const double added = middle_ * gamma_ * end.eta;
  const double slope = left_ + added;
  const bool is_square = left_ * std::abs(slope) <= 2 * std::max(left_, std::abs(added)) * square;
  const double s = is_square ? std::sqrt(squared_rest_ / square) : (level_ - threshold_) / slope;
  state.x = place_;
  for (Index j = 0; j < static_cast<Index>(free_.size()); ++j) {
    const Index i = free_[static_cast<std::size_t>(j)];
    state.x[i] = s * (with_s_[j] - end.eta * with_rho_[j]) - rest_[j];
  }
  state.x = state.x.cwiseMax(cost_->lower).cwiseMin(cost_->upper);
  logit_->evaluate(state);
}

}  // namespace ellice
