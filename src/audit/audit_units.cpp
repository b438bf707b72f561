#include "audit/audit_units.hpp"

#include <algorithm>
#include <cmath>

#include "audit/audit_cost.hpp"
#include "core/infinity.hpp"

namespace ellice::audit {

namespace {

constexpr std::size_t most_values = 50000;  // of one feature

}  // namespace

bool Units::make(const std::vector<FeatureValues>& all) {
  units_.clear();
  const CostTerms terms = terms_of(asked_->cost.kind);
  for (std::size_t j = 0; j < all.size(); ++j) {
    const Feature& feature = asked_->encoder->schema().features[j];
    Unit unit{.feature = j,
              .first = asked_->encoder->first_column(j),
              .count = asked_->encoder->column_count(j),
              .is_ordered =
                  feature.kind != FeatureKind::categorical && feature.kind != FeatureKind::binned,
              .square = terms.squares ? feature.weight : 0,
              .absolute = terms.absolutes ? feature.weight : 0,
              .charge = asked_->cost.sparsity_weight};
    const bool may_change = all[j].may_change && all[j].lower <= all[j].upper;
    if (may_change && all[j].is_discrete()) {
      if (!add_values(unit, all[j])) return false;
    } else if (all[j].keeps_own) {
      (void)add_value(unit, all[j].own);
      unit.own = 0;
    }
    if (may_change && !all[j].is_discrete()) add_range(unit, all[j]);
    units_.push_back(std::move(unit));
  }
  return true;
}

Part Units::whole() const {
  Part part;
  for (const Unit& unit : units_) part.push_back({0, unit.last(), unit.has_range});
  return part;
}

bool Units::add_value(Unit& unit, double raw) const {
  const Encoder& encoder = *asked_->encoder;
  const auto feature = static_cast<Index>(unit.feature);
  Unit::Value value{.raw = raw};
  const double own = asked_->constraints->query_raw()(feature);
  const FeatureKind kind = encoder.schema().features[unit.feature].kind;
  if (unit.is_ordered && kind != FeatureKind::binary) {
    const auto at = [&](double number) {
      return (number - encoder.mean()(unit.first)) / encoder.scale()(unit.first);
    };
    const double move = raw == own ? 0 : at(raw) - asked_->constraints->query()(unit.first);
    const double distance = raw == own ? 0 : at(raw) - at(own);
    value.move = Vector::Constant(1, move);
    value.cost = unit.square * distance * distance + unit.absolute * std::abs(distance) +
                 (raw == own ? 0 : unit.charge);
  } else {
    Vector numbers = asked_->constraints->query_raw();
    numbers(feature) = raw;
    const RawRow row = encoder.values({numbers.data(), static_cast<std::size_t>(numbers.size())});
    value.move =
        (encoder.encode(row) - asked_->constraints->query()).segment(unit.first, unit.count);
    value.cost =
        cost_of_move(asked_->cost, encoder,
                     distance_by_column(encoder, asked_->constraints->query_raw(), numbers));
    if (terms_of(asked_->cost.kind).is_root) value.cost *= value.cost;
  }
  if (asked_->claimed && !(value.cost < *asked_->claimed)) return false;
  unit.values.push_back(std::move(value));
  return true;
}

bool Units::add_values(Unit& unit, const FeatureValues& values) const {
  const auto add_side = [&](int side) {
    std::optional<double> raw = values.next(values.own, side);
    while (raw) {
      // Farther ones of an order cost more.
      if (!add_value(unit, *raw) && unit.is_ordered) break;
      if (unit.values.size() > most_values) return false;
      raw = values.next(*raw, side);
    }
    return true;
  };
  if (!add_side(-1)) return false;
  std::reverse(unit.values.begin(), unit.values.end());
  unit.below = static_cast<int>(unit.values.size());
  if (values.keeps_own && add_value(unit, values.own)) unit.own = unit.below;
  return add_side(1);
}

void Units::add_range(Unit& unit, const FeatureValues& values) const {
  std::vector<FeatureValues> others = asked_->constraints->values();
  others[unit.feature] = values;
  others[unit.feature].keeps_own = false;
  const Box box = asked_->constraints->around(others);
  const double own = asked_->constraints->query()(unit.first);
  unit.lower = box.lower(unit.first) - own;
  unit.upper = box.upper(unit.first) - own;
  const double budget = asked_->claimed.value_or(infinity);
  const double reach = std::min(unit.square > 0 ? std::sqrt(budget / unit.square) : infinity,
                                unit.absolute > 0 ? budget / unit.absolute : infinity);
  unit.lower = std::max(unit.lower, -reach);
  unit.upper = std::min(unit.upper, reach);
  unit.has_range = unit.lower <= unit.upper;
  // A number that may stay and whose range holds its own value needs no decision, unless it counts
  // whether it changes.
  if (unit.has_range && unit.lower <= 0 && unit.upper >= 0 && !is_counted(unit.feature)) {
    unit.values.clear();
    unit.own = -1;
  }
}

bool Units::is_counted(std::size_t feature) const {
  const auto holds = [&](const std::vector<std::size_t>& set) {
    return std::find(set.begin(), set.end(), feature) != set.end();
  };
  return asked_->most_changes || asked_->cost.sparsity_weight > 0 ||
         std::any_of(asked_->not_all.begin(), asked_->not_all.end(), holds);
}

bool Units::may_stay(const Part& part, std::size_t unit) const {
  const Choice& choice = part[unit];
  const int own = units_[unit].own;
  return own >= choice.first && own <= choice.last;
}

bool Units::may_change(const Part& part, std::size_t unit) const {
  const Choice& choice = part[unit];
  return choice.range || choice.last - choice.first >= (may_stay(part, unit) ? 1 : 0);
}

void Units::keep(Part& part, std::size_t unit) const {
  part[unit] = {units_[unit].own, units_[unit].own, false};
}

std::optional<std::size_t> Units::slots(const Part& part) const {
  if (!asked_->most_changes) return std::nullopt;
  auto left = static_cast<std::int64_t>(*asked_->most_changes);
  for (std::size_t u = 0; u < part.size(); ++u) left -= may_stay(part, u) ? 0 : 1;
  return static_cast<std::size_t>(std::max<std::int64_t>(0, left));
}

const std::vector<std::size_t>* Units::open_set(const Part& part) const {
  for (const std::vector<std::size_t>& set : asked_->not_all) {
    const auto changes = [&](std::size_t u) { return may_change(part, u); };
    if (std::all_of(set.begin(), set.end(), changes)) return &set;
  }
  return nullptr;
}

bool Units::settle(Part& part) const {
  std::int64_t must = 0;
  for (std::size_t u = 0; u < part.size(); ++u) {
    if (may_stay(part, u)) continue;
    if (!may_change(part, u)) return false;
    ++must;
  }
  for (const std::vector<std::size_t>& set : asked_->not_all) {
    std::size_t staying = 0;
    std::size_t one = 0;
    for (const std::size_t u : set) {
      if (!may_stay(part, u)) continue;
      ++staying;
      one = u;
    }
    if (staying == 0) return false;
    if (staying == 1) keep(part, one);
  }
  if (!asked_->most_changes) return true;
  if (must > *asked_->most_changes) return false;
  if (must == *asked_->most_changes) {
    for (std::size_t u = 0; u < part.size(); ++u) {
      if (may_stay(part, u)) keep(part, u);
    }
  }
  return true;
}

}  // namespace ellice::audit
