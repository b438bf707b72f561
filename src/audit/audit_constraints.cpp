#include "audit/audit_constraints.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/infinity.hpp"
#include "core/number_text.hpp"

namespace ellice::audit {

namespace {

// A value counts as one of a grid if it is so to this share of the step, or to its own last digits.
constexpr long double grid_rounding = 1e-9L;
constexpr long double last_digits = 0x1p-51L;
// A rule counts as kept if what it lacks is this share of the sizes of its terms.
constexpr long double rule_rounding = 1e-12L;

double number_of(const Feature& feature, const Value& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  const auto at =
      std::find(feature.levels.begin(), feature.levels.end(), std::get<std::string>(value));
  return static_cast<double>(at - feature.levels.begin());
}

bool is_named(const Rule& rule, const std::string& feature) {
  return std::any_of(rule.terms.begin(), rule.terms.end(),
                     [&](const auto& term) { return term.first == feature; });
}

// Days, in the order of the periods.
constexpr std::array<double, 4> period_days = {1, 7, 30.4375, 365.25};

/// By how much a slow feature may change within the horizon, as docs/reference/formats.md has it.
double pace_limit(const Feature& feature, const Horizon& horizon) {
  const double days = horizon.amount * period_days.at(static_cast<std::size_t>(horizon.per));
  const double limit =
      feature.slow->amount * days / period_days.at(static_cast<std::size_t>(feature.slow->per));
  return feature.kind == FeatureKind::ordinal ? std::trunc(limit) : limit;
}

bool is_code(const Bins& bins, double number) {
  return std::any_of(bins.special.begin(), bins.special.end(),
                     [&](const Bins::Code& code) { return code.number == number; });
}

/// Whether a number lies in an interval between two edges, the outer ones open.
bool lies_in(const Bins& bins, std::size_t interval, double number) {
  const bool is_right = bins.closed == Bins::Closed::right;
  if (interval > 0) {
    const double low = bins.edges[interval - 1];
    if (is_right ? number <= low : number < low) return false;
  }
  if (interval == bins.edges.size()) return true;
  const double high = bins.edges[interval];
  return is_right ? number <= high : number < high;
}

/// The code, end or edge that a number of the grid misses by no more than `rounding`, which is what
/// people read, or the number itself.
double meant_by(const Bins& bins, double number, long double rounding) {
  for (const Bins::Code& code : bins.special) {
    if (std::abs(number - code.number) <= rounding) return code.number;
  }
  for (const auto& end : {bins.lowest, bins.highest}) {
    if (end && std::abs(number - end->at) <= rounding) return end->at;
  }
  for (const double edge : bins.edges) {
    if (std::abs(number - edge) <= rounding) return edge;
  }
  return number;
}

/// Whether a number is beyond all bins, or an end that none has.
bool is_beyond(const Bins& bins, double number) {
  const auto& low = bins.lowest;
  const auto& high = bins.highest;
  return (low && (number < low->at || (low->is_open && number == low->at))) ||
         (high && (number > high->at || (high->is_open && number == high->at)));
}

/// How far a row is from a rule's bound: Σ coefficient·value − bound, and the sizes of its terms.
struct Excess {
  long double value = 0;
  long double size = 0;
};

Excess excess_of(const Rule& rule, const Schema& schema, VectorArg raw) {
  Excess result{.value = -static_cast<long double>(rule.bound), .size = std::abs(rule.bound)};
  for (const auto& [name, coefficient] : rule.terms) {
    const long double term =
        static_cast<long double>(coefficient) * raw(static_cast<Index>(*schema.find(name)));
    result.value += term;
    result.size += std::abs(term);
  }
  return result;
}

bool keeps(const Rule& rule, const Schema& schema, VectorArg raw) {
  const Excess excess = excess_of(rule, schema, raw);
  const long double slack = rule_rounding * excess.size;
  const bool low_enough = rule.relation == Rule::Relation::at_least || excess.value <= slack;
  const bool high_enough = rule.relation == Rule::Relation::at_most || excess.value >= -slack;
  return low_enough && high_enough;
}

RuleRow row_of(const Rule& rule, const Encoder& encoder) {
  RuleRow result{.normal = Vector::Zero(encoder.columns()), .lower = -infinity, .upper = infinity};
  long double bound = rule.bound;
  for (const auto& [name, coefficient] : rule.terms) {
    const Index column = encoder.first_column(*encoder.schema().find(name));
    result.normal(column) = coefficient * encoder.scale()(column);
    bound -= static_cast<long double>(coefficient) * encoder.mean()(column);
  }
  if (rule.relation != Rule::Relation::at_least) result.upper = static_cast<double>(bound);
  if (rule.relation != Rule::Relation::at_most) result.lower = static_cast<double>(bound);
  return result;
}

}  // namespace

bool FeatureValues::is_on_grid(double value) const {
  const long double steps = (static_cast<long double>(value) - origin) / *step;
  const long double off = std::abs(steps - std::round(steps)) * *step;
  return off <= grid_rounding * *step + last_digits * (std::abs(value) + std::abs(origin));
}

double FeatureValues::grid_number(long double k) const {
  const auto is_whole = [](double value) {
    return std::abs(value - std::round(value)) <= 1e-12 * std::abs(std::round(value));
  };
  // Origin and step in units of which both are whole, so that nothing is rounded but the quotient:
  // parts of one, and decimals.
  const auto in_units = [&](double per_one) -> std::optional<double> {
    if (!is_whole(origin * per_one) || !is_whole(*step * per_one)) return std::nullopt;
    const long double units = std::round(origin * per_one) + k * std::round(*step * per_one);
    return static_cast<double>(units) / per_one;
  };
  if (const double parts = std::round(1 / *step); std::abs(parts * *step - 1) < 1e-12) {
    if (const auto found = in_units(parts)) return *found;
  }
  for (double per_one = 1; per_one <= 1e9; per_one *= 10) {
    if (const auto found = in_units(per_one)) return *found;
  }
  return static_cast<double>(origin + k * static_cast<long double>(*step));
}

bool FeatureValues::admits(double value) const {
  if (value == own) return keeps_own;
  if (!may_change || !(value >= lower && value <= upper)) return false;
  if (bins != nullptr) {
    const long double rounding =
        step && !listed ? last_digits * (std::abs(value) + std::abs(origin)) : 0;
    const double meant = meant_by(*bins, value, rounding);
    if (is_code(*bins, meant) || is_beyond(*bins, meant) || bins->of(meant) != bins->of(value))
      return false;
  }
  if (listed) return std::find(listed->begin(), listed->end(), value) != listed->end();
  return !step || is_on_grid(value);
}

std::optional<double> FeatureValues::next(double value, int side) const {
  if (bins == nullptr) return next_number(value, side);
  std::optional<double> nearest;
  for (const double candidate : nearest_by_bin()) {
    const bool is_beyond = side > 0 ? candidate > value : candidate < value;
    if (!is_beyond) continue;
    if (!nearest || (side > 0 ? candidate < *nearest : candidate > *nearest)) nearest = candidate;
  }
  return nearest;
}

std::optional<double> FeatureValues::next_number(double value, int side) const {
  if (!may_change || !is_discrete()) return std::nullopt;
  std::optional<double> nearest;
  const auto consider = [&](double candidate) {
    const bool is_beyond = side > 0 ? candidate > value : candidate < value;
    if (!is_beyond || candidate == own || !admits(candidate)) return;
    if (!nearest || (side > 0 ? candidate < *nearest : candidate > *nearest)) nearest = candidate;
  };
  if (listed) {
    for (const double candidate : *listed) consider(candidate);
    return nearest;
  }
  // The own value may be one of the grid, a quotient may round to either side, and codes are none.
  const double from = side > 0 ? std::max(value, lower) : std::min(value, upper);
  const long double first = std::round((static_cast<long double>(from) - origin) / *step);
  const int reach = 3 + static_cast<int>(bins == nullptr ? 0 : bins->special.size());
  for (int k = -reach; k <= reach; ++k) {
    consider(grid_number(first + k));
  }
  // A bound that misses its grid value by rounding stands for it.
  for (const double bound : {lower, upper})
    if (std::isfinite(bound)) consider(bound);
  return nearest;
}

std::vector<double> FeatureValues::nearest_by_bin() const {
  std::vector<double> result;
  if (bins == nullptr || !may_change || lower > upper) return result;
  for (std::size_t interval = 0; interval <= bins->edges.size(); ++interval) {
    if (keeps_own && !is_code(*bins, own) && lies_in(*bins, interval, own)) continue;
    std::optional<double> nearest;
    const double low = bins->lower(interval);
    const double high = bins->upper(interval);
    const auto consider = [&](double number) {
      // A number of the grid that misses an edge by rounding alone is that edge.
      const auto tolerance = last_digits * (std::abs(number) + std::abs(origin));
      if (step && !listed && std::abs(number - low) <= tolerance) number = low;
      if (step && !listed && std::abs(number - high) <= tolerance) number = high;
      if (number == own || !lies_in(*bins, interval, number) || !admits(number)) return;
      if (!nearest || std::abs(number - own) < std::abs(*nearest - own)) nearest = number;
    };
    if (listed) {
      for (const double number : *listed) consider(number);
    } else {
      const auto around = [&](double place) {
        if (!std::isfinite(place)) return;
        consider(place);
        const long double at = std::round((static_cast<long double>(place) - origin) / *step);
        const int reach = 3 + static_cast<int>(bins->special.size());
        for (int k = -reach; k <= reach; ++k) consider(grid_number(at + k));
      };
      const double first = std::max(low, lower);
      around(std::clamp(own, first, std::max(first, std::min(high, upper))));
      // A bound that misses its grid value by rounding stands for it.
      for (const double bound : {lower, upper})
        if (std::isfinite(bound)) consider(bound);
    }
    if (nearest) result.push_back(*nearest);
  }
  return result;
}

bool FeatureValues::is_empty() const {
  if (keeps_own) return false;
  return !may_change || lower > upper || (is_discrete() && !has_others());
}

RowConstraints::RowConstraints(const Encoder& encoder, const Constraints& constraints,
                               std::size_t query_index, const RawRow& query,
                               const std::vector<std::optional<double>>& display_steps)
    : encoder_(&encoder),
      constraints_(&constraints),
      query_index_(query_index),
      raw_(numbers_of(query)),
      query_(encoder.encode(query)) {
  read(display_steps);
}

void RowConstraints::read(const std::vector<std::optional<double>>& display_steps) {
  const Schema& schema = encoder_->schema();
  values_.clear();
  rules_.clear();
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const bool has_display = j < display_steps.size();
    values_.push_back(
        values_of(j, query_index_, has_display ? display_steps[j] : std::optional<double>()));
  }
  for (const Rule& rule : schema.constraints) {
    if (has_rule(rule.text)) rules_.push_back(row_of(rule, *encoder_));
  }
}

bool RowConstraints::binds(const std::string& name) const {
  return !kept_ || std::find(kept_->begin(), kept_->end(), name) != kept_->end();
}

RowConstraints RowConstraints::only(std::vector<std::string> names) const {
  RowConstraints result = *this;
  result.kept_ = std::move(names);
  result.read({});
  return result;
}

std::vector<std::string> RowConstraints::names() const {
  const Schema& schema = encoder_->schema();
  std::vector<std::string> result;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const Named named = named_of(j);
    for (const std::string* name :
         {&named.immutable, &named.locked, &named.code, &named.minimum, &named.maximum,
          &named.training, &named.direction, &named.pace, &named.allowed}) {
      if (!name->empty()) result.push_back(feature.name + ": " + *name);
    }
  }
  for (const Rule& rule : schema.constraints) result.push_back("rule " + rule.text);
  for (const Implication& one : schema.implications) result.push_back("rule " + one.text);
  return result;
}

std::pair<double, double> RowConstraints::training_range(std::size_t j) const {
  const Feature& feature = encoder_->schema().features[j];
  const ColumnStatistics seen = encoder_->statistics(j);
  const double own = raw_(static_cast<Index>(j));
  if (feature.is_binned() && is_code(feature.bins, own)) return {seen.min, seen.max};
  return {std::min(seen.min, own), std::max(seen.max, own)};
}

RowConstraints::Named RowConstraints::named_of(std::size_t j, bool in_words) const {
  const Feature& feature = encoder_->schema().features[j];
  const FeatureLimits limits = constraints_->of(query_index_, feature.name);
  const std::optional<double> least = limits.min ? limits.min : feature.min;
  const std::optional<double> most = limits.max ? limits.max : feature.max;
  const Direction direction = limits.direction.value_or(feature.direction);
  Named result;
  // Forming words takes longer than all the rest.
  const auto say = [&](const auto& words) { return in_words ? words() : std::string("bound"); };
  if (feature.immutable) result.immutable = "immutable";
  if (limits.locked) result.locked = "locked";
  if (feature.is_binned()) {
    for (const Bins::Code& code : feature.bins.special) {
      if (code.number == raw_(static_cast<Index>(j)))
        result.code = fmt::format("stays {} ({})", code.text, code.number);
    }
  }
  if (least) result.minimum = say([&] { return fmt::format("at least {}", *least); });
  if (most) result.maximum = say([&] { return fmt::format("at most {}", *most); });
  if (feature.is_number() && constraints_->range == RangePolicy::train) {
    result.training = say([&] {
      const auto [low, high] = training_range(j);
      return fmt::format("within the training range {} to {}", low, high);
    });
  }
  if (feature.kind != FeatureKind::categorical && direction != Direction::any) {
    result.direction = direction == Direction::increase ? "may only increase" : "may only decrease";
  }
  if (const std::optional<Horizon>& horizon = constraints_->horizon; horizon && feature.slow) {
    result.pace = say([&] {
      return fmt::format("changes by at most {} within {} ({})", pace_limit(feature, *horizon),
                         to_text(*horizon), to_text(*feature.slow));
    });
  }
  if (!feature.allowed.empty()) result.allowed = "among the allowed values";
  return result;
}

FeatureValues RowConstraints::values_of(std::size_t j, std::size_t query_index,
                                        std::optional<double> display_step) const {
  const Schema& schema = encoder_->schema();
  const Feature& feature = schema.features[j];
  const FeatureLimits limits = constraints_->of(query_index, feature.name);
  FeatureValues result{.own = raw_(static_cast<Index>(j))};
  const Named named = named_of(j, kept_.has_value());
  const auto bound = [&](const std::string& name) {
    return !name.empty() && (!kept_ || binds(feature.name + ": " + name));
  };
  result.may_change = !bound(named.immutable) && !bound(named.locked) && !bound(named.code);
  if (feature.is_binned()) result.bins = &feature.bins;
  // Numbers without a bin are nobody's, whatever a run lifts.
  result.lower = feature.bins.lowest ? feature.bins.lowest->at : -infinity;
  result.upper = feature.bins.highest ? feature.bins.highest->at : infinity;
  if (feature.is_number()) {
    // A run's bounds stand in place of the schema's, and its own side only.
    if (bound(named.minimum))
      result.lower = std::max(result.lower, limits.min ? *limits.min : *feature.min);
    if (bound(named.maximum))
      result.upper = std::min(result.upper, limits.max ? *limits.max : *feature.max);
    if (bound(named.training)) {
      const auto [low, high] = training_range(j);
      result.lower = std::max(result.lower, low);
      result.upper = std::min(result.upper, high);
    }
  } else {
    result.lower = 0;
    result.upper = static_cast<double>(feature.levels.size()) - 1;
    result.listed.emplace();
    for (double level = 0; level <= result.upper; ++level) result.listed->push_back(level);
  }
  if (bound(named.direction)) {
    const Direction direction = limits.direction.value_or(feature.direction);
    if (direction == Direction::increase) result.lower = std::max(result.lower, result.own);
    if (direction == Direction::decrease) result.upper = std::min(result.upper, result.own);
  }
  if (bound(named.pace)) {
    const double most = pace_limit(feature, *constraints_->horizon);
    result.lower = std::max(result.lower, result.own - most);
    result.upper = std::min(result.upper, result.own + most);
  }
  // The grid is the schema's: what a run bounds does not move it.
  result.origin = feature.min.value_or(0);
  result.step = feature.step;
  if (feature.kind == FeatureKind::integer && !result.step) result.step = 1;
  const bool is_listed = bound(named.allowed);
  if (feature.kind == FeatureKind::numeric && !result.step && !is_listed) {
    const bool is_equated =
        std::any_of(schema.constraints.begin(), schema.constraints.end(), [&](const Rule& rule) {
          return rule.relation == Rule::Relation::equal && is_named(rule, feature.name);
        });
    if (display_step && !is_equated) {
      result.step = display_step;
      result.origin = 0;
    }
  }
  if (!is_listed) return result;
  // Values that a list allows must be of the grid as well, where there is one.
  std::vector<double> listed;
  for (const Value& value : feature.allowed) {
    const double number = number_of(feature, value);
    if (!result.step || result.is_on_grid(number)) listed.push_back(number);
  }
  std::sort(listed.begin(), listed.end());
  if (feature.is_number()) {
    result.lower = listed.empty() ? infinity : std::max(result.lower, listed.front());
    result.upper = listed.empty() ? -infinity : std::min(result.upper, listed.back());
  }
  result.step.reset();
  result.listed = std::move(listed);
  return result;
}

Vector RowConstraints::numbers_of(const RawRow& row) const {
  Vector raw(static_cast<Index>(row.size()));
  for (std::size_t j = 0; j < row.size(); ++j) {
    raw(static_cast<Index>(j)) = number_of(encoder_->schema().features[j], row[j]);
  }
  return raw;
}

std::vector<std::string> RowConstraints::broken_by(const RawRow& row) const {
  return broken_by(numbers_of(row));
}

std::vector<std::string> RowConstraints::broken_by(VectorArg raw) const {
  const Schema& schema = encoder_->schema();
  std::vector<std::string> result;
  for (std::size_t j = 0; j < values_.size(); ++j) {
    const double value = raw(static_cast<Index>(j));
    if (!values_[j].admits(value)) result.push_back(fault(j, value));
  }
  for (const Rule& rule : schema.constraints) {
    if (has_rule(rule.text) && !keeps(rule, schema, raw)) result.push_back("rule " + rule.text);
  }
  for (const Implication& implication : schema.implications) {
    if (!has_rule(implication.text)) continue;
    if (does(implication.condition, raw, true) && !does(implication.consequence, raw, false))
      result.push_back("rule " + implication.text);
  }
  return result;
}

std::string RowConstraints::fault(std::size_t j, double value) const {
  const Feature& feature = encoder_->schema().features[j];
  const FeatureValues& values = values_[j];
  const auto text = [&](double number) {
    return feature.is_number() ? number_text(number)
                               : feature.levels.at(static_cast<std::size_t>(number));
  };
  if (!values.may_change) {
    return fmt::format("{}: changed from {} although it may not change", feature.name,
                       text(values.own));
  }
  if (value >= values.lower && value <= values.upper)
    return fmt::format("{}: {} is not an allowed value", feature.name, text(value));
  if (!feature.is_number()) {
    return fmt::format("{}: {} is not on the side of {} to which it may move", feature.name,
                       text(value), text(values.own));
  }
  return fmt::format("{}: {} lies outside {} to {}", feature.name, text(value), values.lower,
                     values.upper);
}

std::vector<std::string> RowConstraints::broken_by_query(bool as_of_0_1_0) const {
  const Schema& schema = encoder_->schema();
  std::vector<std::string> result;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const FeatureLimits limits = constraints_->of(query_index_, feature.name);
    const double own = raw_(static_cast<Index>(j));
    if (feature.is_binned() && is_code(feature.bins, own)) continue;
    const double least = limits.min.value_or(feature.min.value_or(-infinity));
    const double most = limits.max.value_or(feature.max.value_or(infinity));
    if (own < least) result.push_back(fmt::format("{}: {} is below {}", feature.name, own, least));
    if (own > most) result.push_back(fmt::format("{}: {} is above {}", feature.name, own, most));
    const bool is_listed =
        std::any_of(feature.allowed.begin(), feature.allowed.end(),
                    [&](const Value& value) { return number_of(feature, value) == own; });
    const bool is_named = values_[j].may_change || !as_of_0_1_0;
    if (!feature.allowed.empty() && !is_listed && is_named) {
      result.push_back(fmt::format("{}: {} is not an allowed value", feature.name,
                                   feature.is_number()
                                       ? number_text(own)
                                       : feature.levels.at(static_cast<std::size_t>(own))));
    }
  }
  for (const Rule& rule : schema.constraints) {
    if (!keeps(rule, schema, raw_)) result.push_back("rule " + rule.text);
  }
  return result;
}

bool RowConstraints::is_continuous() const {
  return std::none_of(values_.begin(), values_.end(),
                      [](const FeatureValues& values) { return values.has_others(); });
}

}  // namespace ellice::audit
