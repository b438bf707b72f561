#include "solver/mixed_domain.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

constexpr double grid_tolerance = 1e-7;  // of a step: one grid value, differently rounded

/// The y ≥ 0 with ½d·y² + b·y ≤ most; empty where first > second.
struct Span {
  double first = 0;
  double last = 0;
};
Span span_below(double d, double b, double most) {
  if (d == 0) {
    if (b > 0) return {0, most / b};
    if (b < 0) return {std::max(0.0, most / b), infinity};
    return most >= 0 ? Span{0, infinity} : Span{1, 0};
  }
  const double square = b * b + 2 * d * most;
  if (square < 0) return {1, 0};
  const double root = std::sqrt(square);
  return {std::max(0.0, (-b - root) / d), (-b + root) / d};
}

}  // namespace

bool UnitView::is_own(double x) const {
  return unit_->step ? std::abs(x - query_) <= 10 * grid_tolerance * *unit_->step : x == query_;
}

std::optional<double> UnitView::below(double x) const {
  if (unit_->step) {
    double k = std::floor((x - unit_->offset) / *unit_->step + grid_tolerance);
    if (is_own(unit_->offset + k * *unit_->step)) --k;
    return unit_->offset + k * *unit_->step;
  }
  auto at = std::upper_bound(unit_->values.begin(), unit_->values.end(), x);
  while (at != unit_->values.begin()) {
    if (!is_own(*--at)) return *at;
  }
  return std::nullopt;
}

std::optional<double> UnitView::above(double x) const {
  if (unit_->step) {
    double k = std::ceil((x - unit_->offset) / *unit_->step - grid_tolerance);
    if (is_own(unit_->offset + k * *unit_->step)) ++k;
    return unit_->offset + k * *unit_->step;
  }
  auto at = std::lower_bound(unit_->values.begin(), unit_->values.end(), x);
  while (at != unit_->values.end() && is_own(*at)) ++at;
  return at == unit_->values.end() ? std::nullopt : std::optional(*at);
}

double UnitView::until(double x) const {
  // Below a grid value means that the value itself is out, however close x lies to it.
  std::optional<double> found = below(x);
  if (found && *found > x) found = below(x - 0.001 * unit_->step.value_or(0));
  return found.value_or(-infinity);
}

std::optional<double> UnitView::after(double x) const {
  return unit_->step ? above(x + 0.001 * *unit_->step) : above(std::nextafter(x, infinity));
}

double UnitView::cost(double x) const {
  const double move = x - query_;
  return 0.5 * unit_->quadratic * move * move + unit_->absolute * std::abs(move);
}

Domain UnitView::whole() const {
  Domain result;
  result.stays = unit_->stays;
  if (unit_->is_group()) {
    result.options.assign(unit_->options.size(), 1);
    return result;
  }
  result.lower = std::max(unit_->lower, query_ - far_away);
  result.upper = std::min(unit_->upper, query_ + far_away);
  tighten(result);
  return result;
}

void UnitView::tighten(Domain& domain) const {
  if (unit_->is_group()) {
    domain.moves = domain.moves && std::find(domain.options.begin(), domain.options.end(), 1) !=
                                       domain.options.end();
    return;
  }
  if (domain.moves && domain.lower <= domain.upper && unit_->has_grid()) {
    domain.lower = above(domain.lower).value_or(infinity);
    domain.upper = below(domain.upper).value_or(-infinity);
  }
  domain.moves = domain.moves && domain.lower <= domain.upper;
}

Choice UnitView::cheapest_move(const Domain& domain, const Cut& cut, std::size_t index,
                               double m) const {
  Choice best{.moves = true};
  double best_value = infinity;
  if (unit_->is_group()) {
    const std::vector<double>& gains = cut.option_gains[index];
    for (std::size_t k = 0; k < gains.size(); ++k) {
      const double value = unit_->options[k].cost - m * gains[k];
      if (domain.options[k] == 0 || !(value < best_value)) continue;
      best_value = value;
      best.option = k;
    }
    best.cost = unit_->options[best.option].cost;
    best.gain = gains[best.option];
    return best;
  }
  const double slope = cut.gradient[unit_->column];
  const double pull = m * slope;
  const double net = std::max(std::abs(pull) - unit_->absolute, 0.0);
  double x = query_;
  if (unit_->quadratic > 0) {
    x += std::copysign(net / unit_->quadratic, pull);
  } else if (net > 0) {
    x = pull > 0 ? domain.upper : domain.lower;
  }
  x = std::clamp(x, domain.lower, domain.upper);
  const auto offer = [&](double value) {
    const double price = unit_->charge + cost(value);
    const double gain = slope * (value - query_);
    if (!(price - m * gain < best_value)) return;
    best_value = price - m * gain;
    best = {.moves = true, .value = value, .cost = price, .gain = gain};
  };
  if (!unit_->has_grid()) {
    offer(x);
    return best;
  }
  // Convex along the line: the best grid value lies next to the best number.
  const std::optional<double> low = below(x);
  const std::optional<double> high = above(x);
  if (low && *low >= domain.lower) offer(*low);
  if (high && *high <= domain.upper) offer(*high);
  if (best_value == infinity) offer(domain.lower);  // rounding at the ends of the range
  return best;
}

double UnitView::largest_gain(const Domain& domain, const Cut& cut, std::size_t index) const {
  if (unit_->is_group()) {
    double best = -infinity;
    for (std::size_t k = 0; k < domain.options.size(); ++k) {
      if (domain.options[k] != 0) best = std::max(best, cut.option_gains[index][k]);
    }
    return best;
  }
  const double slope = cut.gradient[unit_->column];
  return slope * ((slope > 0 ? domain.upper : domain.lower) - query_);
}

void UnitView::restrict_to(Domain& domain, const Cut& cut, std::size_t index, double m,
                           double most) const {
  if (unit_->is_group()) {
    for (std::size_t k = 0; k < domain.options.size(); ++k) {
      if (unit_->options[k].cost - m * cut.option_gains[index][k] > most) domain.options[k] = 0;
    }
  } else {
    const double pull = m * cut.gradient[unit_->column];
    const double rest = most - unit_->charge;
    const Span up = span_below(unit_->quadratic, unit_->absolute - pull, rest);
    const Span down = span_below(unit_->quadratic, unit_->absolute + pull, rest);
    const bool has_up = up.first <= up.last;
    const bool has_down = down.first <= down.last;
    if (!has_up && !has_down) {
      domain.moves = false;
      return;
    }
    const double low = has_down ? -down.last : up.first;
    const double high = has_up ? up.last : -down.first;
    const double slack = 1e-9 * (std::abs(low) + std::abs(high));
    if (std::isfinite(low)) domain.lower = std::max(domain.lower, query_ + low - slack);
    if (std::isfinite(high)) domain.upper = std::min(domain.upper, query_ + high + slack);
  }
  tighten(domain);
}

bool UnitView::differ(const Choice& a, const Choice& b, bool charged) const {
  if (unit_->is_group()) return a.moves != b.moves || (a.moves && a.option != b.option);
  if (unit_->has_grid()) return a.moves != b.moves || (a.moves && a.value != b.value);
  return charged && a.moves != b.moves;
}

bool UnitView::is_decided(const Domain& domain, bool charged) const {
  if (!domain.moves) return true;
  if (unit_->is_group()) {
    return !domain.stays && std::count(domain.options.begin(), domain.options.end(), 1) == 1;
  }
  if (unit_->has_grid()) return !domain.stays && domain.lower == domain.upper;
  return !domain.stays || !charged;
}

Domain UnitView::decided(const Domain& domain, const Choice& choice, bool charged) const {
  Domain result = domain;
  if (!unit_->is_group() && !unit_->has_grid() && !charged) return result;
  result.stays = !choice.moves;
  result.moves = choice.moves;
  if (!choice.moves) return result;
  if (unit_->is_group()) {
    std::fill(result.options.begin(), result.options.end(), 0);
    result.options[choice.option] = 1;
  } else if (unit_->has_grid()) {
    result.lower = result.upper = choice.value;
  }
  return result;
}

}  // namespace ellice
