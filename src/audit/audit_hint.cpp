#include "audit/audit_hint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ellice::audit {

namespace {

constexpr int hint_rounds = 10;
constexpr int sweeps_per_round = 3;
constexpr int bisections = 40;

/// Where a function that does not fall becomes positive.
template <class F>
double root_between(double low, double high, const F& slope) {
  if (!(slope(low) < 0)) return low;
  if (!(slope(high) > 0)) return high;
  for (int step = 0; step < bisections; ++step) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Relaxation::Relaxation(const Units& units, const Cone& cone, std::size_t number, double epsilon)
    : units_(&units),
      cone_(&cone),
      epsilon_(epsilon),
      metric_(2 * epsilon * cone.spread().cast<double>()),
      center_(cone.center().cast<double>()),
      threshold_(units.question().threshold),
      best_{.cone = number} {
  for (const Unit& unit : units.all()) {
    Listed list;
    std::vector<std::size_t> order(unit.values.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    if (unit.is_ordered) {
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return unit.values[a].move(0) < unit.values[b].move(0);
      });
    }
    for (const std::size_t k : order) {
      list.moves.push_back(unit.is_ordered ? unit.values[k].move(0) : 0);
      list.costs.push_back(unit.values[k].cost);
    }
    lists_.push_back(std::move(list));
  }
}

Hint Relaxation::solve(const Decisions& decisions, const Hint* from) {
  begin(decisions, from);
  double price = from != nullptr && from->price > 0 ? from->price : 1;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  for (int round = 0; round < hint_rounds; ++round) {
    for (int k = 0; k < sweeps_per_round; ++k) sweep(decisions, price);
    if (consider(decisions, price)) return best_;
    (margin() < 0 ? low : high) = price;
    if (std::isinf(high)) {
      price *= round == 0 && from != nullptr ? 1.3 : 4;
    } else if (low == 0) {
      price /= round == 0 && from != nullptr ? 1.3 : 4;
    } else {
      price = std::sqrt(low * high);
    }
  }
  return best_;
}

void Relaxation::begin(const Decisions& decisions, const Hint* from) {
  const Vector& query = units_->question().constraints->query();
  const Index d = query.size();
  point_.resize(d + 1);
  point_ << query, 1.0;
  shares_.assign(units_->all().size(), {});
  for (std::size_t u = 0; u < units_->all().size(); ++u) {
    const Unit& unit = units_->all()[u];
    auto columns = point_.segment(unit.first, unit.count);
    if (decisions[u] && *decisions[u] >= 0) {
      columns += unit.values[static_cast<std::size_t>(*decisions[u])].move;
    } else if (unit.is_ordered) {
      const Listed& list = lists_[u];
      double lower = unit.has_range ? unit.lower : std::numeric_limits<double>::infinity();
      double upper = unit.has_range ? unit.upper : -std::numeric_limits<double>::infinity();
      if (!decisions[u] && !list.moves.empty()) {
        lower = std::min(lower, list.moves.front());
        upper = std::max(upper, list.moves.back());
      }
      const double before = from != nullptr ? from->point(unit.first) - query(unit.first) : 0;
      columns(0) += std::clamp(before, lower, upper);
    } else {
      Vector& shares = shares_[u];
      shares = Vector::Unit(static_cast<Index>(unit.values.size()), 0);
      if (from != nullptr && u < from->shares.size() && from->shares[u].size() == shares.size())
        shares = from->shares[u];
      for (Index k = 0; k < shares.size(); ++k)
        columns += shares(k) * unit.values[static_cast<std::size_t>(k)].move;
    }
  }
  image_ = metric_ * point_;
  square_ = point_.dot(image_);
  best_.point = point_.head(d);
  best_.price = 0;
  best_.unit.reset();
  best_bound_ = -std::numeric_limits<long double>::infinity();
}

void Relaxation::sweep(const Decisions& decisions, double price) {
  image_.noalias() = metric_ * point_;
  square_ = point_.dot(image_);
  for (std::size_t u = 0; u < units_->all().size(); ++u) {
    const Unit& unit = units_->all()[u];
    if (decisions[u] && *decisions[u] >= 0) continue;
    if (unit.is_ordered) {
      const Listed& list = lists_[u];
      const bool is_fixed = !unit.has_range && list.moves.size() < 2;
      if (!is_fixed) move_number(u, price);
    } else {
      move_shares(u, price);
    }
  }
}

double Relaxation::slope_of_cost(std::size_t u, double move) const {
  const Unit& unit = units_->all()[u];
  const Listed& list = lists_[u];
  if (unit.has_range || list.moves.size() < 2)
    return 2 * unit.square * move + (move < 0 ? -unit.absolute : unit.absolute);
  const auto above = std::upper_bound(list.moves.begin() + 1, list.moves.end() - 1, move);
  const auto k = static_cast<std::size_t>(above - list.moves.begin());
  return (list.costs[k] - list.costs[k - 1]) / (list.moves[k] - list.moves[k - 1]);
}

void Relaxation::move_number(std::size_t u, double price) {
  const Unit& unit = units_->all()[u];
  const Listed& list = lists_[u];
  const Index i = unit.first;
  const double own = units_->question().constraints->query()(i);
  const double now = point_(i) - own;
  double lower = unit.has_range ? unit.lower : list.moves.front();
  double upper = unit.has_range ? unit.upper : list.moves.back();
  if (unit.has_range && !list.moves.empty()) {
    lower = std::min(lower, list.moves.front());
    upper = std::max(upper, list.moves.back());
  }
  lower = std::max(lower, now - 1e6);
  upper = std::min(upper, now + 1e6);
  const double curve = metric_(i, i);
  const auto slope = [&](double move) {
    const double by = move - now;
    const double square = std::max(square_ + 2 * image_(i) * by + curve * by * by, 1e-300);
    return slope_of_cost(u, move) +
           price * ((image_(i) + curve * by) / std::sqrt(square) - center_(i));
  };
  const double move = root_between(lower, upper, slope);
  if (move != now) shift(unit, Vector::Constant(1, move - now));
}

void Relaxation::move_shares(std::size_t u, double price) {
  const Unit& unit = units_->all()[u];
  Vector& shares = shares_[u];
  if (shares.size() < 2) return;
  const double root = std::sqrt(std::max(square_, 1e-300));
  Vector reduced(shares.size());
  for (Index k = 0; k < shares.size(); ++k) {
    const Unit::Value& value = unit.values[static_cast<std::size_t>(k)];
    const auto pull =
        center_.segment(unit.first, unit.count) - image_.segment(unit.first, unit.count) / root;
    reduced(k) = value.cost - price * pull.dot(value.move);
  }
  Index best = 0;
  (void)reduced.minCoeff(&best);
  Index worst = -1;
  for (Index k = 0; k < shares.size(); ++k) {
    if (k != best && shares(k) > 0 && (worst < 0 || reduced(k) > reduced(worst))) worst = k;
  }
  if (worst < 0) return;
  const Unit::Value& to = unit.values[static_cast<std::size_t>(best)];
  const Unit::Value& away = unit.values[static_cast<std::size_t>(worst)];
  const Vector by = to.move - away.move;
  const auto block = metric_.block(unit.first, unit.first, unit.count, unit.count);
  const double curve = by.dot(block * by);
  const double tilt = by.dot(image_.segment(unit.first, unit.count));
  const double linear =
      to.cost - away.cost - price * center_.segment(unit.first, unit.count).dot(by);
  const double share = root_between(0, shares(worst), [&](double a) {
    const double square = std::max(square_ + 2 * a * tilt + a * a * curve, 1e-300);
    return linear + price * (tilt + a * curve) / std::sqrt(square);
  });
  shares(worst) -= share;
  shares(best) += share;
  shift(unit, share * by);
}

void Relaxation::shift(const Unit& unit, const Vector& by) {
  point_.segment(unit.first, unit.count) += by;
  const Vector moved = metric_.middleCols(unit.first, unit.count) * by;
  square_ += 2 * by.dot(image_.segment(unit.first, unit.count)) +
             by.dot(moved.segment(unit.first, unit.count));
  image_ += moved;
}

double Relaxation::margin() const {
  return center_.dot(point_) - std::sqrt(std::max(square_, 0.0)) - threshold_;
}

bool Relaxation::consider(const Decisions& decisions, double price) {
  const Index d = point_.size() - 1;
  if (!point_.allFinite()) return false;
  const LongVector theta = cone_->worst(point_.cast<long double>(), epsilon_);
  if (!theta.allFinite()) return false;
  const long double bound = units_->bound(decisions, theta, price);
  if (!(bound > best_bound_)) return false;
  best_bound_ = bound;
  best_.point = point_.head(d);
  best_.price = price;
  best_.unit = widest(decisions);
  best_.shares = shares_;
  return bound >= units_->question().claimed;
}

double Relaxation::spread_of(std::size_t u) const {
  const Unit& unit = units_->all()[u];
  if (!unit.is_ordered) {
    const auto block = metric_.block(unit.first, unit.first, unit.count, unit.count);
    Vector mean = Vector::Zero(unit.count);
    double sum = 0;
    for (Index k = 0; k < shares_[u].size(); ++k) {
      const Vector& move = unit.values[static_cast<std::size_t>(k)].move;
      mean += shares_[u](k) * move;
      sum += shares_[u](k) * move.dot(block * move);
    }
    return std::max(sum - mean.dot(block * mean), 0.0);
  }
  const double own = units_->question().constraints->query()(unit.first);
  const double move = point_(unit.first) - own;
  const double curve = metric_(unit.first, unit.first);
  if (unit.has_range) return curve * move * move;
  const Listed& list = lists_[u];
  if (list.moves.size() < 2) return 0;
  const auto above = std::upper_bound(list.moves.begin() + 1, list.moves.end() - 1, move);
  return curve * std::max((move - *(above - 1)) * (*above - move), 0.0);
}

std::optional<std::size_t> Relaxation::widest(const Decisions& decisions) const {
  std::optional<std::size_t> result;
  double most = 1e-14 * square_;
  for (std::size_t u = 0; u < units_->all().size(); ++u) {
    if (decisions[u] || units_->all()[u].values.empty()) continue;
    const double spread = spread_of(u);
    if (spread <= most) continue;
    most = spread;
    result = u;
  }
  return result;
}

}  // namespace ellice::audit
