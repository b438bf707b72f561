// What one feature may become: the constraints on it, in layers, and its grid.

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "request/feasible_set.hpp"

namespace ellice {

namespace {

// How far from the grid, in steps, a value of the grid may be by rounding.
constexpr double grid_tolerance = 1e-9;

}  // namespace

std::vector<double> allowed_values(const Feature& feature) {
  std::vector<double> result;
  for (const Value& value : feature.allowed) {
    result.push_back(feature.is_number()
                         ? std::get<double>(value)
                         : static_cast<double>(*feature.level_index(std::get<std::string>(value))));
  }
  std::sort(result.begin(), result.end());
  return result;
}

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
  const bool is_part = std::abs(inverse * *step - 1) < 1e-12;
  // So is 0.014 eleven thousandths above 0.003.
  const auto whole = [](double value, double& rounded) {
    rounded = std::round(value);
    return std::abs(value - rounded) <= 1e-12 * std::abs(rounded);
  };
  double first = 0;
  if (is_part && whole(origin * inverse, first)) return (first + k) / inverse;
  // And decimals that are no multiples of each other, −0.07 and 0.05.
  double steps = 0;
  for (double power = 1; power <= 1e9; power *= 10) {
    if (whole(*step * power, steps) && whole(origin * power, first))
      return (first + k * steps) / power;
  }
  return origin + (is_part ? k / inverse : k * *step);
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
    // A bound that misses its grid value by rounding stands for it where that lies outside.
    for (const double bound : {lower, upper}) {
      if (!std::isfinite(bound)) continue;
      const double meant = nearest_grid_value(bound);
      if (meant < lower || meant > upper) offer(bound);
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

bool FeatureRange::is_empty() const {
  if (contains(query)) return false;
  if (fixed || lower > upper) return true;
  return has_grid() && !beyond(query, 1) && !beyond(query, -1);
}

std::vector<NamedConstraint> FeasibleSet::constraints() const {
  using Kind = NamedConstraint::Kind;
  const Schema& schema = encoder_->schema();
  std::vector<NamedConstraint> result;
  const auto add = [&](Kind kind, std::size_t index, std::string text) {
    if (!is_lifted(kind, index))
      result.push_back({.kind = kind, .index = index, .text = std::move(text)});
  };
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const FeatureLimits& limits = own_limits_[j];
    const auto of_feature = [&](Kind kind, const std::string& text) {
      add(kind, j, feature.name + ": " + text);
    };
    if (feature.immutable) of_feature(Kind::immutable, "immutable");
    if (limits.locked) of_feature(Kind::locked, "locked");
    if (feature.is_binned()) {
      if (const Bins::Code* const code = feature.bins.code(raw_(static_cast<Index>(j))))
        of_feature(Kind::code, fmt::format("stays {} ({})", code->text, code->number));
    }
    if (const auto min = limits.min ? limits.min : feature.min)
      of_feature(Kind::minimum, fmt::format("at least {}", *min));
    if (const auto max = limits.max ? limits.max : feature.max)
      of_feature(Kind::maximum, fmt::format("at most {}", *max));
    if (limits_->range == RangePolicy::train && feature.is_number()) {
      const auto [low, high] = training_range(j);
      of_feature(Kind::training_range,
                 fmt::format("within the training range {} to {}", low, high));
    }
    const Direction direction = limits.direction.value_or(feature.direction);
    if (direction != Direction::any && feature.kind != FeatureKind::categorical) {
      of_feature(Kind::direction,
                 direction == Direction::increase ? "may only increase" : "may only decrease");
    }
    if (feature.slow && limits_->horizon) {
      of_feature(Kind::pace, fmt::format("changes by at most {} within {} ({})",
                                         most_change(feature, *limits_->horizon),
                                         to_text(*limits_->horizon), to_text(*feature.slow)));
    }
    if (!feature.allowed.empty()) of_feature(Kind::allowed, "among the allowed values");
  }
  for (std::size_t r = 0; r < schema.constraints.size(); ++r)
    add(Kind::rule, r, "rule " + schema.constraints[r].text);
  for (std::size_t r = 0; r < schema.implications.size(); ++r)
    add(Kind::implication, r, "rule " + schema.implications[r].text);
  return result;
}

FeatureRange FeasibleSet::build_range(std::size_t j, const NamedConstraint* besides) const {
  const Feature& feature = encoder_->schema().features[j];
  FeatureRange range = number_range(j, besides);
  if (range.fixed) return range;
  if (feature.is_binned()) list_bins(j, range);
  if (feature.kind != FeatureKind::numeric)
    range.held = range.beyond(range.query, 1) || range.beyond(range.query, -1);
  return range;
}

FeatureRange FeasibleSet::number_range(std::size_t j, const NamedConstraint* besides) const {
  using Kind = NamedConstraint::Kind;
  const Feature& feature = encoder_->schema().features[j];
  const FeatureLimits& limits = own_limits_[j];
  FeatureRange range{.query = raw_(static_cast<Index>(j))};
  const bool is_locked = (feature.immutable && !is_lifted(Kind::immutable, j, besides)) ||
                         (limits.locked && !is_lifted(Kind::locked, j, besides)) ||
                         (feature.is_binned() && feature.bins.code(range.query) != nullptr &&
                          !is_lifted(Kind::code, j, besides));
  if (is_locked) {
    range.fixed = true;
    range.lower = range.upper = range.query;
    apply_decisions(j, range);
    return range;
  }
  limit(j, limits, besides, range);
  put_on_grid(j, besides, range);
  apply_decisions(j, range);
  return range;
}

std::pair<double, double> FeasibleSet::training_range(std::size_t j) const {
  const ColumnStatistics known = encoder_->statistics(j);
  const double query = raw_(static_cast<Index>(j));
  const Feature& feature = encoder_->schema().features[j];
  if (feature.is_binned() && feature.bins.code(query) != nullptr) return {known.min, known.max};
  return {std::min(known.min, query), std::max(known.max, query)};
}

void FeasibleSet::list_bins(std::size_t j, FeatureRange& range) const {
  const Bins& bins = encoder_->schema().features[j].bins;
  FeatureRange others = range;
  others.keeps = false;
  const std::size_t own = bins.of(range.query);
  struct Number {
    double value = 0;
    Vector columns = {};
  };
  std::vector<Number> numbers;
  const auto away = [&](double value) { return std::abs(value - range.query); };
  std::vector<double> marks = bins.edges;
  for (const auto& end : {bins.lowest, bins.highest}) {
    if (end) marks.push_back(end->at);
  }
  for (const Bins::Code& code : bins.special) marks.push_back(code.number);
  // A number of the grid that misses one of them by rounding alone is that: −0.024 + 36·0.001 is
  // what people write as 0.012, and whoever reads the plan will.
  const auto meant = [&](double value) {
    const double rounding = 0x1p-51 * (std::abs(value) + std::abs(range.origin));
    for (const double mark : marks) {
      if (range.step && range.allowed.empty() && std::abs(value - mark) <= rounding) return mark;
    }
    return value;
  };
  // Codes may lie between, and a step of the grid may miss by rounding.
  const auto walk = [&](std::size_t bin, double from, int side) -> std::optional<double> {
    std::optional<double> value = from;
    if (!others.contains(from)) value = others.beyond(from, side);
    for (std::size_t k = 0; value && k < bins.special.size() + 4; ++k) {
      const double number = meant(*value);
      if (bins.of(number) == bin && bins.reach(number) && others.contains(number)) return number;
      value = others.beyond(*value, side);
    }
    return std::nullopt;
  };
  for (std::size_t bin = 0; bin < bins.intervals() && range.lower <= range.upper; ++bin) {
    if (bin == own && range.keeps) continue;
    const double up = std::max({bins.lower(bin), range.lower, range.query});
    const double down = std::min({bins.upper(bin), range.upper, range.query});
    std::optional<double> nearest = walk(bin, up, 1);
    const std::optional<double> below = walk(bin, down, -1);
    if (below && (!nearest || away(*below) < away(*nearest))) nearest = below;
    if (nearest)
      numbers.push_back({.value = *nearest, .columns = encoder_->columns_of(j, *nearest)});
  }
  // Bins that the model cannot tell apart: the nearest of them stands for all.
  const Vector query = encoder_->columns_of(j, range.query);
  range.allowed.clear();
  for (const Number& number : numbers) {
    const bool is_beaten =
        (number.columns == query && range.keeps) ||
        std::any_of(numbers.begin(), numbers.end(), [&](const Number& other) {
          return other.columns == number.columns &&
                 (away(other.value) < away(number.value) ||
                  (away(other.value) == away(number.value) && other.value < number.value));
        });
    if (!is_beaten) range.allowed.push_back(number.value);
  }
  std::sort(range.allowed.begin(), range.allowed.end());
  range.lower = range.allowed.empty() ? infinity : range.allowed.front();
  range.upper = range.allowed.empty() ? -infinity : range.allowed.back();
}

void FeasibleSet::limit(std::size_t j, const FeatureLimits& limits, const NamedConstraint* besides,
                        FeatureRange& range) const {
  using Kind = NamedConstraint::Kind;
  const Feature& feature = encoder_->schema().features[j];
  const bool levels = !feature.is_number();
  // What there is at all, whatever is lifted: levels, and numbers that have a bin.
  range.lower = levels ? 0 : feature.bins.lower(0);
  range.upper = levels ? static_cast<double>(feature.levels.size()) - 1
                       : feature.bins.upper(feature.bins.edges.size());
  const auto min = limits.min ? limits.min : feature.min;
  const auto max = limits.max ? limits.max : feature.max;
  if (min && !is_lifted(Kind::minimum, j, besides)) range.lower = std::max(range.lower, *min);
  if (max && !is_lifted(Kind::maximum, j, besides)) range.upper = std::min(range.upper, *max);
  if (limits_->range == RangePolicy::train && !levels &&
      !is_lifted(Kind::training_range, j, besides)) {
    const auto [low, high] = training_range(j);
    range.lower = std::max(range.lower, low);
    range.upper = std::min(range.upper, high);
  }
  if (feature.slow && limits_->horizon && !is_lifted(Kind::pace, j, besides)) {
    const double most = most_change(feature, *limits_->horizon);
    range.lower = std::max(range.lower, range.query - most);
    range.upper = std::min(range.upper, range.query + most);
  }
  const Direction direction = limits.direction.value_or(feature.direction);
  if (feature.kind == FeatureKind::categorical || is_lifted(Kind::direction, j, besides)) return;
  if (direction == Direction::increase) range.lower = std::max(range.lower, range.query);
  if (direction == Direction::decrease) range.upper = std::min(range.upper, range.query);
}

void FeasibleSet::put_on_grid(std::size_t j, const NamedConstraint* besides,
                              FeatureRange& range) const {
  const Feature& feature = encoder_->schema().features[j];
  range.origin = feature.min.value_or(0);  // the schema's: what a run bounds does not move its grid
  if (!feature.allowed.empty() && !is_lifted(NamedConstraint::Kind::allowed, j, besides)) {
    range.allowed = allowed_values(feature);
    if (feature.step) {
      const FeatureRange grid{.keeps = false,
                              .lower = -infinity,
                              .upper = infinity,
                              .step = feature.step,
                              .origin = range.origin};
      std::erase_if(range.allowed, [&](double value) { return !grid.contains(value); });
    }
    const bool is_empty = range.allowed.empty();
    if (feature.is_number() || is_empty) {
      range.lower = is_empty ? infinity : std::max(range.lower, range.allowed.front());
      range.upper = is_empty ? -infinity : std::min(range.upper, range.allowed.back());
    }
  }
  range.step = feature.step;
  if (feature.kind != FeatureKind::numeric) {
    if (!range.step) range.step = 1;  // whole numbers and levels
    return;
  }
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
}

}  // namespace ellice
