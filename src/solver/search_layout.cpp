#include "solver/search_layout.hpp"

#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

// A grid is searched value by value where its steps are wide, in standard deviations, and few.
constexpr double coarse_step = 0.25;
constexpr double most_values = 32;
constexpr double own_tolerance = 1e-6;  // of a step: one grid value, differently rounded

}  // namespace

double NumberUnit::at_or_below(double move) const {
  return first + std::floor((move - first) / step + 1e-9) * step;
}

double NumberUnit::at_or_above(double move) const {
  return first + std::ceil((move - first) / step - 1e-9) * step;
}

SearchLayout::SearchLayout(const BoxFactor& factor, const MixedProblem& problem)
    : problem_(&problem),
      logit_(factor.theta(), factor.inverse(), problem.epsilon),
      matrix_(2 * problem.epsilon * factor.inverse()) {
  const Index d = problem.query.size();
  image_ = matrix_.leftCols(d) * problem.query + matrix_.col(d);
  square_ = std::max(0.0, image_.head(d).dot(problem.query) + image_[d]);
  excess_ = theta().head(d).dot(problem.query) + theta()[d] - problem.threshold;
  for (const LinearRule& rule : problem.rules)
    activities_.push_back(rule.coefficients.dot(problem.query));
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    const MixedUnit& unit = problem.units[u];
    views_.emplace_back(unit, problem.query[unit.column]);
    const UnitView& view = views_.back();
    if (unit.is_group()) {
      add_group(u, unit.stays);
      continue;
    }
    const Domain domain = view.whole();
    if (!domain.moves) {
      is_impossible_ = is_impossible_ || !domain.stays;
      continue;
    }
    std::vector<double> values;
    if (!unit.values.empty()) {
      for (const double value : unit.values) {
        if (value >= domain.lower && value <= domain.upper && value != problem.query[unit.column])
          values.push_back(value);
      }
      add_values(u, view, values);
    } else if (unit.step && *unit.step > coarse_step &&
               (domain.upper - domain.lower) / *unit.step < most_values) {
      for (double value = domain.lower; value <= domain.upper + 0.5 * *unit.step;) {
        values.push_back(value);
        const std::optional<double> next = view.after(value);
        // Very far away a step may be less than the last digit.
        if (!next || !(*next > value)) break;
        value = *next;
      }
      add_values(u, view, values);
    } else {
      add_number(u, view, domain);
    }
  }
  for (const std::vector<std::size_t>& set : problem.forbidden) {
    for (NumberUnit& number : numbers_) {
      if (std::find(set.begin(), set.end(), number.unit) != set.end()) number.is_named = true;
    }
  }
}

void SearchLayout::open_list(std::size_t unit, Index width) {
  lists_.push_back({.unit = unit,
                    .column = problem_->units[unit].column,
                    .width = width,
                    .first = options(),
                    .last = options(),
                    .moves = option_moves_.size()});
  for (Index i = 0; i < width; ++i) movable_.push_back(lists_.back().column + i);
}

// Of options with the same values only the cheapest counts.
void SearchLayout::add_option(const Vector& values, double cost, bool changes) {
  ListUnit& list = lists_.back();
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (option_values_[o] != values) continue;
    option_costs_[o] = std::min(option_costs_[o], cost);
    return;
  }
  const Vector move = values - problem_->query.segment(list.column, list.width);
  option_moves_.insert(option_moves_.end(), move.begin(), move.end());
  option_values_.push_back(values);
  option_costs_.push_back(cost);
  option_changes_.push_back(changes ? 1 : 0);
  list.last = options();
}

void SearchLayout::add_group(std::size_t u, bool stays) {
  const MixedUnit& unit = problem_->units[u];
  const Vector own = problem_->query.segment(unit.column, unit.width);
  open_list(u, unit.width);
  if (stays) add_option(own, 0, false);
  for (const MixedOption& option : unit.options) {
    // The query's own values are no change: allowed, and free, where staying is.
    if (option.values != own) add_option(option.values, option.cost, true);
  }
  if (lists_.back().first == lists_.back().last) is_impossible_ = true;
}

void SearchLayout::add_values(std::size_t u, const UnitView& view,
                              const std::vector<double>& values) {
  const MixedUnit& unit = problem_->units[u];
  open_list(u, 1);
  if (unit.stays) add_option(problem_->query.segment(unit.column, 1), 0, false);
  for (const double value : values)
    add_option(Vector::Constant(1, value), unit.charge + view.cost(value), true);
  if (lists_.back().first == lists_.back().last) is_impossible_ = true;
}

void SearchLayout::add_number(std::size_t u, const UnitView& view, const Domain& domain) {
  const MixedUnit& unit = view.unit();
  const double own = problem_->query[unit.column];
  NumberUnit number{.unit = u,
                    .column = unit.column,
                    .has_grid = unit.step.has_value(),
                    .lower = domain.lower - own,
                    .upper = domain.upper - own,
                    .quadratic = unit.quadratic,
                    .absolute = unit.absolute,
                    .charge = unit.charge,
                    .stays = unit.stays};
  number.is_joined = domain.lower <= own && own <= domain.upper;
  if (number.has_grid) {
    number.step = *unit.step;
    const double nearest = std::round((own - unit.offset) / number.step);
    const bool on_grid =
        std::abs(unit.offset + nearest * number.step - own) <= own_tolerance * number.step;
    if (on_grid) number.origin = nearest;
    number.first = on_grid ? 0 : unit.offset - own;
    const auto index = [&](double value) {
      return std::round((value - unit.offset) / number.step) - number.origin;
    };
    const double low = index(domain.lower);
    const double high = index(domain.upper);
    number.lower = number.first + low * number.step;
    number.upper = number.first + high * number.step;
    number.is_joined = on_grid && low <= 1 && high >= -1;
    number.skips_own = on_grid && !unit.stays && low < 0 && high > 0;
  }
  movable_.push_back(number.column);
  numbers_.push_back(number);
}

void SearchLayout::place_option(Vector& x, std::size_t list, std::size_t option) const {
  x.segment(lists_[list].column, lists_[list].width) = option_values_[option];
}

void SearchLayout::place_number(Vector& x, std::size_t number, double move) const {
  const NumberUnit& unit = numbers_[number];
  const double own = problem_->query[unit.column];
  if (!unit.has_grid) {
    const MixedUnit& range = problem_->units[unit.unit];
    x[unit.column] = move == 0 ? own : std::clamp(own + move, range.lower, range.upper);
    return;
  }
  const double k = std::round((move - unit.first) / unit.step);
  const bool is_own = unit.first == 0 && k == 0;
  const MixedUnit& given = problem_->units[unit.unit];
  x[unit.column] = is_own ? own : given.offset + (unit.origin + k) * unit.step;
}

double SearchLayout::cost_of(const Vector& x, std::vector<std::uint8_t>& changed) const {
  double sum = 0;
  changed.assign(views_.size(), 0);
  for (std::size_t u = 0; u < views_.size(); ++u) {
    const MixedUnit& unit = views_[u].unit();
    const auto now = x.segment(unit.column, unit.width);
    if (now == problem_->query.segment(unit.column, unit.width)) continue;
    changed[u] = 1;
    if (!unit.is_group()) {
      sum += unit.charge + views_[u].cost(x[unit.column]);
      continue;
    }
    double cheapest = std::numeric_limits<double>::infinity();
    for (const MixedOption& option : unit.options) {
      if (option.values == now) cheapest = std::min(cheapest, option.cost);
    }
    sum += cheapest;
  }
  return sum;
}

}  // namespace ellice
