#include "audit/audit_units.hpp"

#include <algorithm>
#include <cmath>

#include "audit/audit_cost.hpp"
#include "audit/golden_section.hpp"
#include "core/infinity.hpp"

namespace ellice::audit {

namespace {

constexpr std::size_t most_values = 50000;  // of one feature

}  // namespace

bool Units::make(const std::vector<FeatureValues>& all) {
  units_.clear();
  for (std::size_t j = 0; j < all.size(); ++j) {
    Unit unit{.feature = j,
              .first = asked_->encoder->first_column(j),
              .count = asked_->encoder->column_count(j),
              .charge = asked_->cost.sparsity_weight};
    const Feature& feature = asked_->encoder->schema().features[j];
    const CostTerms terms = terms_of(asked_->cost.kind);
    unit.square = terms.squares ? feature.weight : 0;
    unit.absolute = terms.absolutes ? feature.weight : 0;
    if (all[j].keeps_own) add_value(unit, all[j].own);
    unit.is_ordered =
        feature.kind != FeatureKind::categorical && feature.kind != FeatureKind::binned;
    unit.above = unit.below = unit.values.size();
    if (all[j].may_change && all[j].lower <= all[j].upper) {
      if (!all[j].is_discrete()) {
        add_range(unit, all[j]);
      } else if (!add_values(unit, all[j])) {
        return false;
      }
    }
    units_.push_back(std::move(unit));
  }
  return true;
}

bool Units::is_empty() const {
  return std::any_of(units_.begin(), units_.end(),
                     [](const Unit& unit) { return unit.values.empty() && !unit.has_range; });
}

Decisions Units::at_first() const {
  Decisions decisions(units_.size());
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].values.size() == 1 && !units_[u].has_range) decisions[u] = 0;
    if (units_[u].values.empty()) decisions[u] = -1;
  }
  return decisions;
}

void Units::add_value(Unit& unit, double raw) const {
  Vector numbers = asked_->constraints->query_raw();
  numbers(static_cast<Index>(unit.feature)) = raw;
  const RawRow row =
      asked_->encoder->values({numbers.data(), static_cast<std::size_t>(numbers.size())});
  const Vector z = asked_->encoder->encode(row);
  const Vector& query = asked_->constraints->query();
  double cost =
      cost_of_move(asked_->cost, *asked_->encoder,
                   distance_by_column(*asked_->encoder, asked_->constraints->query_raw(), numbers));
  if (terms_of(asked_->cost.kind).is_root) cost *= cost;
  if (cost < asked_->claimed)
    unit.values.push_back(
        {.raw = raw, .move = (z - query).segment(unit.first, unit.count), .cost = cost});
}

bool Units::add_values(Unit& unit, const FeatureValues& values) const {
  for (const int side : {1, -1}) {
    unit.below = unit.values.size();
    std::optional<double> raw = values.next(values.own, side);
    while (raw) {
      const std::size_t before = unit.values.size();
      add_value(unit, *raw);
      // Farther ones of an order cost more.
      if (unit.is_ordered && unit.values.size() == before) break;
      if (unit.values.size() > most_values) return false;
      raw = values.next(*raw, side);
    }
  }
  return true;
}

void Units::add_range(Unit& unit, const FeatureValues& values) const {
  std::vector<FeatureValues> others = asked_->constraints->values();
  others[unit.feature] = values;
  others[unit.feature].keeps_own = false;
  const Box box = asked_->constraints->around(others);
  const double own = asked_->constraints->query()(unit.first);
  unit.lower = box.lower(unit.first) - own;
  unit.upper = box.upper(unit.first) - own;
  const double budget = asked_->claimed;
  const double reach = std::min(unit.square > 0 ? std::sqrt(budget / unit.square) : infinity,
                                unit.absolute > 0 ? budget / unit.absolute : infinity);
  unit.lower = std::max(unit.lower, -reach);
  unit.upper = std::min(unit.upper, reach);
  unit.has_range = unit.lower <= unit.upper;
  // A number that may stay and whose range holds its own value needs no decision, unless it counts
  // whether it changes.
  if (unit.has_range && unit.lower <= 0 && unit.upper >= 0 && !is_counted(unit.feature)) {
    unit.values.clear();
    unit.above = unit.below = 0;
  }
}

bool Units::is_counted(std::size_t feature) const {
  const auto holds = [&](const std::vector<std::size_t>& set) {
    return std::find(set.begin(), set.end(), feature) != set.end();
  };
  return asked_->most_changes || asked_->cost.sparsity_weight > 0 ||
         std::any_of(asked_->not_all.begin(), asked_->not_all.end(), holds);
}

bool Units::is_change(std::size_t unit, int option) const {
  const Unit& one = units_[unit];
  return option < 0 || one.values[static_cast<std::size_t>(option)].raw !=
                           asked_->constraints->query_raw()(static_cast<Index>(one.feature));
}

std::int64_t Units::changes(const Decisions& decisions) const {
  std::int64_t count = 0;
  for (std::size_t u = 0; u < units_.size(); ++u)
    count += decisions[u] && is_change(u, *decisions[u]) ? 1 : 0;
  return count;
}

bool Units::is_excluded(const Decisions& decisions) const {
  if (asked_->most_changes && changes(decisions) > *asked_->most_changes) return true;
  const auto all_change = [&](const std::vector<std::size_t>& set) {
    return std::all_of(set.begin(), set.end(), [&](std::size_t feature) {
      return decisions[feature] && is_change(feature, *decisions[feature]);
    });
  };
  return std::any_of(asked_->not_all.begin(), asked_->not_all.end(), all_change);
}

long double Units::option_term(const Unit& unit, int option, const LongVector& theta,
                               long double m) const {
  if (option >= 0) {
    const Unit::Value& value = unit.values[static_cast<std::size_t>(option)];
    long double gain = 0;
    for (Index i = 0; i < unit.count; ++i) gain += theta(unit.first + i) * value.move(i);
    return value.cost - m * gain;
  }
  const long double pull = m * theta(unit.first);
  const long double net = std::max(std::abs(pull) - unit.absolute, 0.0L);
  long double move = 0;
  if (net > 0) {
    const long double free =
        unit.square > 0 ? net / (2 * unit.square) : static_cast<long double>(infinity);
    move = pull > 0 ? free : -free;
  }
  move =
      std::clamp(move, static_cast<long double>(unit.lower), static_cast<long double>(unit.upper));
  if (std::isinf(move)) return -infinity;
  return unit.square * move * move + unit.absolute * std::abs(move) - pull * move + unit.charge;
}

std::size_t Units::least_index(const Unit& unit, std::size_t begin, std::size_t end,
                               const LongVector& theta, long double m) const {
  const auto at = [&](std::size_t k) { return option_term(unit, static_cast<int>(k), theta, m); };
  std::size_t low = begin;
  std::size_t high = end - 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (at(middle) <= at(middle + 1)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

long double Units::least_change(const Unit& unit, const LongVector& theta, long double m) const {
  long double least = unit.has_range ? option_term(unit, -1, theta, m) : infinity;
  if (unit.is_ordered) {
    const auto take_least = [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      const std::size_t k = least_index(unit, begin, end, theta, m);
      least = std::min(least, option_term(unit, static_cast<int>(k), theta, m));
    };
    take_least(unit.above, unit.below);
    take_least(unit.below, unit.values.size());
    return least;
  }
  for (std::size_t k = unit.above; k < unit.values.size(); ++k)
    least = std::min(least, option_term(unit, static_cast<int>(k), theta, m));
  return least;
}

long double Units::bound(const Decisions& decisions, const LongVector& theta, long double m) const {
  const Vector& query = asked_->constraints->query();
  long double sum = asked_->threshold - theta(query.size());
  for (Index i = 0; i < query.size(); ++i) sum -= theta(i) * query(i);
  sum *= m;
  std::vector<long double> falls;  // what a change of those that may stay brings, below 0
  std::int64_t changed = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    if (decisions[u]) {
      sum += option_term(unit, *decisions[u], theta, m);
      changed += is_change(u, *decisions[u]) ? 1 : 0;
      continue;
    }
    const long double other = least_change(unit, theta, m);
    if (!unit.has_own()) {
      sum += other;
      ++changed;
      continue;
    }
    const long double own = option_term(unit, 0, theta, m);
    sum += own;
    if (other < own) falls.push_back(other - own);
  }
  if (asked_->most_changes) {
    const auto left =
        static_cast<std::size_t>(std::max<std::int64_t>(0, *asked_->most_changes - changed));
    std::sort(falls.begin(), falls.end());
    if (falls.size() > left) falls.resize(left);
  }
  for (const long double fall : falls) sum += fall;
  return sum;
}

long double Units::best_price(const Decisions& decisions, const LongVector& theta) const {
  const auto value = [&](long double m) { return bound(decisions, theta, m); };
  long double high = 1e-6L;
  while (high < 1e30L && value(2 * high) > value(high)) high *= 2;
  return largest_between(value, high / 2, 2 * high, 30).at;
}

}  // namespace ellice::audit
