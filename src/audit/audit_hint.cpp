#include "audit/audit_hint.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice::audit {

namespace {

constexpr int most_rounds = 16;
constexpr int sweeps_per_round = 2;
// Rounds that bring the bound no nearer to what is claimed than by this share end the search.
constexpr double idle_share = 0.02;
constexpr int most_idle = 2;
constexpr int bisections = 20;
// Of what a bound misses, that the division of a unit should add; else the coarsest is decided.
constexpr double least_share = 0.03;
constexpr double farthest_move = 1e6;  // of one move along a range without an end

}  // namespace

Relaxation::Relaxation(const Units& units, const Cone& cone, std::size_t number, double epsilon)
    : units_(&units),
      cone_(&cone),
      number_(number),
      epsilon_(epsilon),
      counts_cost_(units.question().claimed.has_value()),
      metric_(2 * epsilon * cone.spread().cast<double>()),
      center_(cone.center().cast<double>()),
      threshold_(units.question().threshold),
      ends_(units.all().size()) {}

Hint Relaxation::solve(const Part& part, const Hint* from) {
  const Index d = units_->question().constraints->query().size();
  charge_ = from != nullptr ? from->charge : 0;
  price_ = !counts_cost_ ? 1 : from != nullptr && from->price > 0 ? from->price : 1;
  double factor = from != nullptr ? 1.3 : 4;
  begin(part, from);
  Hint best{.cone = number_, .point = point_.head(d), .price = price_, .charge = charge_};
  long double most = -infinity;
  low_ = {};
  high_ = {.price = infinity};
  int idle = 0;
  const long double enough = units_->question().claimed.value_or(0);
  for (int round = 0; round < most_rounds && idle < most_idle; ++round) {
    set_ends(part);
    for (int k = 0; k < sweeps_per_round; ++k) sweep(part);
    if (!point_.allFinite() || !(square_ > 0)) break;
    if (counts_cost_) go_between();
    const Vector theta = center_ - image_ / std::sqrt(square_);
    long double price = price_;
    const UnitBound bound = best_bound(*units_, part, theta.cast<long double>(), price);
    const UnitBound::Least least = bound.over(part);
    const long double before = most;
    if (least.value > most) {
      most = least.value;
      best = {.cone = number_,
              .point = point_.head(d),
              .price = static_cast<double>(price),
              .charge = charge_,
              .shares = shares_};
      choose_unit(part, enough - most, best);
    }
    if (counts_cost_ ? most >= enough : most > 0) break;
    const double worth = least.left_out > 0 ? least.taken : infinity;
    const bool is_settled = charge_ >= least.left_out && charge_ <= worth;
    const bool is_between = !counts_cost_ || (low_.price > 0 && std::isfinite(high_.price));
    if (most - before < idle_share * (enough - before) && is_between && is_settled) ++idle;
    if (counts_cost_) {
      const auto aim = static_cast<double>(price);
      if (std::isinf(high_.price)) {
        price_ = std::max(aim, factor * price_);
      } else if (low_.price == 0) {
        price_ = std::min(aim, price_ / factor);
      } else {
        price_ = aim > low_.price && aim < high_.price ? aim : std::sqrt(low_.price * high_.price);
      }
      if (round > 1) factor = 4;
    }
    if (!is_settled) {
      const double aim = charge_ < least.left_out ? least.left_out : least.taken;
      charge_ = charge_ == 0 ? aim : 0.5 * (charge_ + aim);
      low_ = {};
      high_ = {.price = infinity};
    } else if (charge_ > 0 && least.left_out == 0) {
      charge_ *= 0.5;
    }
  }
  return best;
}

void Relaxation::go_between() {
  const auto margin = [&](double linear, double square) {
    return linear - std::sqrt(std::max(square, 0.0)) - threshold_;
  };
  Side& own = margin(center_.dot(point_), square_) < 0 ? low_ : high_;
  own = {.price = price_, .point = point_, .image = image_, .shares = shares_};
  if (low_.price == 0 || std::isinf(high_.price)) return;
  if (low_.price >= high_.price) {  // of another charge, or not at its end
    (&own == &low_ ? high_ : low_) = &own == &low_ ? Side{.price = infinity} : Side{};
    return;
  }
  const double linear = center_.dot(low_.point);
  const double slope = center_.dot(high_.point) - linear;
  const double first = low_.point.dot(low_.image);
  const double second = high_.point.dot(low_.image);
  const double third = high_.point.dot(high_.image);
  double below = 0;
  double above = 1;
  for (int step = 0; step < bisections; ++step) {
    const double a = (below + above) / 2;
    const double square = (1 - a) * (1 - a) * first + 2 * a * (1 - a) * second + a * a * third;
    (margin(linear + a * slope, square) < 0 ? below : above) = a;
  }
  point_ = (1 - above) * low_.point + above * high_.point;
  image_ = (1 - above) * low_.image + above * high_.image;
  square_ = point_.dot(image_);
  for (std::size_t u = 0; u < shares_.size(); ++u)
    shares_[u] = (1 - above) * low_.shares[u] + above * high_.shares[u];
}

void Relaxation::begin(const Part& part, const Hint* from) {
  const Vector& query = units_->question().constraints->query();
  const Index d = query.size();
  point_.resize(d + 1);
  point_ << query, 1.0;
  shares_.assign(part.size(), {});
  for (std::size_t u = 0; u < part.size(); ++u) {
    const Unit& unit = units_->all()[u];
    const Choice& choice = part[u];
    auto columns = point_.segment(unit.first, unit.count);
    if (unit.is_ordered) {
      double lower = choice.range ? unit.lower : infinity;
      double upper = choice.range ? unit.upper : -infinity;
      if (choice.first <= choice.last) {
        lower = std::min(lower, unit.move(choice.first));
        upper = std::max(upper, unit.move(choice.last));
      }
      ends_[u] = {.lower = lower, .upper = upper};
      const double before = from != nullptr ? from->point(unit.first) - query(unit.first) : 0;
      columns(0) += std::clamp(before, lower, upper);
      continue;
    }
    Vector& shares = shares_[u];
    shares = Vector::Zero(static_cast<Index>(unit.values.size()));
    const Index first = choice.first;
    const Index count = choice.last - choice.first + 1;
    if (from != nullptr && u < from->shares.size() && from->shares[u].size() == shares.size())
      shares.segment(first, count) = from->shares[u].segment(first, count);
    const double sum = shares.sum();
    if (sum > 0) {
      shares /= sum;
    } else {
      shares(units_->may_stay(part, u) ? unit.own : first) = 1;
    }
    for (Index k = 0; k < shares.size(); ++k) {
      if (shares(k) > 0) columns += shares(k) * unit.values[static_cast<std::size_t>(k)].move;
    }
  }
  image_ = metric_ * point_;
  square_ = point_.dot(image_);
}

void Relaxation::set_ends(const Part& part) {
  for (std::size_t u = 0; u < part.size(); ++u) {
    const Unit& unit = units_->all()[u];
    if (!unit.is_ordered || part[u].is_decided()) continue;
    Ends& ends = ends_[u];
    const bool stays = units_->may_stay(part, u) && units_->is_counted(unit.feature);
    const double charge = charge_ + (counts_cost_ ? unit.charge : 0);
    ends.is_hull = stays && charge > 0;
    ends.slope_below = ends.slope_above = ends.touch_below = ends.touch_above = 0;
    if (!ends.is_hull) continue;
    // (cost + charge)/length falls until it rises.
    const auto touch = [&](double end, double& slope) {
      if (end == 0) return 0.0;
      const double length = std::abs(end);
      const double square = counts_cost_ ? unit.square : 0;
      const double absolute = counts_cost_ ? unit.absolute : 0;
      const double at = square > 0 ? std::min(length, std::sqrt(charge / square)) : length;
      if (std::isinf(at)) return 0.0;
      slope = charge / at + square * at + absolute;
      return at;
    };
    ends.touch_below = touch(std::min(0.0, ends.lower), ends.slope_below);
    ends.touch_above = touch(std::max(0.0, ends.upper), ends.slope_above);
  }
}

void Relaxation::sweep(const Part& part) {
  image_.noalias() = metric_ * point_;
  square_ = point_.dot(image_);
  for (std::size_t u = 0; u < part.size(); ++u) {
    if (units_->all()[u].is_ordered) {
      if (ends_[u].lower < ends_[u].upper) move_number(u);
    } else if (part[u].first < part[u].last) {
      move_shares(u, part);
    }
  }
}

double Relaxation::slope_of_cost(std::size_t u, double move) const {
  const Unit& unit = units_->all()[u];
  const Ends& ends = ends_[u];
  const double own = counts_cost_ ? 2 * unit.square * std::abs(move) + unit.absolute : 0;
  if (move < 0) return -std::max(own, ends.slope_below);
  return std::max(own, ends.slope_above);
}

// By the minimiser of a quadratic that lies above the function and touches it here:
// s ≤ (s²/s₀ + s₀)/2. Costs between grid values are those of the curve through them.
void Relaxation::move_number(std::size_t u) {
  const Unit& unit = units_->all()[u];
  const Ends& ends = ends_[u];
  const Index i = unit.first;
  const double now = point_(i) - units_->question().constraints->query()(i);
  const double root = std::sqrt(std::max(square_, 1e-300));
  const double bend = price_ * metric_(i, i) / root;
  const double tilt = price_ * (image_(i) / root - center_(i));
  const double lower = std::max(ends.lower, now - farthest_move);
  const double upper = std::min(ends.upper, now + farthest_move);
  const auto slope = [&](double move) {
    return slope_of_cost(u, move) + tilt + bend * (move - now);
  };
  // On the side that the slope at staying points to, its own piece first: straight, then curved.
  const auto on_side = [&](double sign) {
    const double straight = sign > 0 ? ends.slope_above : ends.slope_below;
    const double touch = sign > 0 ? ends.touch_above : ends.touch_below;
    const double square = counts_cost_ ? unit.square : 0;
    const double absolute = counts_cost_ ? unit.absolute : 0;
    // sign·straight + tilt + bend·(move − now) = 0, then with 2·square·move for straight.
    if (bend > 0 && straight > 0) {
      const double move = now - (sign * straight + tilt) / bend;
      if (std::abs(move) <= touch) return move;
    }
    const double curve = bend + 2 * square;
    if (!(curve > 0)) return sign * infinity;
    const double move = (bend * now - tilt - sign * absolute) / curve;
    return sign * std::max(touch, sign * move);
  };
  double move = 0;
  if (lower > 0 || (lower <= 0 && upper >= 0 && slope(0) < 0)) {
    move = on_side(1);
  } else if (upper < 0 || slope(-0x1p-1000) > 0) {
    move = on_side(-1);
  }
  move = std::clamp(move, lower, upper);
  if (move != now) shift(i, move - now);
}

void Relaxation::move_shares(std::size_t u, const Part& part) {
  const Unit& unit = units_->all()[u];
  Vector& shares = shares_[u];
  const double root = std::sqrt(std::max(square_, 1e-300));
  const Vector pull = price_ * (center_.segment(unit.first, unit.count) -
                                image_.segment(unit.first, unit.count) / root);
  int to = -1;
  int from = -1;
  double low = infinity;
  double high = -infinity;
  for (int k = part[u].first; k <= part[u].last; ++k) {
    const Unit::Value& value = unit.values[static_cast<std::size_t>(k)];
    const double reduced =
        (counts_cost_ ? value.cost : 0) + (k != unit.own ? charge_ : 0) - pull.dot(value.move);
    if (reduced < low) {
      low = reduced;
      to = k;
    }
    if (shares(k) > 0 && reduced > high) {
      high = reduced;
      from = k;
    }
  }
  if (from < 0 || from == to || !(high > low)) return;
  const Vector by = unit.values[static_cast<std::size_t>(to)].move -
                    unit.values[static_cast<std::size_t>(from)].move;
  const auto block = metric_.block(unit.first, unit.first, unit.count, unit.count);
  const double curve = price_ / root * by.dot(block * by);
  const double share = curve > 0 ? std::min(shares(from), (high - low) / curve) : shares(from);
  shares(from) -= share;
  shares(to) += share;
  shift(unit, share * by);
}

void Relaxation::shift(Index column, double by) {
  point_(column) += by;
  square_ += by * (2 * image_(column) + by * metric_(column, column));
  image_ += by * metric_.col(column);
}

void Relaxation::shift(const Unit& unit, const Vector& by) {
  for (Index i = 0; i < unit.count; ++i) {
    if (by(i) != 0) shift(unit.first + i, by(i));
  }
}

double Relaxation::spread_of(std::size_t u, const Part& part) const {
  const Unit& unit = units_->all()[u];
  const Choice& choice = part[u];
  if (!unit.is_ordered) {
    const auto block = metric_.block(unit.first, unit.first, unit.count, unit.count);
    Vector mean = Vector::Zero(unit.count);
    double sum = 0;
    for (Index k = 0; k < shares_[u].size(); ++k) {
      if (shares_[u](k) == 0) continue;
      const Vector& move = unit.values[static_cast<std::size_t>(k)].move;
      mean += shares_[u](k) * move;
      sum += shares_[u](k) * move.dot(block * move);
    }
    return std::max(sum - mean.dot(block * mean), 0.0);
  }
  const double move = point_(unit.first) - units_->question().constraints->query()(unit.first);
  const double curve = metric_(unit.first, unit.first);
  const Ends& ends = ends_[u];
  const double touch = move < 0 ? ends.touch_below : ends.touch_above;
  if (ends.is_hull && move != 0 && std::abs(move) < touch)
    return curve * std::abs(move) * (touch - std::abs(move));
  if (choice.range) return choice.is_decided() ? 0 : curve * move * move;
  int below = choice.first;
  int above = choice.last;
  while (above - below > 1) {
    const int middle = below + (above - below) / 2;
    (unit.move(middle) <= move ? below : above) = middle;
  }
  return curve * std::max((move - unit.move(below)) * (unit.move(above) - move), 0.0);
}

double Relaxation::coarseness_of(std::size_t u, const Part& part) const {
  const Unit& unit = units_->all()[u];
  const Choice& choice = part[u];
  const auto block = metric_.block(unit.first, unit.first, unit.count, unit.count);
  const Vector now = point_.segment(unit.first, unit.count) -
                     units_->question().constraints->query().segment(unit.first, unit.count);
  int first = choice.first;
  int last = choice.last;
  int own = -1;
  if (unit.is_ordered) {
    own = nearest(u, choice);
    first = std::max(first, own - 1);
    last = std::min(last, own + 1);
  } else {
    (void)shares_[u].maxCoeff(&own);
  }
  double least = infinity;
  for (int k = first; k <= last; ++k) {
    if (k == own) continue;
    const Vector by = unit.values[static_cast<std::size_t>(k)].move - now;
    least = std::min(least, by.dot(block * by));
  }
  return choice.range ? 0 : least;
}

int Relaxation::nearest(std::size_t u, const Choice& choice) const {
  const Unit& unit = units_->all()[u];
  const double move = point_(unit.first) - units_->question().constraints->query()(unit.first);
  int low = choice.first;
  for (int high = choice.last; low < high;) {
    const int middle = low + (high - low) / 2;
    if (std::abs(unit.move(middle + 1) - move) > std::abs(unit.move(middle) - move)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void Relaxation::choose_unit(const Part& part, long double missing, Hint& hint) const {
  // What dividing it adds to the bound is about half of m·spread/s.
  double most = std::max(1e-12 * square_, least_share * static_cast<double>(missing) * 2 *
                                              std::sqrt(square_) / price_);
  double coarsest = -1;
  std::optional<std::size_t> by_coarseness;
  for (std::size_t u = 0; u < part.size(); ++u) {
    if (part[u].is_decided()) continue;
    const double spread = spread_of(u, part);
    if (spread > most) {
      most = spread;
      hint.unit = u;
    }
    const double coarseness = coarseness_of(u, part);
    if (coarseness > coarsest) {
      coarsest = coarseness;
      by_coarseness = u;
    }
  }
  hint.is_single = !hint.unit;
  if (!hint.unit) hint.unit = by_coarseness;
  if (!hint.unit || !units_->all()[*hint.unit].is_ordered) return;
  const Unit& unit = units_->all()[*hint.unit];
  const Choice& choice = part[*hint.unit];
  const double move = point_(unit.first) - units_->question().constraints->query()(unit.first);
  hint.place = nearest(*hint.unit, choice);
  if (!hint.is_single && hint.place > choice.first && unit.move(hint.place) > move) --hint.place;
}

}  // namespace ellice::audit
