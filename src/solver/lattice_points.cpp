// The enumeration of lattice points below a quadratic (Fincke and Pohst, Math. Comp. 44, 1985).

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/lattice_search.hpp"

namespace ellice {

// x̃ᵀMx̃ = rest + Σ (row_i·[Δ; 1])², row i involving level i, the levels above and the constant.
void LatticeSearch::factorise(const NumberFrame& frame) {
  const std::size_t n = frame.size;
  const std::size_t width = n + 1;
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t i = lens_.at(a);
    for (std::size_t b = 0; b < n; ++b) gram_[a * width + b] = frame.matrix[i * n + lens_.at(b)];
    gram_[a * width + n] = frame.image[i];
  }
  rest_ = frame.square;
  for (std::size_t level = 0; level < n; ++level) {
    const double pivot = gram_[level * width + level];
    double* row = root_.data() + level * width;
    const double root = pivot > 0 ? std::sqrt(pivot) : 0;
    row[level] = root;
    for (std::size_t k = level + 1; k < width; ++k)
      row[k] = root > 0 ? gram_[level * width + k] / root : 0;
    for (std::size_t k = level + 1; k < n; ++k) {
      for (std::size_t l = k; l < width; ++l) gram_[k * width + l] -= row[k] * row[l];
    }
    rest_ -= row[n] * row[n];
  }
  rest_ = std::max(0.0, rest_);
}

void LatticeSearch::enumerate(const NumberFrame& frame) {
  frame_ = &frame;
  factorise(frame);
  visit(frame.size - 1, frame.paid + lens_.floor(), frame.paid, frame.excess, rest_);
}

// The cost of every completion is at least `least` and grows with what this level adds; that is
// convex in its value, so that each side of the lowest ends at the first value that is too dear.
void LatticeSearch::visit(std::size_t level, double least, double cost, double linear,
                          double square) {
  const std::size_t n = frame_->size;
  const double* row = lens_.row(level);
  const double* root = root_.data() + level * (n + 1);
  double shift = 0;
  double bend = root[n];
  for (std::size_t k = level + 1; k < n; ++k) {
    shift += row[k] * away_[k];
    bend += root[k] * moves_[k];
  }
  if (level == 0) {
    finish(bend, cost, linear, square);
    return;
  }
  const NumberUnit& unit = lens_.unit(level);
  const double slack = 1e-9 * unit.step;
  const double slope = frame_->slope[lens_.at(level)];
  const auto worth = [&](double move) {
    const double height = row[level] * (move - lens_.centre(level)) + shift;
    return least + lens_.term(level, move) + height * height;
  };
  double down = unit.at_or_below(lens_.lowest(level, shift));
  double up = down + unit.step;
  double below = down >= lens_.lower(level) - slack ? worth(down) : infinity;
  double above = up <= lens_.upper(level) + slack ? worth(up) : infinity;
  while (true) {
    const bool goes_down = below <= above;
    const double lowest = goes_down ? below : above;
    // Before there is an answer, the last number alone is searched like this.
    if (lowest >= record_->enough()) return;
    if (limit_->is_over()) {
      record_->leave_open(lowest);
      return;
    }
    limit_->add(1);
    const double move = goes_down ? down : up;
    if (goes_down) {
      down -= unit.step;
      below = down >= lens_.lower(level) - slack ? worth(down) : infinity;
    } else {
      up += unit.step;
      above = up <= lens_.upper(level) + slack ? worth(up) : infinity;
    }
    if (std::abs(move) < 0.5 * unit.step && unit.skips_own) continue;
    moves_[level] = move;
    away_[level] = move - lens_.centre(level);
    const double height = root[level] * move + bend;
    visit(level - 1, lowest, cost + unit.cost(move), linear + slope * move,
          square + height * height);
  }
}

// The last number: on either side of the query the first value that makes the row robust.
void LatticeSearch::finish(double bend, double cost, double linear, double square) {
  const std::size_t n = frame_->size;
  const std::size_t last = lens_.at(0);
  const NumberUnit& unit = lens_.unit(0);
  least_ = frame_->lower[last] - 1e-9 * unit.step;
  greatest_ = frame_->upper[last] + 1e-9 * unit.step;
  for (std::size_t r = 0; r < frame_->activity.size(); ++r) {
    const LinearRule& rule = layout_->rules()[r];
    const double along = frame_->rules[r * n + last];
    double activity = frame_->activity[r];
    for (std::size_t k = 1; k < n; ++k) activity += frame_->rules[r * n + lens_.at(k)] * moves_[k];
    const double slack = rule.tolerance + 1e-9 * (1 + std::abs(activity));
    const double low = rule.lower - slack - activity;
    const double high = rule.upper + slack - activity;
    if (along == 0) {
      if (low > 0 || high < 0) return;
      continue;
    }
    least_ = std::max(least_, along > 0 ? low / along : high / along);
    greatest_ = std::min(greatest_, along > 0 ? high / along : low / along);
  }
  const double up = unit.at_or_above(std::max(least_, 0.0));
  double down = unit.at_or_below(std::min(greatest_, 0.0));
  if (down == up) down -= unit.step;
  walk(up, 1, bend, cost, linear, square);
  walk(down, -1, bend, cost, linear, square);
}

// g is concave: its tangent ends before its root does, so that no robust value is passed over.
void LatticeSearch::walk(double from, double direction, double bend, double cost, double linear,
                         double square) {
  const NumberUnit& unit = lens_.unit(0);
  const double slope = frame_->slope[lens_.at(0)];
  const double root = root_[0];
  double move = from;
  while (move >= least_ && move <= greatest_ && cost + unit.cost(move) < record_->best_cost()) {
    limit_->add(1);
    if (limit_->is_over()) {
      record_->leave_open(cost + unit.cost(move));
      return;
    }
    const double next = move + direction * unit.step;
    if (std::abs(move) < 0.5 * unit.step && unit.skips_own) {
      move = next;
      continue;
    }
    const double height = root * move + bend;
    const double length = std::sqrt(height * height + square);
    const double logit = linear + slope * move;
    const double value = logit - length;
    if (value >= -1e-11 * (std::abs(logit) + length)) {
      moves_[0] = move;
      // What changes too much does so with every value farther from the query.
      if (offer() || record_->changes_too_much()) return;
      move = next;
      continue;
    }
    const double steepness = direction * (slope - (length > 0 ? root * height / length : 0));
    if (!(steepness > 0)) return;
    const double ahead = move + direction * (-value / steepness);
    const double there = direction > 0 ? unit.at_or_above(ahead) : unit.at_or_below(ahead);
    move = direction * (there - next) > 0 ? there : next;
  }
}

bool LatticeSearch::offer() {
  for (std::size_t level = 0; level < frame_->size; ++level)
    layout_->place_number(x_, frame_->numbers[lens_.at(level)], moves_[level]);
  return record_->offer(x_);
}

}  // namespace ellice
