#include "solver/number_relaxation.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/rule_rounding.hpp"

namespace ellice {

namespace {

constexpr int relaxation_steps = 30;
constexpr double settled = 1e-7;  // of cost and s
// Steps in a row after which a bound that does not rise is the best to be had.
constexpr int most_idle_steps = 5;
constexpr double largest_growth = 10;  // of the multiplier in a step
constexpr double stiffness = 100;      // of a rule's penalty, against the curvature along it
// Of the search by sweeps: multipliers tried, sweeps at each, and what is as good as settled.
constexpr int most_multipliers = 24;
constexpr int sweeps_each = 3;
constexpr double nearly_settled = 1e-3;

}  // namespace

void NumberFrame::reserve(std::size_t most, std::size_t rules_count) {
  for (std::vector<double>* values : {&slope, &image, &lower, &upper, &point, &bend, &pull})
    values->resize(most);
  numbers.resize(most);
  matrix.resize(most * most);
  rules.resize(most * rules_count);
  activity.resize(rules_count);
  prices.resize(rules_count);
}

void NumberFrame::fix_into(NumberFrame& child, std::size_t i, double move, double cost) const {
  child.size = size - 1;
  child.excess = excess + slope[i] * move;
  child.square = square + move * (2 * image[i] + move * matrix[i * size + i]);
  child.paid = paid + cost;
  child.multiplier = multiplier;
  std::size_t row = 0;
  for (std::size_t j = 0; j < size; ++j) {
    if (j == i) continue;
    child.numbers[row] = numbers[j];
    child.slope[row] = slope[j];
    child.image[row] = image[j] + matrix[j * size + i] * move;
    child.lower[row] = lower[j];
    child.upper[row] = upper[j];
    child.point[row] = point[j];
    std::size_t column = 0;
    for (std::size_t k = 0; k < size; ++k) {
      if (k != i) child.matrix[row * child.size + column++] = matrix[j * size + k];
    }
    ++row;
  }
  for (std::size_t r = 0; r < activity.size(); ++r) {
    child.activity[r] = activity[r] + rules[r * size + i] * move;
    child.prices[r] = prices[r];
    std::size_t column = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (j != i) child.rules[r * child.size + column++] = rules[r * size + j];
    }
  }
}

NumberRelaxation::NumberRelaxation(const SearchLayout& layout, WorkLimit& limit)
    : layout_(&layout), limit_(&limit) {
  const std::size_t n = layout.numbers().size();
  for (std::vector<double>* values : {&bend_, &pull_, &gradient_, &sign_, &point_, &along_, &away_})
    values->resize(n);
  newton_.resize(n * n);
  free_.reserve(n);
  is_linear_ = std::all_of(layout.numbers().begin(), layout.numbers().end(),
                           [](const NumberUnit& unit) { return unit.quadratic == 0; });
  const std::size_t rules = layout.rules().size();
  for (std::vector<double>* values : {&prices_, &weights_, &penalty_}) values->resize(rules);
}

void NumberRelaxation::weigh_rules(const NumberFrame& frame, const std::vector<double>& y) {
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    const LinearRule& rule = layout_->rules()[r];
    double activity = frame.activity[r];
    for (std::size_t j = 0; j < frame.size; ++j) activity += frame.rules[r * frame.size + j] * y[j];
    const double above = prices_[r] + penalty_[r] * (activity - rule.upper);
    const double below = prices_[r] + penalty_[r] * (activity - rule.lower);
    weights_[r] = above > 0 ? above : below < 0 ? below : 0;
  }
}

bool NumberRelaxation::breaks_rules(const NumberFrame& frame) {
  for (std::size_t r = 0; r < frame.activity.size(); ++r) {
    double least = frame.activity[r];
    double most = least;
    for (std::size_t i = 0; i < frame.size; ++i) {
      const double along = frame.rules[r * frame.size + i];
      least += std::min(along * frame.lower[i], along * frame.upper[i]);
      most += std::max(along * frame.lower[i], along * frame.upper[i]);
    }
    const LinearRule& rule = layout_->rules()[r];
    const bool is_above = least > rule.upper + rule.tolerance + rule_rounding(least);
    if (!is_above && !(most < rule.lower - rule.tolerance - rule_rounding(most))) continue;
    proof_ = is_above ? Proof::rule_above : Proof::rule_below;
    proof_rule_ = r;
    return true;
  }
  return false;
}

// g, its gradient and the bound of Result 16 with the worst model at y and the multipliers times
// `scale`; false if that model's
// half-space misses the box.
bool NumberRelaxation::evaluate(const NumberFrame& frame, const std::vector<double>& y, double m,
                                double scale) {
  const std::size_t n = frame.size;
  double linear = frame.excess;
  double square = frame.square;
  for (std::size_t i = 0; i < n; ++i) {
    double image = frame.image[i];
    const double* row = frame.matrix.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) image += row[j] * y[j];
    bend_[i] = image;
    square += y[i] * (frame.image[i] + image);
    linear += frame.slope[i] * y[i];
  }
  root_ = std::sqrt(std::max(0.0, square));
  value_ = linear - root_;
  weigh_rules(frame, y);
  m *= scale;
  for (double& weight : weights_) weight *= scale;
  const double inverse = root_ > 0 ? 1 / root_ : 0;
  double reach = value_;
  double size = std::abs(linear) + root_;
  bound_ = -m * value_;
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    if (weights_[r] == 0) continue;
    const LinearRule& rule = layout_->rules()[r];
    double over = frame.activity[r] - (weights_[r] > 0 ? rule.upper : rule.lower);
    const double slack = rule.tolerance + rule_rounding(over);
    for (std::size_t j = 0; j < n; ++j) over += frame.rules[r * n + j] * y[j];
    bound_ += weights_[r] * over - std::abs(weights_[r]) * slack;
  }
  constant_ = bound_;
  cost_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    bend_[i] *= inverse;
    const double slope = frame.slope[i] - bend_[i];
    const double farthest = slope * ((slope > 0 ? frame.upper[i] : frame.lower[i]) - y[i]);
    reach += farthest;
    size += std::abs(farthest);
    pull_[i] = m * slope;
    for (std::size_t r = 0; r < weights_.size(); ++r)
      pull_[i] -= weights_[r] * frame.rules[r * n + i];
    cost_ += unit.cost(y[i]);
    // The least of cost − pull·(Δ − y) on the range.
    const double net = std::max(std::abs(pull_[i]) - unit.absolute, 0.0);
    double x = 0;
    if (unit.quadratic > 0) {
      x = std::copysign(net / unit.quadratic, pull_[i]);
    } else if (net > 0) {
      x = pull_[i] > 0 ? frame.upper[i] : frame.lower[i];
    }
    x = std::clamp(x, frame.lower[i], frame.upper[i]);
    bound_ += unit.cost(x) - pull_[i] * (x - y[i]);
  }
  if (reach >= -1e-13 * size) return true;
  proof_ = Proof::cone;
  return false;
}

bool NumberRelaxation::rules_out_beyond(const NumberFrame& parent, std::size_t i, double move,
                                        double direction) const {
  const std::size_t n = parent.size;
  if (proof_ == Proof::rule_above || proof_ == Proof::rule_below) {
    const double along = direction * parent.rules[proof_rule_ * n + i];
    return proof_ == Proof::rule_above ? along >= 0 : along <= 0;
  }
  if (proof_ != Proof::cone) return false;
  // The worst model at the point where the frame was closed, as a half-space in number i.
  double image = parent.image[i] + parent.matrix[i * n + i] * move;
  std::size_t k = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (j != i) image += parent.matrix[i * n + j] * point_[k++];
  }
  const double slope = parent.slope[i] - (root_ > 0 ? image / root_ : 0);
  return slope * direction <= 0;
}

// Where costs are linear, a pull that exceeds one by a little spoils the bound by the whole range:
// the share of the multipliers at which no pull does.
double NumberRelaxation::tamed(const NumberFrame& frame) const {
  double share = 1;
  for (std::size_t i = 0; i < frame.size; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    const double room = pull_[i] > 0 ? frame.upper[i] - point_[i] : point_[i] - frame.lower[i];
    if (unit.quadratic > 0 || room <= 0 || std::abs(pull_[i]) <= unit.absolute) continue;
    share = std::min(share, unit.absolute / std::abs(pull_[i]));
  }
  return share;
}

void NumberRelaxation::keep_best(NumberFrame& frame, double m) const {
  if (!(bound_ > frame.bound)) return;
  frame.bound = bound_;
  std::copy_n(point_.begin(), frame.size, frame.point.begin());
  std::copy_n(bend_.begin(), frame.size, frame.bend.begin());
  std::copy_n(pull_.begin(), frame.size, frame.pull.begin());
  frame.prices = weights_;
  frame.multiplier = m;
  frame.constant = constant_;
  frame.root = root_;
  frame.value = value_;
}

bool NumberRelaxation::keep_with_tamed(NumberFrame& frame, double m) {
  keep_best(frame, m);
  const double share = tamed(frame);
  if (!(share < 1 && share > 0.1)) return true;
  if (!evaluate(frame, point_, m, share)) return false;
  keep_best(frame, share * m);
  return evaluate(frame, point_, m, 1);
}

// Every number in turn to the least of cost − m·g on its range, costs being linear: with u its
// entry of Mx̃, γ that of M, and D = γ·s² − u², which its own moves leave as it is, s² = (u² + D)/γ,
// so that s′ = u·√γ/√(u² + D) takes every value between −√γ and √γ at one u.
void NumberRelaxation::sweep(const NumberFrame& frame, double m) {
  const std::size_t n = frame.size;
  double square = frame.square;
  for (std::size_t i = 0; i < n; ++i) {
    double image = frame.image[i];
    for (std::size_t j = 0; j < n; ++j) image += frame.matrix[i * n + j] * point_[j];
    away_[i] = image;
    square += point_[i] * (frame.image[i] + image);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double price = layout_->numbers()[frame.numbers[i]].absolute;
    const double curvature = frame.matrix[i * n + i];
    if (!(curvature > 0)) continue;
    const double rest = std::max(0.0, curvature * square - away_[i] * away_[i]);
    // Where the derivative of s is this; at an end of the range where it is nowhere.
    const auto place = [&](double slope) {
      const double share = slope / std::sqrt(curvature);
      if (std::abs(share) >= 1) return slope > 0 ? frame.upper[i] : frame.lower[i];
      const double image = share * std::sqrt(rest / (1 - share * share));
      return point_[i] + (image - away_[i]) / curvature;
    };
    const double above = place(frame.slope[i] - price / m);
    const double below = place(frame.slope[i] + price / m);
    const double next =
        std::clamp(above > 0 ? above : std::min(0.0, below), frame.lower[i], frame.upper[i]);
    const double move = next - point_[i];
    if (move == 0 || !std::isfinite(move)) continue;
    square += move * (2 * away_[i] + move * curvature);
    for (std::size_t j = 0; j < n; ++j) away_[j] += move * frame.matrix[i * n + j];
    point_[i] = next;
  }
}

// g at the least of cost − m·g grows with m: the m at which it is 0 is bracketed.
bool NumberRelaxation::sweep_to_border(NumberFrame& frame, double enough, double& m) {
  const std::size_t n = frame.size;
  double low = 0;
  double high = infinity;
  double low_value = 0;
  double high_value = 0;
  std::copy_n(frame.point.begin(), n, point_.begin());
  m = frame.multiplier > 0 ? frame.multiplier : m;
  for (int round = 0; round < most_multipliers; ++round) {
    limit_->add(4 + 0.3 * sweeps_each * static_cast<double>(n * n));
    for (int k = 0; k < sweeps_each; ++k) sweep(frame, m);
    if (!evaluate(frame, point_, m, 1) || !keep_with_tamed(frame, m)) return false;
    if (frame.bound >= enough) return false;
    if (std::abs(value_) <= nearly_settled * root_) break;
    (value_ < 0 ? low : high) = m;
    (value_ < 0 ? low_value : high_value) = value_;
    if (low == 0 || std::isinf(high)) {
      m *= value_ < 0 ? 2 : 0.5;
    } else {
      const double share = std::clamp(-low_value / (high_value - low_value), 0.1, 0.9);
      m = low + share * (high - low);
    }
    if (!(m < 1e15 && m > 1e-15)) break;
  }
  return true;
}

bool NumberRelaxation::solve(NumberFrame& frame, double enough) {
  const std::size_t n = frame.size;
  bool has_swept = !is_linear_ || !prices_.empty();
  for (std::size_t i = 0; i < n; ++i)
    point_[i] = std::clamp(frame.point[i], frame.lower[i], frame.upper[i]);
  for (std::size_t r = 0; r < prices_.size(); ++r) {
    prices_[r] = frame.prices[r];
    penalty_[r] = 0;
  }
  proof_ = Proof::none;
  limit_->add(1 + 0.1 * static_cast<double>(n * n));
  if (breaks_rules(frame)) return false;
  double m = frame.multiplier > 0 ? frame.multiplier : 1;
  frame.bound = -infinity;
  int idle = 0;
  for (int step_count = 0; step_count < relaxation_steps; ++step_count) {
    limit_->add(4 + 0.4 * static_cast<double>(n * n));
    if (!evaluate(frame, point_, m, 1)) return false;
    const double before = frame.bound;
    if (!keep_with_tamed(frame, m)) return false;
    idle = frame.bound - before > 1e-3 * std::abs(frame.bound) ? 0 : idle + 1;
    if (frame.bound >= enough) return false;
    const bool is_exact =
        std::abs(value_) <= settled * root_ && cost_ - bound_ <= settled * (cost_ + m * root_);
    if (is_exact) break;
    if (idle >= most_idle_steps || step_count + 1 == relaxation_steps) {
      // Newton's steps clip many numbers at once and may go round in circles where costs are
      // linear. Sweeps do not; from where they end it settles.
      if (has_swept) break;
      has_swept = true;
      if (!sweep_to_border(frame, enough, m)) return false;
      step_count = idle = 0;
      continue;
    }
    prices_ = weights_;
    if (!step(frame, point_, m)) break;
  }
  return true;
}

void NumberRelaxation::assemble(const NumberFrame& frame, double m) {
  const std::size_t n = frame.size;
  const std::size_t count = free_.size();
  const double nu = root_ > 0 ? m / root_ : 0;
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t i = free_[a];
    for (std::size_t b = 0; b <= a; ++b) {
      const std::size_t j = free_[b];
      newton_[a * count + b] = nu * (frame.matrix[i * n + j] - bend_[i] * bend_[j]);
    }
    newton_[a * count + a] += layout_->numbers()[frame.numbers[i]].quadratic;
  }
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    double power = 0;
    for (std::size_t a = 0; a < count; ++a) {
      const double along = frame.rules[r * n + free_[a]];
      const double bend = newton_[a * count + a];
      if (bend > 0) power += along * along / bend;
    }
    penalty_[r] = power > 0 ? stiffness / power : 0;
  }
  weigh_rules(frame, point_);
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    if (weights_[r] == 0) continue;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        newton_[a * count + b] +=
            penalty_[r] * frame.rules[r * n + free_[a]] * frame.rules[r * n + free_[b]];
      }
    }
  }
}

// Cholesky's factor in the lower triangle. A pivot that rounding has eaten is kept small: the step
// is then a poor one, and the bound judges it.
bool NumberRelaxation::factorise() {
  const std::size_t count = free_.size();
  double largest = 0;
  for (std::size_t a = 0; a < count; ++a) largest = std::max(largest, newton_[a * count + a]);
  if (!(largest > 0)) return false;
  for (std::size_t a = 0; a < count; ++a) {
    double* row = newton_.data() + a * count;
    for (std::size_t b = 0; b <= a; ++b) {
      const double* other = newton_.data() + b * count;
      double sum = row[b];
      for (std::size_t k = 0; k < b; ++k) sum -= row[k] * other[k];
      row[b] = a == b ? std::sqrt(std::max(sum, 1e-12 * largest)) : sum / other[b];
    }
  }
  return true;
}

void NumberRelaxation::substitute(std::vector<double>& vector) const {
  const std::size_t count = free_.size();
  for (std::size_t a = 0; a < count; ++a) {
    double sum = vector[a];
    for (std::size_t b = 0; b < a; ++b) sum -= newton_[a * count + b] * vector[b];
    vector[a] = sum / newton_[a * count + a];
  }
  for (std::size_t a = count; a-- > 0;) {
    double sum = vector[a];
    for (std::size_t b = a + 1; b < count; ++b) sum -= newton_[b * count + a] * vector[b];
    vector[a] = sum / newton_[a * count + a];
  }
}

// Numbers at rest, at an end of their range or at the query with a cost that keeps them there,
// stay; the others and the multiplier take Newton's step, and stop at ends and at the query.
bool NumberRelaxation::step(const NumberFrame& frame, std::vector<double>& y, double& m) {
  const std::size_t n = frame.size;
  free_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    double slope = unit.quadratic * y[i] - pull_[i];
    double sign = y[i] > 0 ? 1 : y[i] < 0 ? -1 : 0;
    if (sign == 0 && unit.absolute > 0) {
      if (std::abs(slope) <= unit.absolute) continue;
      sign = slope > 0 ? -1 : 1;
    }
    slope += sign * unit.absolute;
    if ((y[i] <= frame.lower[i] && slope >= 0) || (y[i] >= frame.upper[i] && slope <= 0)) continue;
    gradient_[i] = slope;
    sign_[i] = sign;
    free_.push_back(i);
  }
  const std::size_t count = free_.size();
  if (count == 0 || root_ == 0) {
    m *= value_ < 0 ? 4 : 0.25;
    if (count == 0) return m < 1e15 && m > 1e-15;
  }
  assemble(frame, m);
  if (!factorise()) return m < 1e15 && m > 1e-15;
  double power = 0;
  double gain = value_;
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t i = free_[a];
    double rest = -gradient_[i];
    for (std::size_t r = 0; r < weights_.size(); ++r)
      rest -= (weights_[r] - prices_[r]) * frame.rules[r * n + i];
    away_[a] = rest;
    along_[a] = frame.slope[i] - bend_[i];
  }
  substitute(away_);
  substitute(along_);
  for (std::size_t a = 0; a < count; ++a) {
    const double slope = frame.slope[free_[a]] - bend_[free_[a]];
    gain += slope * away_[a];
    power += slope * along_[a];
  }
  double change = power > 0 ? -gain / power : 0;
  change = std::clamp(change, -0.9 * m, largest_growth * m);
  if (!std::isfinite(change)) return false;
  m += change;
  for (std::size_t a = 0; a < count; ++a) {
    const std::size_t i = free_[a];
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    double next = y[i] + away_[a] + change * along_[a];
    if (!std::isfinite(next)) return false;
    if (unit.absolute > 0 && next * sign_[i] < 0) next = 0;
    y[i] = std::clamp(next, frame.lower[i], frame.upper[i]);
  }
  return m < 1e15;
}

}  // namespace ellice
