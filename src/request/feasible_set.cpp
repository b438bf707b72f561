#include "request/feasible_set.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/infinity.hpp"
#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// With more ranges than this that do not contain the query, not every combination of own values and
// ranges is searched: all but the first ones keep their own values together, or enter their ranges
// together.
constexpr std::size_t most_pieces = 6;

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

}  // namespace

FeasibleSet::FeasibleSet(const Encoder& encoder, const Constraints& constraints,
                         std::size_t query_index, VectorArg raw,
                         const std::vector<std::optional<double>>& display_steps)
    : encoder_(&encoder),
      limits_(&constraints),
      display_steps_(display_steps),
      query_(encoder.columns()) {
  const std::vector<Feature>& features = encoder.schema().features;
  own_limits_.reserve(features.size());
  for (const Feature& feature : features)
    own_limits_.push_back(constraints.of(query_index, feature.name));
  take(raw);
}

void FeasibleSet::turn_to(std::size_t query_index, VectorArg raw) {
  lifted_.clear();
  decisions_.clear();
  supposes_.clear();
  const bool is_alike = limits_->queries.empty();  // the same is asked of everybody
  for (std::size_t j = 0; j < own_limits_.size() && !is_alike; ++j)
    own_limits_[j] = limits_->of(query_index, encoder_->schema().features[j].name);
  take(raw);
}

void FeasibleSet::take(VectorArg raw) {
  require(raw.size() == static_cast<Index>(encoder_->schema().features.size()),
          "a query has {} values, expected {}", raw.size(), encoder_->schema().features.size());
  raw_ = raw;
  encoder_->encode({raw_.data(), static_cast<std::size_t>(raw_.size())}, query_);
  build();
}

void FeasibleSet::mark_lifted(const NamedConstraint& constraint) {
  const auto kind = static_cast<std::size_t>(constraint.kind);
  if (lifted_.size() <= kind) lifted_.resize(kind + 1);
  if (lifted_[kind].size() <= constraint.index) lifted_[kind].resize(constraint.index + 1);
  lifted_[kind][constraint.index] = true;
}

void FeasibleSet::lift(const NamedConstraint& constraint) {
  mark_lifted(constraint);
  build();
}

void FeasibleSet::lift(const std::vector<NamedConstraint>& constraints) {
  for (const NamedConstraint& constraint : constraints) mark_lifted(constraint);
  build();
}

FeasibleSet FeasibleSet::without(const NamedConstraint& constraint) const {
  FeasibleSet result = *this;
  result.lift(constraint);
  return result;
}

FeasibleSet FeasibleSet::without_display_steps() const {
  FeasibleSet result = *this;
  if (!std::exchange(result.display_steps_, {}).empty()) result.build();
  return result;
}

FeasibleSet FeasibleSet::with_display_steps_of(const FeasibleSet& other) const {
  FeasibleSet result = *this;
  result.display_steps_ = other.display_steps_;
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

bool FeasibleSet::is_lifted(NamedConstraint::Kind kind, std::size_t index,
                            const NamedConstraint* besides) const {
  if (besides != nullptr && besides->kind == kind && besides->index == index) return true;
  const auto place = static_cast<std::size_t>(kind);
  return place < lifted_.size() && index < lifted_[place].size() && lifted_[place][index];
}

FeatureRange FeasibleSet::range_without(const NamedConstraint& constraint) const {
  return build_range(constraint.index, &constraint);
}

void FeasibleSet::build() {
  ranges_.resize(encoder_->schema().features.size());
  held_.clear();
  has_grid_ = false;
  base_ = raw_;
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const FeatureRange& range = ranges_[j] = build_range(j);
    const Feature& feature = encoder_->schema().features[j];
    if (feature.kind == FeatureKind::numeric) has_grid_ = has_grid_ || range.has_grid();
    if (!range.held) continue;
    held_.push_back(feature.name);
    if (range.contains(range.query)) continue;
    const std::optional<double> up = range.beyond(range.query, 1);
    base_(static_cast<Index>(j)) = up ? *up : *range.beyond(range.query, -1);
  }
  build_rules();
  build_boxes();
}

double FeasibleSet::to_model(std::size_t j, double raw) const {
  const Index column = encoder_->first_column(j);
  return (raw - encoder_->mean()(column)) / encoder_->scale()(column);
}

void FeasibleSet::build_boxes() {
  relaxed_.lower = relaxed_.upper = query_;
  boxes_.resize(1);
  Box& searched = boxes_.front();
  searched.lower.resize(query_.size());
  encoder_->encode({base_.data(), static_cast<std::size_t>(base_.size())}, searched.lower);
  searched.upper = searched.lower;
  std::vector<Index> outside;  // columns whose range does not contain the query's value
  for (std::size_t j = 0; j < ranges_.size(); ++j) {
    const FeatureRange& range = ranges_[j];
    if (range.fixed || range.lower > range.upper) continue;
    const Index first = encoder_->first_column(j);
    if (encoder_->schema().features[j].is_binned()) {
      bool is_first = !range.keeps;  // the own bin counts where it is one of the options
      for (const double value : range.allowed) {
        const Vector there = encoder_->columns_of(j, value);
        auto low = relaxed_.lower.segment(first, there.size());
        auto high = relaxed_.upper.segment(first, there.size());
        if (std::exchange(is_first, false)) low = high = there;
        low = low.cwiseMin(there).eval();
        high = high.cwiseMax(there).eval();
      }
      continue;
    }
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
  boxes_cover_ = outside.size() <= most_pieces;
  if (!boxes_cover_) {
    Box kept = boxes_.front();
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
    const Feature& feature = schema.features[j];
    // Of a bin any number will do, not the nearest alone.
    const FeatureRange range = feature.is_binned() ? number_range(j) : ranges_[j];
    const bool is_code =
        feature.is_binned() && value != range.query && feature.bins.code(value) != nullptr;
    if (range.contains(value) && !is_code) continue;
    const std::string& name = feature.name;
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
    if (!is_lifted(NamedConstraint::Kind::rule, r) && !holds(rule, schema, raw))
      result.push_back(fmt::format("rule {}", rule.text));
  }
  for (std::size_t r = 0; r < schema.implications.size(); ++r) {
    const Implication& implication = schema.implications[r];
    if (!is_lifted(NamedConstraint::Kind::implication, r) &&
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
    const FeatureLimits& limits = own_limits_[j];
    const double value = ranges_[j].query;
    if (feature.is_binned() && feature.bins.code(value) != nullptr) continue;
    const auto min = limits.min ? limits.min : feature.min;
    const auto max = limits.max ? limits.max : feature.max;
    if (min && value < *min)
      result.push_back(fmt::format("{}: {} is below {}", feature.name, value, *min));
    if (max && value > *max)
      result.push_back(fmt::format("{}: {} is above {}", feature.name, value, *max));
    const std::vector<double> allowed = allowed_values(feature);
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
