#include "audit/audit_reach.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ellice::audit {

namespace {

// Of a case in parts, where a person's own values lie apart from the ranges.
constexpr int most_parts = 64;

class Parts {
 public:
  Parts(const RowConstraints& constraints, const ReachIn& reach, LargestEpsilon& result)
      : constraints_(&constraints), reach_(&reach), result_(&result) {}

  /// Looks at the box around the values, and follows its best point to where it is allowed.
  void visit(const std::vector<FeatureValues>& values) {
    ++count_;
    const Reach found =
        (*reach_)({.box = constraints_->around(values), .rules = constraints_->rules()});
    if (found.admitted <= result_->attained) return;
    const std::optional<Index> gap =
        found.point.size() > 0 ? constraints_->gap_at(values, found.point) : std::nullopt;
    if (gap && count_ < most_parts) {
      for (const bool stays : {true, false}) visit(constraints_->split(values, *gap, stays));
      return;
    }
    if (!gap) result_->attained = std::max(result_->attained, found.attained);
    result_->admitted = std::max(result_->admitted, found.admitted);
  }

 private:
  const RowConstraints* constraints_;
  const ReachIn* reach_;
  LargestEpsilon* result_;
  int count_ = 0;
};

// Of a person, where whole numbers and levels are told apart.
constexpr int most_row_parts = 150;
// What is this near to a value is there.
constexpr double same_value = 1e-7;

/// Values of one feature, and all its others.
using Halves = std::pair<FeatureValues, FeatureValues>;

class RowParts {
 public:
  RowParts(const RowConstraints& constraints, const Encoder& encoder, double most,
           const ReachIn& reach)
      : constraints_(&constraints), encoder_(&encoder), most_(most), reach_(&reach) {}

  [[nodiscard]] bool is_refused(const std::vector<FeatureValues>& values) {
    const auto is_empty = [](const FeatureValues& one) { return one.is_empty(); };
    if (std::any_of(values.begin(), values.end(), is_empty)) return true;
    if (++count_ > most_row_parts) return false;
    const Reach found = (*reach_)({.box = around(values), .rules = constraints_->rules()});
    if (found.admitted <= most_) return true;
    if (found.point.size() == 0) return false;
    double widest = 0;
    std::size_t feature = 0;
    std::optional<Halves> halves;
    for (std::size_t j = 0; j < values.size(); ++j) {
      double width = 0;
      std::optional<Halves> own = halves_of(j, values[j], found.point, width);
      if (!own || !(width > widest)) continue;
      widest = width;
      feature = j;
      halves = std::move(own);
    }
    if (!halves) return false;
    std::vector<FeatureValues> part = values;
    part[feature] = std::move(halves->first);
    if (!is_refused(part)) return false;
    part[feature] = std::move(halves->second);
    return is_refused(part);
  }

 private:
  [[nodiscard]] bool is_category(std::size_t j) const {
    return encoder_->schema().features[j].kind == FeatureKind::categorical;
  }

  /// As that of the constraints, levels that are left out at 0.
  [[nodiscard]] Box around(const std::vector<FeatureValues>& values) const {
    Box box = constraints_->around(values);
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (!is_category(j) || values[j].bins != nullptr || !values[j].may_change) continue;
      const Index first = encoder_->first_column(j);
      Index left = 0;
      Index last = 0;
      for (Index level = 0; level < encoder_->column_count(j); ++level) {
        const bool is_left = values[j].admits(static_cast<double>(level));
        box.lower(first + level) = 0;
        box.upper(first + level) = is_left ? 1 : 0;
        left += is_left ? 1 : 0;
        if (is_left) last = level;
      }
      if (left == 1) box.lower(first + last) = 1;
    }
    return box;
  }

  /// Two halves where a point has no value of a feature, and how far it is from one.
  [[nodiscard]] std::optional<Halves> halves_of(std::size_t j, const FeatureValues& values,
                                                VectorArg point, double& width) const {
    if (!values.may_change || values.bins != nullptr) return std::nullopt;
    if (is_category(j)) return levels_of(j, values, point, width);
    const bool is_apart =
        values.keeps_own && (values.own < values.lower || values.own > values.upper);
    if (!values.is_discrete() && !is_apart) return std::nullopt;
    const Index column = encoder_->first_column(j);
    const double scale = encoder_->scale()(column);
    const double raw = point(column) * scale + encoder_->mean()(column);
    const auto [below, above] = neighbours(values, raw);
    const double nearest =
        std::min(below ? raw - *below : HUGE_VAL, above ? *above - raw : HUGE_VAL);
    width = nearest / scale;
    if (!(width > same_value * (1 + std::abs(point(column)))) || !below || !above)
      return std::nullopt;
    Halves result{values, values};
    result.first.upper = std::min(values.upper, *below);
    result.first.keeps_own = values.keeps_own && values.own <= *below;
    result.second.lower = std::max(values.lower, *above);
    result.second.keeps_own = values.keeps_own && values.own >= *above;
    return result;
  }

  /// The admitted values on both sides, the own among them.
  [[nodiscard]] static std::pair<std::optional<double>, std::optional<double>> neighbours(
      const FeatureValues& values, double raw) {
    std::optional<double> below;
    std::optional<double> above;
    if (values.is_discrete()) {
      below = values.next(raw, -1);
      above = values.next(raw, 1);
    } else {  // a range, apart from the own value
      if (values.upper <= raw) below = values.upper;
      if (values.lower >= raw) above = values.lower;
    }
    if (values.keeps_own && values.own <= raw)
      below = std::max(below.value_or(values.own), values.own);
    if (values.keeps_own && values.own >= raw)
      above = std::min(above.value_or(values.own), values.own);
    return {below, above};
  }

  /// The level with the largest share, and the others.
  [[nodiscard]] std::optional<Halves> levels_of(std::size_t j, const FeatureValues& values,
                                                VectorArg point, double& width) const {
    const Index first = encoder_->first_column(j);
    std::vector<double> left;
    double largest = 0;
    double share = -1;
    double sum = 0;
    for (Index level = 0; level < encoder_->column_count(j); ++level) {
      const auto value = static_cast<double>(level);
      if (!values.admits(value)) continue;
      left.push_back(value);
      sum += point(first + level);
      if (!(point(first + level) > share)) continue;
      share = point(first + level);
      largest = value;
    }
    width = std::abs(1 - share) + std::abs(sum - share);
    if (left.size() < 2 || !(width > same_value)) return std::nullopt;
    const auto only = [&](std::vector<double> levels) {
      FeatureValues result = values;
      result.keeps_own = std::find(levels.begin(), levels.end(), values.own) != levels.end();
      std::erase(levels, values.own);
      result.listed = std::move(levels);
      return result;
    };
    std::vector<double> others = left;
    std::erase(others, largest);
    return Halves{only({largest}), only(std::move(others))};
  }

  const RowConstraints* constraints_;
  const Encoder* encoder_;
  double most_;
  const ReachIn* reach_;
  int count_ = 0;
};

}  // namespace

bool refuses_every_row(const RowConstraints& constraints, const Encoder& encoder, double most,
                       const ReachIn& reach) {
  RowParts parts(constraints, encoder, most, reach);
  const std::vector<Case> cases = constraints.cases();
  return std::all_of(cases.begin(), cases.end(),
                     [&](const Case& one) { return parts.is_refused(one.values); });
}

LargestEpsilon largest_epsilon(const RowConstraints& constraints, const ReachIn& reach) {
  LargestEpsilon result;
  for (const Case& one : constraints.cases()) Parts(constraints, reach, result).visit(one.values);
  return result;
}

}  // namespace ellice::audit
