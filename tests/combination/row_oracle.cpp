#include "combination/row_oracle.hpp"

#include <algorithm>
#include <cmath>

namespace ellice::combination {

namespace {

/// As docs/reference/formats.md counts.
double days_of(Pace::Period period) {
  switch (period) {
    case Pace::Period::day:
      return 1;
    case Pace::Period::week:
      return 7;
    case Pace::Period::month:
      return 30.4375;
    case Pace::Period::year:
      break;
  }
  return 365.25;
}

/// Where a number lies: among the intervals, or the codes behind them.
std::size_t bin_of(const Bins& bins, double number) {
  const bool is_left = bins.closed == Bins::Closed::left;
  auto place = static_cast<std::size_t>(
      std::count_if(bins.edges.begin(), bins.edges.end(),
                    [&](double edge) { return is_left ? edge <= number : edge < number; }));
  for (std::size_t k = 0; k < bins.special.size(); ++k) {
    if (bins.special[k].number == number) place = bins.edges.size() + 1 + k;
  }
  return place;
}

bool is_code(const Feature& feature, double number) {
  return feature.kind == FeatureKind::binned &&
         bin_of(feature.bins, number) > feature.bins.edges.size();
}

Index columns_of(const Feature& feature) {
  if (feature.kind == FeatureKind::categorical) return static_cast<Index>(feature.levels.size());
  if (feature.kind != FeatureKind::binned || !feature.bins.values.empty()) return 1;
  return static_cast<Index>(feature.bins.edges.size() + 1 + feature.bins.special.size());
}

}  // namespace

RowOracle::RowOracle(const Constraints& constraints, const Cost& cost, const Model& model)
    : constraints_(&constraints), cost_(cost), encoder_(&model.encoder), schema_(&model.schema()) {}

Vector RowOracle::numbers(const Json& row) const {
  Vector result(static_cast<Index>(schema_->features.size()));
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    const Feature& feature = schema_->features[j];
    const Json& value = row.at(feature.name);
    double number = 0;
    if (feature.is_number()) {
      number = value.get<double>();
    } else {
      const auto at =
          std::find(feature.levels.begin(), feature.levels.end(), value.get<std::string>());
      number = static_cast<double>(at - feature.levels.begin());
    }
    result(static_cast<Index>(j)) = number;
  }
  return result;
}

Vector RowOracle::encoded(const Vector& numbers) const {
  std::vector<double> z;
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    const Feature& feature = schema_->features[j];
    const double value = numbers(static_cast<Index>(j));
    const auto column = static_cast<Index>(z.size());
    if (feature.kind == FeatureKind::categorical) {
      for (std::size_t k = 0; k < feature.levels.size(); ++k)
        z.push_back(value == static_cast<double>(k) ? 1 : 0);
    } else if (feature.kind == FeatureKind::binary) {
      z.push_back(value);
    } else if (feature.kind == FeatureKind::binned) {
      const std::size_t bin = bin_of(feature.bins, value);
      if (!feature.bins.values.empty()) z.push_back(feature.bins.values[bin]);
      for (Index k = 0; feature.bins.values.empty() && k < columns_of(feature); ++k)
        z.push_back(k == static_cast<Index>(bin) ? 1 : 0);
    } else {
      z.push_back((value - encoder_->mean()(column)) / encoder_->scale()(column));
    }
  }
  return Eigen::Map<const Vector>(z.data(), static_cast<Index>(z.size()));
}

double RowOracle::cost(const Vector& from, const Vector& to) const {
  const Vector move = encoded(to) - encoded(from);
  double sum = 0;
  Index column = 0;
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    const Feature& feature = schema_->features[j];
    const bool is_category = feature.kind == FeatureKind::categorical;
    const Index count = columns_of(feature);
    double squares = 0;
    double sizes = 0;
    for (Index k = 0; k < count; ++k, ++column) {
      squares += move(column) * move(column);
      sizes += std::abs(move(column));
    }
    if (feature.kind == FeatureKind::binned) {
      const auto i = static_cast<Index>(j);
      sizes = std::abs(to(i) - from(i)) / encoder_->statistics(j).scale;
      squares = sizes * sizes;
    }
    const bool is_counted = is_category || feature.kind == FeatureKind::binary;
    switch (cost_.kind) {
      case CostKind::l2:
        sum += feature.weight * squares;
        break;
      case CostKind::l1:
        sum += feature.weight * sizes;
        break;
      case CostKind::l1_l2:
        sum += feature.weight * (squares + sizes);
        break;
      case CostKind::mixed:
        sum += feature.weight * (is_counted ? (sizes > 0 ? 1 : 0) : squares);
        break;
    }
  }
  if (cost_.kind == CostKind::mixed) sum = std::sqrt(sum);
  return sum + cost_.sparsity_weight * changes(from, to);
}

int RowOracle::changes(const Vector& from, const Vector& to) const {
  int count = 0;
  for (Index j = 0; j < from.size(); ++j) count += from(j) != to(j) ? 1 : 0;
  return count;
}

bool RowOracle::may_become(std::size_t query, std::size_t j, double from, double to) const {
  if (from == to) return true;
  const Feature& feature = schema_->features[j];
  const FeatureLimits limits = constraints_->of(query, feature.name);
  if (feature.immutable || limits.locked) return false;
  if (is_code(feature, from) || is_code(feature, to)) return false;
  const Direction direction = limits.direction.value_or(feature.direction);
  if (direction == Direction::increase && to < from) return false;
  if (direction == Direction::decrease && to > from) return false;
  if (feature.slow && constraints_->horizon) {
    const double days = days_of(constraints_->horizon->per) * constraints_->horizon->amount;
    double most = feature.slow->amount * days / days_of(feature.slow->per);
    if (feature.kind == FeatureKind::ordinal) most = std::floor(most * (1 + 1e-12));
    if (std::abs(to - from) > most + 1e-11 * (most + std::abs(from))) return false;
  }
  const auto is_listed = [&](const Value& value) {
    const double* number = std::get_if<double>(&value);
    return number != nullptr
               ? *number == to
               : feature.levels.at(static_cast<std::size_t>(to)) == std::get<std::string>(value);
  };
  if (!feature.allowed.empty() &&
      std::none_of(feature.allowed.begin(), feature.allowed.end(), is_listed))
    return false;
  if (!feature.is_number()) return to >= 0 && to < static_cast<double>(feature.levels.size());
  const std::optional<double> min = limits.min ? limits.min : feature.min;
  const std::optional<double> max = limits.max ? limits.max : feature.max;
  if ((min && to < *min) || (max && to > *max)) return false;
  const ColumnStatistics seen = encoder_->statistics(j);
  const bool is_bound = constraints_->range == RangePolicy::train;
  if (is_bound && to < std::min(from, seen.min)) return false;
  if (is_bound && to > std::max(from, seen.max)) return false;
  if (feature.kind == FeatureKind::integer && to != std::round(to)) return false;
  if (!feature.step) return true;
  // Bounds of a run do not move the grid of the schema (docs/reference/formats.md).
  const double steps = (to - feature.min.value_or(0)) / *feature.step;
  return std::abs(steps - std::round(steps)) <= 1e-6 + 1e-12 * std::abs(steps);
}

bool RowOracle::keeps(const Rule& rule, const Vector& row) const {
  double sum = -rule.bound;
  double size = std::abs(rule.bound);
  for (const auto& [name, coefficient] : rule.terms) {
    const double term = coefficient * row(static_cast<Index>(*schema_->find(name)));
    sum += term;
    size += std::abs(term);
  }
  const double rounding = 1e-11 * size;
  if (rule.relation != Rule::Relation::at_least && sum > rounding) return false;
  return rule.relation == Rule::Relation::at_most || sum >= -rounding;
}

bool RowOracle::does(const Move& move, const Vector& from, const Vector& to,
                     bool is_condition) const {
  const std::size_t j = *schema_->find(move.feature);
  const double before = from(static_cast<Index>(j));
  const double after = to(static_cast<Index>(j));
  const double rounding = 1e-11 * (std::abs(before) + std::abs(move.by));
  switch (move.kind) {
    case Move::Kind::rises:
      return after > before && after - before >= move.by - rounding;
    case Move::Kind::falls:
      return after < before && before - after >= move.by - rounding;
    case Move::Kind::changes:
      return after != before;
    case Move::Kind::stays:
      return after == before;
    case Move::Kind::becomes:
      break;
  }
  const auto& levels = schema_->features[j].levels;
  const auto level =
      static_cast<double>(std::find(levels.begin(), levels.end(), move.level) - levels.begin());
  return after == level && !(is_condition && before == level);
}

std::string RowOracle::breach(std::size_t query, const Vector& from, const Vector& to) const {
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    const auto i = static_cast<Index>(j);
    if (!may_become(query, j, from(i), to(i)))
      return fmt::format("{}: from {} to {}", schema_->features[j].name, from(i), to(i));
  }
  for (const Rule& rule : schema_->constraints) {
    if (!keeps(rule, to)) return "rule " + rule.text;
  }
  for (const Implication& implication : schema_->implications) {
    if (does(implication.condition, from, to, true) &&
        !does(implication.consequence, from, to, false))
      return "rule " + implication.text;
  }
  return {};
}

}  // namespace ellice::combination
