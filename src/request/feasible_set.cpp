#include "request/feasible_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/core/number_text.hpp"

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// With more ranges than this that do not contain the query, not every combination of own values and
// ranges is searched: all but the first ones keep their own values together, or enter their ranges
// together.
constexpr std::size_t most_pieces = 6;

// How far from the grid, in steps, a value of the grid may be by rounding.
constexpr double grid_tolerance = 1e-9;

/// Left and right side of a rule at a row, and the rounding that their difference may have.
struct RuleValue {
  double sum = 0;
  double scale = 0;
};

RuleValue evaluate(const Rule& rule, const Schema& schema, VectorArg raw) {
  RuleValue result{.scale = std::abs(rule.bound)};
  for (const auto& [name, coefficient] : rule.terms) {
    const double term = coefficient * raw(static_cast<Index>(*schema.find(name)));
    result.sum += term;
    result.scale += std::abs(term);
  }
  return result;
}

bool holds(const Rule& rule, const Schema& schema, VectorArg raw) {
  const RuleValue value = evaluate(rule, schema, raw);
  const double excess = value.sum - rule.bound;
  const double rounding = 1e-12 * value.scale;
  switch (rule.relation) {
    case Rule::Relation::at_most:
      return excess <= rounding;
    case Rule::Relation::at_least:
      return excess >= -rounding;
    case Rule::Relation::equal:
      break;
  }
  return std::abs(excess) <= rounding;
}

/// The values that a feature's list allows, in order; levels as their index.
std::vector<double> listed_values(const Feature& feature) {
  std::vector<double> result;
  for (const Value& value : feature.allowed) {
    result.push_back(feature.is_number()
                         ? std::get<double>(value)
                         : static_cast<double>(*feature.level_index(std::get<std::string>(value))));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

bool FeatureRange::contains(double value) const {
  if (value == query && keeps) return true;
  if (fixed || value < lower || value > upper) return false;
  if (!allowed.empty()) return std::binary_search(allowed.begin(), allowed.end(), value);
  if (!step) return true;
  return std::abs(value - nearest_grid_value(value)) <= grid_tolerance * *step;
}

double FeatureRange::nearest_grid_value(double value) const {
  return grid_value(std::round((value - origin) / *step));
}

double FeatureRange::snapped(double value) const {
  if (fixed || !allowed.empty() || !step) return value;
  const double nearest = nearest_grid_value(value);
  const bool is_rounding = std::abs(value - nearest) <= grid_tolerance * *step;
  return is_rounding && nearest >= lower && nearest <= upper ? nearest : value;
}

double FeatureRange::grid_value(double k) const {
  // k/10 is the double that people mean by k·0.1, and k·0.1 often is not.
  const double inverse = std::round(1 / *step);
  return origin + (std::abs(inverse * *step - 1) < 1e-12 ? k / inverse : k * *step);
}

std::optional<double> FeatureRange::beyond(double value, int direction) const {
  std::optional<double> best;
  const auto offer = [&](double candidate) {
    const bool is_beyond = direction > 0 ? candidate > value : candidate < value;
    if (!is_beyond || !contains(candidate)) return;
    if (!best || (direction > 0 ? candidate < *best : candidate > *best)) best = candidate;
  };
  offer(query);
  if (fixed) return best;
  if (!allowed.empty()) {
    for (const double candidate : allowed) offer(candidate);
  } else if (step) {
    const double k = (value - origin) / *step;
    const double inside = direction > 0 ? std::max(k, (lower - origin) / *step)
                                        : std::min(k, (upper - origin) / *step);
    // Rounding of the division may miss by one on either side.
    for (const double shift : {-1.0, 0.0, 1.0}) {
      const double whole = (direction > 0 ? std::ceil(inside) : std::floor(inside)) + shift;
      offer(grid_value(whole));
    }
  }
  return best;
}

double FeatureRange::nearest(double value) const {
  if (allowed.empty()) return step ? grid_value(std::round((value - origin) / *step)) : value;
  return *std::min_element(allowed.begin(), allowed.end(), [&](double a, double b) {
    return std::abs(a - value) < std::abs(b - value);
  });
}

FeasibleSet::FeasibleSet(const Encoder& encoder, const Constraints& constraints,
                         std::size_t query_index, VectorArg raw,
                         const std::vector<std::optional<double>>& display_steps)
    : encoder_(&encoder),
      limits_(&constraints),
      query_index_(query_index),
      display_steps_(display_steps),
      raw_(raw),
      query_(encoder.columns()) {
  require(raw.size() == static_cast<Index>(encoder.schema().features.size()),
          "a query has {} values, expected {}", raw.size(), encoder.schema().features.size());
  encoder.encode({raw_.data(), static_cast<std::size_t>(raw_.size())}, query_);
  build();
}

FeasibleSet FeasibleSet::without(const NamedConstraint& constraint) const {
  FeasibleSet result = *this;
  result.dropped_.push_back(constraint);
  result.build();
  return result;
}

FeasibleSet FeasibleSet::holding(VectorArg raw) const {
  FeasibleSet result = *this;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const auto i = static_cast<Index>(j);
    const bool takes = ranges_[j].held && ranges_[j].contains(raw(i));
    result.base_(i) = takes ? raw(i) : raw_(i);
  }
  result.build_boxes();
  return result;
}

bool FeasibleSet::is_dropped(NamedConstraint::Kind kind, std::size_t index) const {
  return std::any_of(dropped_.begin(), dropped_.end(), [&](const NamedConstraint& constraint) {
    return constraint.kind == kind && constraint.index == index;
  });
}

void FeasibleSet::build() {
  ranges_.assign(encoder_->schema().features.size(), {});
  constraints_.clear();
  held_.clear();
  has_grid_ = false;
  base_ = raw_;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    build_range(j);
    const FeatureRange& range = ranges_[j];
    if (!range.held || range.contains(range.query)) continue;
    const std::optional<double> up = range.beyond(range.query, 1);
    base_(static_cast<Index>(j)) = up ? *up : *range.beyond(range.query, -1);
  }
  build_rules();
  build_boxes();
}

void FeasibleSet::build_range(std::size_t j) {
  using Kind = NamedConstraint::Kind;
  const Feature& feature = encoder_->schema().features[j];
  const FeatureLimits limits = limits_->of(query_index_, feature.name);
  FeatureRange& range = ranges_[j];
  range.query = raw_(static_cast<Index>(j));
  const auto bind = [&](Kind kind, const std::string& text) {
    if (is_dropped(kind, j)) return false;
    constraints_.push_back({.kind = kind, .index = j, .text = feature.name + ": " + text});
    return true;
  };
  const auto fix = [&] {
    range.fixed = true;
    range.lower = range.upper = range.query;
    apply_decisions(j);
  };
  if (feature.immutable && bind(Kind::immutable, "immutable")) return fix();
  if (limits.locked && bind(Kind::locked, "locked")) return fix();

  const bool levels = !feature.is_number();
  range.lower = levels ? 0 : -infinity;
  range.upper = levels ? static_cast<double>(feature.levels.size()) - 1 : infinity;
  if (const auto min = limits.min ? limits.min : feature.min) {
    if (bind(Kind::minimum, fmt::format("at least {}", *min))) range.lower = *min;
  }
  range.origin = feature.min.value_or(0);  // the schema's: what a run bounds does not move its grid
  if (const auto max = limits.max ? limits.max : feature.max) {
    if (bind(Kind::maximum, fmt::format("at most {}", *max))) range.upper = *max;
  }
  const bool ordered = feature.kind != FeatureKind::categorical;
  if (limits_->range == RangePolicy::train && !levels) {
    const Index column = encoder_->first_column(j);
    const double low = std::min(encoder_->min()(column), range.query);
    const double high = std::max(encoder_->max()(column), range.query);
    if ((low > range.lower || high < range.upper) &&
        bind(Kind::training_range, fmt::format("within the training range {} to {}", low, high))) {
      range.lower = std::max(range.lower, low);
      range.upper = std::min(range.upper, high);
    }
  }
  const Direction direction = limits.direction.value_or(feature.direction);
  if (direction != Direction::any && ordered &&
      bind(Kind::direction,
           direction == Direction::increase ? "may only increase" : "may only decrease")) {
    if (direction == Direction::increase) range.lower = std::max(range.lower, range.query);
    if (direction == Direction::decrease) range.upper = std::min(range.upper, range.query);
  }
  range.allowed = listed_values(feature);
  if (feature.step) {
    const FeatureRange grid{.keeps = false,
                            .lower = -infinity,
                            .upper = infinity,
                            .step = feature.step,
                            .origin = range.origin};
    std::erase_if(range.allowed, [&](double value) { return !grid.contains(value); });
  }
  if (feature.is_number() && !feature.allowed.empty() &&
      bind(Kind::allowed, "among the allowed values")) {
    const bool is_empty = range.allowed.empty();
    range.lower = is_empty ? infinity : std::max(range.lower, range.allowed.front());
    range.upper = is_empty ? -infinity : std::min(range.upper, range.allowed.back());
  }
  if (feature.kind == FeatureKind::numeric) {
    range.step = feature.step;
    // No grid in sight of a rule that asks for equality.
    const std::vector<Rule>& rules = encoder_->schema().constraints;
    const bool is_equated = std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
      return rule.relation == Rule::Relation::equal &&
             std::any_of(rule.terms.begin(), rule.terms.end(),
                         [&](const auto& term) { return term.first == feature.name; });
    });
    if (!range.has_grid() && !is_equated && j < display_steps_.size() && display_steps_[j]) {
      range.step = display_steps_[j];
      range.origin = 0;
    }
    has_grid_ = has_grid_ || range.has_grid();
    apply_decisions(j);
  } else {
    range.step =
        feature.step ? feature.step : std::optional<double>(1);  // whole numbers and levels
    apply_decisions(j);
    range.held = range.beyond(range.query, 1) || range.beyond(range.query, -1);
    if (range.held) held_.push_back(feature.name);
  }
}

double FeasibleSet::to_model(std::size_t j, double raw) const {
  const Index column = encoder_->first_column(j);
  return (raw - encoder_->mean()(column)) / encoder_->scale()(column);
}

void FeasibleSet::build_boxes() {
  relaxed_ = {.lower = query_, .upper = query_};
  Box searched = {.lower = Vector(query_.size()), .upper = {}};
  encoder_->encode({base_.data(), static_cast<std::size_t>(base_.size())}, searched.lower);
  searched.upper = searched.lower;
  std::vector<Index> outside;  // columns whose range does not contain the query's value
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const FeatureRange& range = ranges_[j];
    if (range.fixed || range.lower > range.upper) continue;
    const Index first = encoder_->first_column(j);
    if (encoder_->schema().features[j].kind == FeatureKind::categorical) {
      if (!range.held) continue;
      relaxed_.lower.segment(first, encoder_->column_count(j)).setZero();
      relaxed_.upper.segment(first, encoder_->column_count(j)).setOnes();
      continue;
    }
    // At the query's own value a bound must be the query's own coordinate, to the last bit.
    const auto coordinate = [&](double raw) {
      return raw == range.query ? query_(first) : to_model(j, raw);
    };
    const double lower = coordinate(range.lower);
    const double upper = coordinate(range.upper);
    relaxed_.lower(first) = range.keeps ? std::min(lower, query_(first)) : lower;
    relaxed_.upper(first) = range.keeps ? std::max(upper, query_(first)) : upper;
    if (range.held) continue;
    searched.lower(first) = lower;
    searched.upper(first) = upper;
    const bool is_outside = query_(first) < lower || query_(first) > upper;
    if (is_outside && range.keeps) outside.push_back(first);
  }
  boxes_ = {searched};
  boxes_cover_ = outside.size() <= most_pieces;
  if (!boxes_cover_) {
    Box kept = searched;
    for (std::size_t k = most_pieces; k < outside.size(); ++k) {
      kept.lower(outside[k]) = kept.upper(outside[k]) = query_(outside[k]);
    }
    boxes_.push_back(kept);
    outside.resize(most_pieces);
  }
  for (const Index column : outside) {
    const std::size_t count = boxes_.size();
    for (std::size_t i = 0; i < count; ++i) {
      Box own = boxes_[i];
      own.lower(column) = own.upper(column) = query_(column);
      boxes_.push_back(own);
    }
  }
}

std::string FeasibleSet::value_text(std::size_t j, double raw) const {
  const Feature& feature = encoder_->schema().features[j];
  return feature.is_number() ? number_text(raw) : feature.levels.at(static_cast<std::size_t>(raw));
}

std::vector<std::string> FeasibleSet::violations(VectorArg raw) const {
  const Schema& schema = encoder_->schema();
  std::vector<std::string> result;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const double value = raw(static_cast<Index>(j));
    const FeatureRange& range = ranges_[j];
    if (range.contains(value)) continue;
    const std::string& name = schema.features[j].name;
    if (range.fixed) {
      result.push_back(fmt::format("{}: changed from {} although it may not change", name,
                                   value_text(j, range.query)));
    } else if (value < range.lower || value > range.upper) {
      result.push_back(fmt::format("{}: {} lies outside {} to {}", name, value_text(j, value),
                                   range.lower, range.upper));
    } else {
      result.push_back(fmt::format("{}: {} is not an allowed value", name, value_text(j, value)));
    }
  }
  for (std::size_t r = 0; r < schema.constraints.size(); ++r) {
    const Rule& rule = schema.constraints[r];
    if (!is_dropped(NamedConstraint::Kind::rule, r) && !holds(rule, schema, raw))
      result.push_back(fmt::format("rule {}", rule.text));
  }
  for (std::size_t r = 0; r < schema.implications.size(); ++r) {
    const Implication& implication = schema.implications[r];
    if (!is_dropped(NamedConstraint::Kind::implication, r) &&
        does(implication.condition, raw, true) && !does(implication.consequence, raw, false))
      result.push_back(fmt::format("rule {}", implication.text));
  }
  return result;
}

std::vector<std::string> FeasibleSet::query_violations() const {
  const Schema& schema = encoder_->schema();
  std::vector<std::string> result;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const Feature& feature = schema.features[j];
    const FeatureLimits limits = limits_->of(query_index_, feature.name);
    const double value = ranges_[j].query;
    const auto min = limits.min ? limits.min : feature.min;
    const auto max = limits.max ? limits.max : feature.max;
    if (min && value < *min)
      result.push_back(fmt::format("{}: {} is below {}", feature.name, value, *min));
    if (max && value > *max)
      result.push_back(fmt::format("{}: {} is above {}", feature.name, value, *max));
    const std::vector<double> allowed = listed_values(feature);
    if (!allowed.empty() && !std::binary_search(allowed.begin(), allowed.end(), value)) {
      result.push_back(
          fmt::format("{}: {} is not an allowed value", feature.name, value_text(j, value)));
    }
  }
  for (const Rule& rule : schema.constraints) {
    if (!holds(rule, schema, raw_)) result.push_back(fmt::format("rule {}", rule.text));
  }
  return result;
}

Vector FeasibleSet::decode(VectorArg z) const {
  Vector raw = base_;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const FeatureRange& range = ranges_[j];
    const Index column = encoder_->first_column(j);
    if (range.fixed || encoder_->schema().features[j].kind != FeatureKind::numeric ||
        z(column) == query_(column)) {
      continue;
    }
    const double value = z(column) * encoder_->scale()(column) + encoder_->mean()(column);
    const double low = range.keeps ? std::min(range.lower, range.query) : range.lower;
    const double high = range.keeps ? std::max(range.upper, range.query) : range.upper;
    raw(static_cast<Index>(j)) = std::clamp(value, low, high);
    raw(static_cast<Index>(j)) = range.snapped(raw(static_cast<Index>(j)));
    if (z(column) == to_model(j, range.lower)) raw(static_cast<Index>(j)) = range.lower;
    if (z(column) == to_model(j, range.upper)) raw(static_cast<Index>(j)) = range.upper;
  }
  return raw;
}

}  // namespace ellice
