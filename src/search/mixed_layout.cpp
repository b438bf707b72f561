#include "search/mixed_layout.hpp"

#include <algorithm>
#include <cmath>

#include "request/cost_prices.hpp"
#include "search/allowed_row.hpp"

namespace ellice {

namespace {

// How near a search from a far query begins and ends.
constexpr double near_query = 1e4;
// Of a step: what rounding may make of one number, and what searches by steps tell apart.
constexpr double same_number = 1e-9;
constexpr double nearly_same = 1e-5;
constexpr double most_listed = 1000;

/// What ½D·Δ² + c·|Δ| + charge stand for, per unit of a feature's weight.
struct Prices {
  double quadratic = 0;
  double absolute = 0;
};

Prices prices(CostKind kind) {
  const CostPrices own = prices_of(kind);
  return {.quadratic = own.squares ? 2.0 : 0, .absolute = own.absolutes ? 1.0 : 0};
}

/// A category's change moves so many columns by one each.
double category_price(CostKind kind, double columns) {
  if (prices_of(kind).counts_categories) return 1;
  const Prices each = prices(kind);
  return columns * (each.quadratic / 2 + each.absolute);
}

bool is_far(const MixedUnit& unit, const Vector& query) {
  return !unit.is_group() && std::abs(query(unit.column)) > far_query;
}

/// All numbers of a grid of which one is next to an own value off the grid, so near that searches
/// by steps would take them for one; nothing otherwise, and of grids without an end.
std::vector<double> besides_own(const FeatureRange& range) {
  std::vector<double> result;
  if (!range.step || !range.allowed.empty() || !std::isfinite(range.upper - range.lower) ||
      (range.upper - range.lower) / *range.step > most_listed)
    return result;
  const double off = std::abs(range.nearest(range.query) - range.query) / *range.step;
  if (!(off > same_number) || off > nearly_same) return result;
  for (auto value = range.beyond(range.lower - *range.step, 1); value;
       value = range.beyond(*value, 1)) {
    if (*value != range.query) result.push_back(*value);
  }
  return result;
}

}  // namespace

bool is_display_grid(const Feature& feature, const FeatureRange& range) {
  return feature.kind == FeatureKind::numeric && !feature.step && range.allowed.empty() &&
         range.step.has_value();
}

bool can_change(const FeatureRange& range) {
  if (range.fixed) return false;
  return range.has_grid() ? range.beyond(range.query, 1) || range.beyond(range.query, -1)
                          : range.lower <= range.upper &&
                                (range.lower != range.query || range.upper != range.query);
}

MixedLayout::MixedLayout(const Problem& problem, const FeasibleSet& feasible, bool display_grids)
    : problem_(&problem) {
  const Encoder& encoder = problem.model->encoder;
  const double charge = problem.cost.sparsity_weight;
  const Prices each = prices(problem.cost.kind);
  for (std::size_t j = 0; j < feasible.ranges().size(); ++j) {
    const FeatureRange& range = feasible.ranges()[j];
    const Feature& feature = encoder.schema().features[j];
    if (!can_change(range)) continue;
    MixedUnit unit{.column = encoder.first_column(j), .width = encoder.column_count(j)};
    std::vector<double> raw_levels;
    if (is_category(feature)) {
      const double columns = feature.kind == FeatureKind::binary ? 1 : 2;
      const double cost = feature.weight * category_price(problem.cost.kind, columns) + charge;
      for (std::size_t level = 0; level < feature.levels.size(); ++level) {
        const auto value = static_cast<double>(level);
        if (value == range.query || !range.contains(value)) continue;
        raw_levels.push_back(value);
        unit.options.push_back(
            {.values = feature.kind == FeatureKind::binary
                           ? Vector(Vector::Constant(1, value))
                           : Vector(Vector::Unit(unit.width, static_cast<Index>(level))),
             .cost = cost});
      }
    } else if (feature.is_binned()) {
      // theory.md, Result 60: of each bin its nearest number.
      const double scale = encoder.statistics(j).scale;
      for (const double value : range.allowed) {
        const double move = std::abs(value - range.query) / scale;
        raw_levels.push_back(value);
        unit.options.push_back(
            {.values = encoder.columns_of(j, value),
             .cost = feature.weight * (each.quadratic / 2 * move * move + each.absolute * move) +
                     charge});
      }
    } else {
      const double mean = encoder.mean()(unit.column);
      const double scale = encoder.scale()(unit.column);
      // At the query's own value a bound must be the query's own coordinate, to the last bit.
      const auto coordinate = [&](double raw) {
        return raw == range.query ? feasible.query()(unit.column) : (raw - mean) / scale;
      };
      unit.lower = coordinate(range.lower);
      unit.upper = coordinate(range.upper);
      unit.quadratic = feature.weight * each.quadratic;
      unit.absolute = feature.weight * each.absolute;
      unit.charge = charge;
      if (!range.allowed.empty()) {
        for (const double value : range.allowed) {
          if (value != range.query && range.contains(value))
            unit.values.push_back(coordinate(value));
        }
      } else if (const std::vector<double> listed = besides_own(range); !listed.empty()) {
        for (const double value : listed) unit.values.push_back(coordinate(value));
      } else if (range.step && (display_grids || !is_display_grid(feature, range))) {
        unit.step = *range.step / scale;
        unit.offset = (range.origin - mean) / scale;
      }
    }
    unit.stays = range.contains(range.query);
    units.push_back(std::move(unit));
    features.push_back(j);
    levels.push_back(std::move(raw_levels));
  }
}

Vector MixedLayout::row(const FeasibleSet& feasible, const Vector& point) const {
  const Encoder& encoder = problem_->model->encoder;
  Vector raw = feasible.decode(point);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const MixedUnit& unit = units[u];
    const auto j = static_cast<Index>(features[u]);
    const auto now = point.segment(unit.column, unit.width);
    if (unit.stays && now == feasible.query().segment(unit.column, unit.width)) continue;
    if (unit.is_group()) {
      for (std::size_t k = 0; k < unit.options.size(); ++k) {
        if (unit.options[k].values == now) raw(j) = levels[u][k];
      }
    } else if (unit.has_grid()) {
      raw(j) = feasible.ranges()[features[u]].nearest(
          point(unit.column) * encoder.scale()(unit.column) + encoder.mean()(unit.column));
    }
  }
  return raw;
}

void bring_near(MixedProblem& mixed) {
  for (MixedUnit& unit : mixed.units) {
    if (!is_far(unit, mixed.query)) continue;
    const double lower = std::max(unit.lower, -near_query);
    const double upper = std::min(unit.upper, near_query);
    if (lower > upper) continue;
    // Outside the range, so that every value of it is a move.
    mixed.query(unit.column) = mixed.query(unit.column) < 0 ? lower - 1 : upper + 1;
    unit.lower = lower;
    unit.upper = upper;
    unit.stays = false;
  }
}

void begin_elsewhere(MixedProblem& mixed) {
  for (const MixedUnit& unit : mixed.units) {
    auto own = mixed.query.segment(unit.column, unit.width);
    const bool is_there =
        std::any_of(unit.options.begin(), unit.options.end(),
                    [&](const MixedOption& option) { return option.values == own; });
    if (unit.stays || !is_there) continue;
    double least = 0;
    for (const MixedOption& option : unit.options)
      least = std::min(least, option.values.minCoeff());
    own.setConstant(unit.width > 1 ? 0 : least - 1);
  }
}

}  // namespace ellice
