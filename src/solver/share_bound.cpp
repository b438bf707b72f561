// The bound of a relaxation's worst model, and what it says of each option.

#include <algorithm>
#include <cmath>
#include <functional>

#include "solver/rule_rounding.hpp"
#include "solver/share_relaxation.hpp"

namespace ellice {

// The change with the least cost − pull·Δ.
double ShareRelaxation::best_move(const NumberUnit& unit, double pull) {
  const double net = std::max(std::abs(pull) - unit.absolute, 0.0);
  double x = 0;
  if (unit.quadratic > 0) {
    x = std::copysign(net / unit.quadratic, pull);
  } else if (net > 0) {
    x = pull > 0 ? unit.upper : unit.lower;
  }
  x = std::clamp(x, unit.lower, unit.upper);
  if (!unit.has_grid) return x;
  // Convex along the line: the best grid value lies next to the best number.
  const double low = std::max(unit.at_or_below(x), unit.lower);
  const double high = std::min(unit.at_or_above(x), unit.upper);
  return unit.cost(low) - pull * low <= unit.cost(high) - pull * high ? low : high;
}

// Where costs are linear, a pull that exceeds one by a little spoils the bound by the whole range:
// the share of the multipliers at which no pull does.
double ShareRelaxation::tamed(const ShareNode& node) const {
  double share = 1;
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    const NumberUnit& unit = layout_->numbers()[k];
    const double pull = pull_[unit.column];
    if (unit.quadratic > 0 || node.modes[k] == ShareNode::stay) continue;
    const double room = pull > 0 ? unit.upper - node.moves[k] : node.moves[k] - unit.lower;
    if (room <= 0 || std::abs(pull) <= unit.absolute) continue;
    share = std::min(share, unit.absolute / std::abs(pull));
  }
  return share;
}

// With the multipliers times `scale`.
bool ShareRelaxation::evaluate(const ShareNode& node, double m, Worths& worths, double scale) {
  m *= scale;
  const double inverse = root_ > 0 ? 1 / root_ : 0;
  const Vector& theta = layout_->theta();
  // The half-space: every robust x has excess + Σ slope·move ≥ 0.
  double excess = value();
  double size = std::abs(linear_) + root_;
  for (const Index column : layout_->movable()) {
    slope_[column] = theta[column] - inverse * image_[column];
    excess -= slope_[column] * move_[column];
    size += std::abs(slope_[column] * move_[column]);
    pull_[column] = m * slope_[column];
    if (!weights_.empty()) pull_[column] -= scale * rule_slope(column);
  }
  double sum = -m * excess;
  for (std::size_t r = 0; r < weights_.size(); ++r) {
    if (weights_[r] == 0) continue;
    const LinearRule& rule = layout_->rules()[r];
    const double over = layout_->activity(r) - (weights_[r] > 0 ? rule.upper : rule.lower);
    const double weight = scale * weights_[r];
    sum += weight * over - std::abs(weight) * (rule.tolerance + rule_rounding(over));
  }
  // The most that the half-space's value can be, with as many changes as may be.
  double reach = excess;
  gains_of_changes_.clear();
  const auto extend = [&](bool stays, double most) {
    size += std::abs(most);
    if (stays && most > 0) {
      gains_of_changes_.push_back(most);
    } else if (!stays) {
      reach += most;
    }
  };
  const std::vector<ListUnit>& lists = layout_->lists();
  for (std::size_t u = 0; u < lists.size(); ++u) {
    const ListUnit& list = lists[u];
    double change = infinity;
    double stay = infinity;
    double change_gain = 0;
    double most = -infinity;
    for (std::size_t o = list.first; o < list.last; ++o) {
      if (node.open[o] == 0) continue;
      const double* moves = layout_->moves(list, o);
      double gain = 0;
      double worth = layout_->option_cost(o);
      for (Index i = 0; i < list.width; ++i) {
        if (moves[i] == 0) continue;
        gain += slope_[list.column + i] * moves[i];
        worth -= pull_[list.column + i] * moves[i];
      }
      worths.options[o] = worth;
      most = std::max(most, gain);
      if (!layout_->changes(o)) {
        stay = worth;
      } else if (worth < change) {
        change = worth;
        change_gain = gain;
      }
    }
    extend(stay < infinity, most);
    worths.change[u] = change;
    worths.stay[u] = stay;
    worths.gain[u] = change_gain;
  }
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    const NumberUnit& unit = layout_->numbers()[k];
    const std::size_t u = lists.size() + k;
    const double slope = slope_[unit.column];
    const bool moves = (node.modes[k] & ShareNode::move) != 0;
    const bool stays = (node.modes[k] & ShareNode::stay) != 0;
    double most = stays ? 0 : -infinity;
    worths.change[u] = infinity;
    worths.stay[u] = stays ? 0 : infinity;
    worths.gain[u] = 0;
    if (moves) {
      const double move = best_move(unit, pull_[unit.column]);
      worths.change[u] = unit.charge + unit.cost(move) - pull_[unit.column] * move;
      worths.gain[u] = slope * move;
      most = std::max(most, slope * (slope > 0 ? unit.upper : unit.lower));
    }
    extend(stays, most);
  }
  if (node.is_limited && gains_of_changes_.size() > node.slots) {
    std::nth_element(gains_of_changes_.begin(),
                     gains_of_changes_.begin() + static_cast<std::ptrdiff_t>(node.slots),
                     gains_of_changes_.end(), std::greater<>());
    gains_of_changes_.resize(node.slots);
  }
  for (const double gain : gains_of_changes_) reach += gain;
  limit_->add(0.3 * static_cast<double>(layout_->options() + layout_->movable().size()));
  worths.value = sum;
  worths.excess = excess;
  choose_changes(node, worths);
  return reach >= -1e-13 * size;
}

// Units that must change do; of those that may stay the most worthwhile change, as many as may.
void ShareRelaxation::choose_changes(const ShareNode& node, Worths& worths) {
  candidates_.clear();
  for (std::size_t u = 0; u < worths.change.size(); ++u) {
    const bool must = worths.stay[u] == infinity;
    const bool takes = must || worths.change[u] < worths.stay[u];
    if (takes && !must && node.is_limited) {
      candidates_.emplace_back(worths.change[u] - worths.stay[u], u);
      worths.taken[u] = 0;
    } else {
      worths.taken[u] = takes ? 1 : 0;
    }
  }
  worths.is_full = false;
  worths.dearest = 0;
  worths.next = 0;
  if (node.is_limited && candidates_.size() >= node.slots) {
    std::sort(candidates_.begin(), candidates_.end());
    worths.is_full = true;
    if (node.slots > 0) worths.dearest = candidates_[node.slots - 1].first;
    if (candidates_.size() > node.slots) worths.next = candidates_[node.slots].first;
    candidates_.resize(node.slots);
  }
  for (const auto& [worth, u] : candidates_) worths.taken[u] = 1;
  for (std::size_t u = 0; u < worths.change.size(); ++u) {
    worths.term[u] = worths.taken[u] != 0 ? worths.change[u] : worths.stay[u];
    worths.value += worths.term[u];
    if (worths.taken[u] != 0) worths.excess += worths.gain[u];
  }
}

// theory.md, Result 12. Where no further unit may change, a change takes the place of the dearest
// that was taken, and what stays makes room for the best that was not.
double ShareRelaxation::bound_of_change(std::size_t unit, double worth) const {
  const double without = best_.value - best_.term[unit];
  if (best_.taken[unit] != 0 || best_.stay[unit] == infinity) return without + worth;
  return without + worth - (best_.is_full ? best_.dearest : 0);
}

double ShareRelaxation::bound_of_stay(std::size_t unit) const {
  const double without = best_.value - best_.term[unit];
  const bool makes_room = best_.taken[unit] != 0 && best_.is_full;
  return without + best_.stay[unit] + (makes_room ? std::min(0.0, best_.next) : 0);
}

double ShareRelaxation::bound_of_option(std::size_t list, std::size_t option) const {
  return layout_->changes(option) ? bound_of_change(list, best_.options[option])
                                  : bound_of_stay(list);
}

double ShareRelaxation::bound_of_mode(std::size_t number, std::uint8_t mode) const {
  const std::size_t unit = layout_->lists().size() + number;
  return mode == ShareNode::stay ? bound_of_stay(unit) : bound_of_change(unit, best_.change[unit]);
}

}  // namespace ellice
