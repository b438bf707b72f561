#include "solver/share_relaxation.hpp"

#include <algorithm>
#include <cmath>

#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr int sweeps_per_round = 3;
constexpr int share_rounds = 40;
constexpr int most_idle_rounds = 3;
constexpr double least_gain = 1e-4;      // of a bound, for a round not to be idle
constexpr double settled_score = 1e-3;   // |g| in units of s: the multiplier is good enough
constexpr double settled_share = 0.9;    // of the cost of the point: else sweeps do not settle
constexpr double multiplier_growth = 8;  // of the multiplier in one round
constexpr double price_step = 0.5;       // towards the price of a change that the bound asks for,
constexpr double drift = 0.2;            // which moves the multiplier, and its bracket with it

}  // namespace

ShareRelaxation::ShareRelaxation(const BoxFactor& factor, const SearchLayout& layout,
                                 SearchRecord& record, WorkLimit& limit)
    : factor_(&factor),
      layout_(&layout),
      record_(&record),
      limit_(&limit),
      gains_(layout.options()),
      move_(layout.columns()),
      image_(layout.columns() + 1),
      activity_(layout.rules().size()),
      penalty_(layout.rules().size()),
      weights_(layout.rules().size()),
      slope_(layout.columns()),
      pull_(layout.columns()) {
  Vector softness = Vector::Zero(layout.columns());  // how far a unit of cost moves a column
  for (const ListUnit& list : layout.lists()) {
    for (std::size_t o = list.first; o < list.last; ++o) {
      const double* moves = layout.moves(list, o);
      for (Index i = 0; i < list.width; ++i) {
        gains_[o] += layout.theta()[list.column + i] * moves[i];
        const double cost = std::max(layout.option_cost(o), 1e-12);
        softness[list.column + i] =
            std::max(softness[list.column + i], moves[i] * moves[i] / (2 * cost));
      }
    }
  }
  for (const NumberUnit& number : layout.numbers())
    softness[number.column] = 1 / (number.quadratic + number.absolute);
  for (std::size_t r = 0; r < layout.rules().size(); ++r) {
    const double power = layout.rules()[r].coefficients.cwiseAbs2().cwiseProduct(softness).sum();
    penalty_[r] = power > 0 ? 2 / power : 0;
  }
  const std::size_t units = layout.lists().size() + layout.numbers().size();
  for (Worths* worths : {&best_, &trial_}) {
    worths->options.resize(layout.options());
    for (std::vector<double>* by_unit :
         {&worths->change, &worths->stay, &worths->gain, &worths->term})
      by_unit->resize(units);
    worths->taken.resize(units);
  }
}

ShareNode ShareRelaxation::root() const {
  ShareNode node;
  node.open.assign(layout_->options(), 1);
  node.shares.assign(layout_->options(), 0);
  for (const ListUnit& list : layout_->lists()) {
    std::size_t cheapest = list.first;
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (layout_->option_cost(o) < layout_->option_cost(cheapest)) cheapest = o;
    }
    node.shares[cheapest] = 1;
  }
  for (const NumberUnit& number : layout_->numbers()) {
    const std::uint8_t stays = number.stays ? ShareNode::stay : 0;
    node.modes.push_back(static_cast<std::uint8_t>(stays | ShareNode::move));
    node.moves.push_back(number.stays ? 0 : std::clamp(0.0, number.lower, number.upper));
  }
  node.prices.assign(layout_->rules().size(), 0);
  return node;
}

bool ShareRelaxation::needs_mode(const ShareNode& node, std::size_t number) const {
  const NumberUnit& unit = layout_->numbers()[number];
  if (node.modes[number] != (ShareNode::stay | ShareNode::move)) return false;
  return unit.charge > 0 || !unit.is_joined || unit.is_named || node.is_limited;
}

void ShareRelaxation::start(const ShareNode& node) {
  const Index d = layout_->columns();
  move_.setZero();
  for (const ListUnit& list : layout_->lists()) {
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (node.shares[o] == 0) continue;
      const double* moves = layout_->moves(list, o);
      for (Index i = 0; i < list.width; ++i) move_[list.column + i] += node.shares[o] * moves[i];
    }
  }
  for (std::size_t k = 0; k < node.moves.size(); ++k)
    move_[layout_->numbers()[k].column] = node.moves[k];
  image_ = layout_->image();
  for (const Index column : layout_->movable()) {
    if (move_[column] != 0) image_ += move_[column] * layout_->matrix().col(column);
  }
  square_ = std::max(0.0, layout_->square() + move_.dot(layout_->image().head(d) + image_.head(d)));
  root_ = std::sqrt(square_);
  linear_ = layout_->excess() + layout_->theta().head(d).dot(move_);
  for (std::size_t r = 0; r < activity_.size(); ++r)
    activity_[r] = layout_->activity(r) + layout_->rules()[r].coefficients.dot(move_);
  weigh_rules(node);
}

// λ with what the penalty adds: that of the side which is or would be broken.
void ShareRelaxation::weigh_rules(const ShareNode& node) {
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    const LinearRule& rule = layout_->rules()[r];
    const double above = node.prices[r] + penalty_[r] * (activity_[r] - rule.upper);
    const double below = node.prices[r] + penalty_[r] * (activity_[r] - rule.lower);
    weights_[r] = above > 0 ? above : below < 0 ? below : 0;
  }
}

double ShareRelaxation::rule_slope(Index column) const {
  double slope = 0;
  for (std::size_t r = 0; r < weights_.size(); ++r)
    slope += weights_[r] * layout_->rules()[r].coefficients[column];
  return slope;
}

void ShareRelaxation::shift(Index column, double by) {
  square_ += by * (2 * image_[column] + by * layout_->matrix()(column, column));
  image_ += by * layout_->matrix().col(column);
  move_[column] += by;
  linear_ += by * layout_->theta()[column];
  for (std::size_t r = 0; r < activity_.size(); ++r)
    activity_[r] += by * layout_->rules()[r].coefficients[column];
}

void ShareRelaxation::sweep(ShareNode& node, double m) {
  for (const ListUnit& list : layout_->lists()) move_shares(node, list, m);
  for (std::size_t k = 0; k < node.moves.size(); ++k) move_number(node, k, m);
  const auto units = static_cast<double>(layout_->lists().size() + node.moves.size());
  limit_->add(units * (2 + static_cast<double>(layout_->columns()) / 16));
}

// From the dearest option in use to the cheapest, by the minimiser of a quadratic that lies above
// the function and touches it here: s ≤ (s²/s₀ + s₀)/2.
void ShareRelaxation::move_shares(ShareNode& node, const ListUnit& list, double m) {
  const double pull = root_ > 0 ? m / root_ : 0;
  std::size_t to = list.last;
  std::size_t from = list.last;
  double low = infinity;
  double high = -infinity;
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (node.open[o] == 0) continue;
    double slope = layout_->option_cost(o) - m * gains_[o];
    if (layout_->changes(o)) slope += node.change_price;
    const double* moves = layout_->moves(list, o);
    for (Index i = 0; i < list.width; ++i) {
      if (moves[i] == 0) continue;
      slope += moves[i] * pull * image_[list.column + i];
      if (!weights_.empty()) slope += moves[i] * rule_slope(list.column + i);
    }
    if (slope < low) {
      low = slope;
      to = o;
    }
    if (node.shares[o] > 0 && slope > high) {
      high = slope;
      from = o;
    }
  }
  if (from == list.last || from == to || !(high - low > 1e-14 * (std::abs(high) + std::abs(low))))
    return;
  const double* after = layout_->moves(list, to);
  const double* before = layout_->moves(list, from);
  double curvature = 0;
  for (Index i = 0; i < list.width; ++i) {
    const double first = after[i] - before[i];
    if (first == 0) continue;
    for (Index j = 0; j < list.width; ++j) {
      const double second = after[j] - before[j];
      if (second != 0)
        curvature += first * second * layout_->matrix()(list.column + i, list.column + j);
    }
  }
  curvature *= pull;
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    if (weights_[r] == 0) continue;
    double along = 0;
    for (Index i = 0; i < list.width; ++i)
      along += (after[i] - before[i]) * layout_->rules()[r].coefficients[list.column + i];
    curvature += penalty_[r] * along * along;
  }
  double share = node.shares[from];
  if (curvature > 0) share = std::min(share, (high - low) / curvature);
  node.shares[to] += share;
  node.shares[from] = share == node.shares[from] ? 0 : node.shares[from] - share;
  for (Index i = 0; i < list.width; ++i) {
    if (after[i] != before[i]) shift(list.column + i, share * (after[i] - before[i]));
  }
  root_ = std::sqrt(std::max(0.0, square_));
  weigh_rules(node);
}

// Staying is free and changing costs `charge` beside what it costs anyway: their hull goes straight
// to where its tangent touches.
ShareRelaxation::Hull ShareRelaxation::hull(const NumberUnit& unit, double charge, bool upwards) {
  const double near = std::max(0.0, upwards ? unit.lower : -unit.upper);
  const double far = upwards ? unit.upper : -unit.lower;
  if (!(far > 0)) return {};
  const double touch = unit.quadratic > 0 ? std::sqrt(2 * charge / unit.quadratic) : far;
  const double end = charge > 0 ? std::clamp(touch, near, far) : near;
  return {.slope = end > 0 ? (charge + unit.cost(end)) / end : unit.absolute, .end = end};
}

void ShareRelaxation::move_number(ShareNode& node, std::size_t index, double m) {
  const std::uint8_t mode = node.modes[index];
  if (mode == ShareNode::stay) return;
  const NumberUnit& unit = layout_->numbers()[index];
  const double pull = root_ > 0 ? m / root_ : 0;
  const double now = node.moves[index];
  double slope = pull * image_[unit.column] - m * layout_->theta()[unit.column];
  double curvature = pull * layout_->matrix()(unit.column, unit.column);
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    if (weights_[r] == 0) continue;
    const double along = layout_->rules()[r].coefficients[unit.column];
    slope += weights_[r] * along;
    curvature += penalty_[r] * along * along;
  }
  // Minimises hull + slope·Δ + ½curvature·(Δ − now)², piece by piece.
  double best = infinity;
  double target = now;
  const auto piece = [&](double constant, double linear, double quadratic, double low,
                         double high) {
    if (low > high) return;
    const double bend = quadratic + curvature;
    const double pushed = curvature * now - slope - linear;
    double x = pushed > 0 ? high : low;
    if (bend > 0) x = std::clamp(pushed / bend, low, high);
    const double away = x - now;
    const double worth =
        constant + linear * x + 0.5 * quadratic * x * x + slope * x + 0.5 * curvature * away * away;
    if (worth < best) {
      best = worth;
      target = x;
    }
  };
  const bool both = mode != ShareNode::move;
  const double price = both ? charge(node, unit) : 0;
  if (both) piece(0, 0, 0, 0, 0);
  for (const bool upwards : {true, false}) {
    const double sign = upwards ? 1 : -1;
    const double near = std::max(0.0, upwards ? unit.lower : -unit.upper);
    const double far = upwards ? unit.upper : -unit.lower;
    if (far < 0) continue;
    double begin = near;
    if (both) {
      const Hull bridge = hull(unit, price, upwards);
      begin = bridge.end;
      if (upwards) piece(0, bridge.slope, 0, 0, begin);
      if (!upwards) piece(0, -bridge.slope, 0, -begin, 0);
    }
    if (begin > far) continue;
    piece(price, sign * unit.absolute, unit.quadratic, upwards ? begin : -far,
          upwards ? far : -begin);
  }
  if (target == now || best == infinity) return;
  node.moves[index] = target;
  shift(unit.column, target - move_[unit.column]);
  root_ = std::sqrt(std::max(0.0, square_));
  weigh_rules(node);
}

double ShareRelaxation::spread_of_list(const ShareNode& node, std::size_t list) const {
  const ListUnit& unit = layout_->lists()[list];
  double sum = 0;
  for (std::size_t o = unit.first; o < unit.last; ++o) {
    const double share = node.shares[o];
    if (share <= 0 || share >= 1) continue;
    const double* moves = layout_->moves(unit, o);
    for (Index i = 0; i < unit.width; ++i) {
      const double away = moves[i] - move_[unit.column + i];
      if (away == 0) continue;
      for (Index j = 0; j < unit.width; ++j) {
        sum += share * away * (moves[j] - move_[unit.column + j]) *
               layout_->matrix()(unit.column + i, unit.column + j);
      }
    }
  }
  return sum;
}

double ShareRelaxation::share_of_change(const ShareNode& node, std::size_t number) const {
  const NumberUnit& unit = layout_->numbers()[number];
  const double move = node.moves[number];
  if (node.modes[number] == ShareNode::stay) return 0;
  if (node.modes[number] == ShareNode::move) return 1;
  const Hull bridge = hull(unit, charge(node, unit), move > 0);
  if (bridge.end > 0) return std::min(1.0, std::abs(move) / bridge.end);
  return move == 0 ? 0 : 1;
}

double ShareRelaxation::spread_of_number(const ShareNode& node, std::size_t number) const {
  const NumberUnit& unit = layout_->numbers()[number];
  const double share = share_of_change(node, number);
  if (share <= 0 || share >= 1) return 0;
  const double whole = node.moves[number] / share;
  return share * (1 - share) * whole * whole * layout_->matrix()(unit.column, unit.column);
}

bool ShareRelaxation::solve(ShareNode& node) {
  start(node);
  best_.value = -infinity;
  if (!evaluate(node, 0, trial_)) return false;
  std::swap(best_, trial_);
  best_multiplier_ = 0;
  node.bound = std::max(node.bound, best_.value);
  if (node.bound >= record_->enough()) return false;
  double m = node.multiplier > 0 ? node.multiplier : first_multiplier(node);
  double low = 0;
  double high = infinity;
  double below = -infinity;  // g at low and high
  double above = infinity;
  int idle = 0;
  for (int round = 0; round < share_rounds; ++round) {
    check_stop();
    for (int k = 0; k < sweeps_per_round; ++k) sweep(node, m);
    for (std::size_t r = 0; r < weights_.size(); ++r) node.prices[r] = weights_[r];
    if (!evaluate(node, m, trial_)) return false;
    const double before = best_.value;
    if (node.is_limited) {
      // What a change must be worth for no more than may to be worthwhile.
      const double price = trial_.is_full ? -0.5 * (trial_.dearest + trial_.next) : 0;
      node.change_price += price_step * (price - node.change_price);
      low *= 1 - drift;
      high *= 1 + drift;
    }
    if (trial_.value > best_.value) {
      std::swap(best_, trial_);
      best_multiplier_ = m;
    }
    if (const double share = tamed(node); share < 1 && share > 0.1) {
      if (!evaluate(node, m, trial_, share)) return false;
      if (trial_.value > best_.value) std::swap(best_, trial_);
    }
    if (std::max(node.bound, best_.value) >= record_->enough()) return false;
    idle = best_.value - before > least_gain * std::abs(before) ? 0 : idle + 1;
    const double g = value();
    if (g < 0) {
      low = m;
      below = g;
    } else {
      high = m;
      above = g;
    }
    const bool is_bracketed = high < infinity && low > 0;
    if (std::abs(g) <= settled_score * root_ && idle > 0) break;
    if (idle >= most_idle_rounds && (is_bracketed || m > 1e14 || m < 1e-14)) break;
    if (high == infinity) {
      m *= round < 2 ? 2 : multiplier_growth;
    } else if (low == 0) {
      m /= round < 2 ? 2 : multiplier_growth;
    } else {
      // Regula falsi, kept away from the ends.
      const double share = std::isfinite(below) ? -below / (above - below) : 0.5;
      m = low + std::clamp(share, 0.1, 0.9) * (high - low);
      if (high - low <= 1e-9 * high) break;
    }
  }
  needed_box_ = best_.value < settled_share * cost_at(node) && place_in_box(node);
  if (needed_box_) {
    if (!evaluate(node, node.multiplier, trial_)) return false;
    if (trial_.value > best_.value) {
      std::swap(best_, trial_);
      best_multiplier_ = node.multiplier;
    }
    if (std::max(node.bound, best_.value) >= record_->enough()) return false;
  }
  node.multiplier = best_multiplier_ > 0 ? best_multiplier_ : m;
  node.bound = std::max(node.bound, best_.value);
  return true;
}

// Where the half-space at the cheapest point is reached.
double ShareRelaxation::first_multiplier(ShareNode& node) {
  double m = 1;
  double low = 0;
  double high = infinity;
  for (int k = 0; k < 60; ++k) {
    if (!evaluate(node, m, trial_)) break;
    (trial_.excess < 0 ? low : high) = m;
    if (high == infinity) {
      m *= 4;
    } else if (low == 0) {
      m /= 4;
    } else if (high < 1.3 * low) {
      break;
    } else {
      m = std::sqrt(low * high);
    }
    if (m > 1e12 || m < 1e-12) break;
  }
  return m;
}

}  // namespace ellice
