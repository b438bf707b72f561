#include "solver/lens.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr int lens_rounds = 3;  // of bounding s by the quadratic and the quadratic by s
constexpr double tiny = 1e-12;  // a pivot that rounding may have made, of the largest entry

}  // namespace

Lens::Lens(const SearchLayout& layout) : layout_(&layout) {
  const std::size_t n = layout.numbers().size();
  for (std::vector<double>* values : {&slope_, &loss_, &absolute_, &centre_, &lower_, &upper_,
                                      &by_number_, &low_, &high_, &lost_})
    values->resize(n);
  matrix_.resize(n * n);
  factor_.resize(n * n);
  order_.resize(n);
  units_.resize(n);
}

double Lens::term(std::size_t level, double move) const {
  return slope_[level] * (move - centre_[level]) +
         absolute_[level] * (std::abs(move) - std::abs(centre_[level])) + loss_[level];
}

double Lens::lowest(std::size_t level, double shift) const {
  const double bend = factor(level, level);
  const double slope = slope_[level];
  const double kink = absolute_[level];
  double x = 0;
  if (bend > 0) {
    const double middle = centre_[level] - shift / bend;
    const double right = middle - (slope + kink) / (2 * bend * bend);
    const double left = middle - (slope - kink) / (2 * bend * bend);
    x = right > 0 ? right : left < 0 ? left : 0;
  } else if (slope + kink < 0) {
    x = upper_[level];
  } else if (slope - kink > 0) {
    x = lower_[level];
  }
  return std::clamp(x, lower_[level], upper_[level]);
}

// The part of the bound that is linear or has a kink, number by number, raised to be nowhere
// negative on what is left of the range (theory.md, Result 19).
void Lens::set_terms(const NumberFrame& frame, double enough) {
  double cost = 0;
  double losses = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    const double y = frame.point[i];
    const double slope = unit.quadratic * y - frame.pull[i];
    cost += unit.cost(y);
    // What a value costs beyond the separable bound grows by ½D(x − best)² at least.
    double low = frame.lower[i];
    double high = frame.upper[i];
    if (unit.quadratic > 0 && enough < infinity) {
      const double net = std::max(std::abs(frame.pull[i]) - unit.absolute, 0.0);
      const double best = std::clamp(std::copysign(net / unit.quadratic, frame.pull[i]), low, high);
      const double reach = std::sqrt(2 * std::max(0.0, enough - frame.bound) / unit.quadratic);
      const double slack = 1e-9 * (std::abs(best) + reach);
      low = std::max(low, best - reach - slack);
      high = std::min(high, best + reach + slack);
    }
    low_[i] = low;
    high_[i] = high;
    const auto value = [&](double x) {
      return slope * (x - y) + unit.absolute * (std::abs(x) - std::abs(y));
    };
    double least = std::min({0.0, value(low), value(high)});
    if (low < 0 && high > 0) least = std::min(least, value(0));
    lost_[i] = -least;
    losses += lost_[i];
  }
  floor_ = cost + frame.constant - losses;
}

void Lens::fill(const NumberFrame& frame, double curvature) {
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < size_; ++j) {
      matrix_[i * size_ + j] =
          curvature * (frame.matrix[i * size_ + j] - frame.bend[i] * frame.bend[j]);
    }
    matrix_[i * size_ + i] += 0.5 * layout_->numbers()[frame.numbers[i]].quadratic;
  }
}

// theory.md, Result 20: r = θᵀx̃ − t ≥ s on robust points.
void Lens::bound_root(const NumberFrame& frame, double enough) {
  double at_query = frame.excess;
  double power = 0;
  double steepest = 0;
  double box = frame.excess;
  double at_centre = frame.excess;
  for (std::size_t i = 0; i < size_; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    const double slope = frame.slope[i];
    if (unit.quadratic > 0) {
      power += 2 * slope * slope / unit.quadratic;
    } else {
      steepest = std::max(steepest, std::abs(slope) / unit.absolute);
    }
    box += std::max(slope * low_[i], slope * high_[i]);
    at_centre += slope * frame.point[i];
  }
  largest_root_ =
      std::min(box, at_query + std::sqrt(std::max(0.0, enough) * power) + enough * steepest);
  const double room = std::max(0.0, enough - floor_);
  for (int round = 0; round < lens_rounds && largest_root_ > 0; ++round) {
    check_stop();
    fill(frame, frame.multiplier / (2 * largest_root_));
    if (!factorise(true, size_)) return;
    // |R⁻ᵀθ|², by forward substitution in the order of the frame.
    double length = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      double sum = frame.slope[i];
      for (std::size_t k = 0; k < i; ++k) sum -= factor_[k * size_ + i] * by_number_[k];
      by_number_[i] = sum / factor_[i * size_ + i];
      length += by_number_[i] * by_number_[i];
    }
    const double next = at_centre + std::sqrt(room * length);
    if (!(next < 0.999 * largest_root_)) return;
    largest_root_ = next;
  }
}

// P = RᵀR, eliminating next what has the smallest pivot·step² of what is left, or in the order of
// the frame. False if a pivot is not safely positive.
bool Lens::factorise(bool in_order, std::size_t top) {
  double largest = 0;
  for (std::size_t i = 0; i < size_; ++i) largest = std::max(largest, matrix_[i * size_ + i]);
  for (std::size_t i = 0; i < size_; ++i) order_[i] = i;
  for (std::size_t level = 0; level < size_; ++level) {
    if (!in_order) {
      std::size_t chosen = level;
      double least = infinity;
      for (std::size_t k = level; k < size_; ++k) {
        const std::size_t i = order_[k];
        if (i == top && level + 1 < size_) continue;
        const double step = units_[i]->step;
        const double width = matrix_[i * size_ + i] * step * step;
        if (width < least) {
          least = width;
          chosen = k;
        }
      }
      std::swap(order_[level], order_[chosen]);
      for (std::size_t done = 0; done < level; ++done)
        std::swap(factor_[done * size_ + level], factor_[done * size_ + chosen]);
    }
    const std::size_t i = order_[level];
    const double pivot = matrix_[i * size_ + i];
    if (!(pivot > tiny * largest)) return false;
    const double root = std::sqrt(pivot);
    factor_[level * size_ + level] = root;
    for (std::size_t k = level + 1; k < size_; ++k)
      factor_[level * size_ + k] = matrix_[i * size_ + order_[k]] / root;
    for (std::size_t k = level + 1; k < size_; ++k) {
      for (std::size_t l = level + 1; l < size_; ++l) {
        matrix_[order_[k] * size_ + order_[l]] -=
            factor_[level * size_ + k] * factor_[level * size_ + l];
      }
    }
  }
  return true;
}

void Lens::build(const NumberFrame& frame, double enough, std::optional<std::size_t> kept) {
  const std::size_t top = kept.value_or(frame.size);
  size_ = frame.size;
  set_terms(frame, enough);
  largest_root_ = frame.root;
  if (enough < infinity) bound_root(frame, enough);
  for (std::size_t i = 0; i < size_; ++i) units_[i] = &layout_->numbers()[frame.numbers[i]];
  fill(frame, largest_root_ > 0 ? frame.multiplier / (2 * largest_root_) : 0);
  if (!factorise(false, top)) {
    // No curvature to speak of: what is left is the order by steps, and terms alone.
    std::fill_n(factor_.begin(), size_ * size_, 0.0);
    for (std::size_t i = 0; i < size_; ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(size_),
                     [&](std::size_t a, std::size_t b) {
                       if ((a == top) != (b == top)) return b == top;
                       return units_[a]->step < units_[b]->step;
                     });
  }
  for (std::size_t i = 0; i < size_; ++i) {
    const NumberUnit& unit = layout_->numbers()[frame.numbers[i]];
    by_number_[i] = unit.quadratic * frame.point[i] - frame.pull[i];
  }
  for (std::size_t level = 0; level < size_; ++level) {
    const std::size_t i = order_[level];
    units_[level] = &layout_->numbers()[frame.numbers[i]];
    slope_[level] = by_number_[i];
    loss_[level] = lost_[i];
    absolute_[level] = units_[level]->absolute;
    centre_[level] = frame.point[i];
    lower_[level] = low_[i];
    upper_[level] = high_[i];
  }
}

Lens::Top Lens::top() const {
  const std::size_t level = size_ - 1;
  return {.index = order_[level],
          .floor = floor_,
          .slope = slope_[level],
          .absolute = absolute_[level],
          .loss = loss_[level],
          .centre = centre_[level],
          .factor = factor(level, level),
          .lowest = lowest(level, 0),
          .lower = lower_[level],
          .upper = upper_[level]};
}

double Lens::Top::worth(double move) const {
  const double away = move - centre;
  return floor + loss + slope * away + absolute * (std::abs(move) - std::abs(centre)) +
         factor * factor * away * away;
}

double Lens::estimate(double room) const {
  double sum = 0;
  double product = 1;
  double ball = 1;    // the volume of the unit ball in k dimensions
  double before = 0;  // and in k − 1
  for (std::size_t k = 1; k <= size_; ++k) {
    const std::size_t level = size_ - k;
    const double cell = factor(level, level) * units_[level]->step;
    if (!(cell > 0)) return infinity;
    product *= std::sqrt(room) / cell;
    const double next = k == 1 ? 2 : before * 2 * std::numbers::pi / static_cast<double>(k);
    before = ball;
    ball = next;
    sum += ball * product;
  }
  return sum;
}

}  // namespace ellice
