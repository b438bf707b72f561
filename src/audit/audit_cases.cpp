// Implications as cases, and boxes around what a case allows.

#include <algorithm>
#include <cmath>
#include <utility>

#include "audit/audit_constraints.hpp"

namespace ellice::audit {

namespace {

double level_of(const Feature& feature, const Move& move) {
  const auto at = std::find(feature.levels.begin(), feature.levels.end(), move.level);
  return static_cast<double>(at - feature.levels.begin());
}

void forbid_all(FeatureValues& values) {
  values.keeps_own = false;
  values.may_change = false;
}

void stay(FeatureValues& values) {
  values.may_change = false;
}

/// Other values than the own, on one side and at least `by` away.
void leave(FeatureValues& values, int side, double by) {
  const std::optional<double> next = values.next_number(values.own, side);
  if (!values.may_change || (values.is_discrete() && !next)) return forbid_all(values);
  values.keeps_own = false;
  const double least = values.own + side * by;
  const double first = next.value_or(least);
  if (side > 0) values.lower = std::max({values.lower, least, first});
  if (side < 0) values.upper = std::min({values.upper, least, first});
}

void become(FeatureValues& values, double level) {
  if (level == values.own) return stay(values);
  if (!values.admits(level)) return forbid_all(values);
  values.keeps_own = false;
  values.lower = values.upper = level;
  values.listed = {level};
}

}  // namespace

std::string words(const Move& move) {
  std::string result = fmt::format("{} {}", move.feature, enum_name(move.kind));
  if (move.by > 0) result += fmt::format(" by at least {}", move.by);
  if (!move.level.empty()) result += " " + move.level;
  return result;
}

std::string opposite_words(const Move& move) {
  switch (move.kind) {
    case Move::Kind::rises:
      return move.feature + " does not rise";
    case Move::Kind::falls:
      return move.feature + " does not fall";
    case Move::Kind::becomes:
      return fmt::format("{} does not become {}", move.feature, move.level);
    case Move::Kind::changes:
    case Move::Kind::stays:
      break;
  }
  return move.feature + " stays";
}

bool RowConstraints::does(const Move& move, VectorArg raw, bool is_condition) const {
  const Schema& schema = encoder_->schema();
  const std::size_t j = *schema.find(move.feature);
  const double from = raw_(static_cast<Index>(j));
  const double to = raw(static_cast<Index>(j));
  const double slack = 1e-12 * (std::abs(from) + std::abs(move.by));
  switch (move.kind) {
    case Move::Kind::rises:
      return to > from && to - from >= move.by - slack;
    case Move::Kind::falls:
      return to < from && from - to >= move.by - slack;
    case Move::Kind::changes:
      return to != from;
    case Move::Kind::stays:
      return to == from;
    case Move::Kind::becomes:
      break;
  }
  // A condition is about a change, a consequence about the end.
  return to == level_of(schema.features[j], move) && (to != from || !is_condition);
}

void RowConstraints::suppose(const Move& move, bool is_true,
                             std::vector<FeatureValues>& all) const {
  const Schema& schema = encoder_->schema();
  const std::size_t j = *schema.find(move.feature);
  FeatureValues& values = all[j];
  switch (move.kind) {
    case Move::Kind::rises:
      if (is_true) return leave(values, 1, move.by);
      values.upper = std::min(values.upper, values.own);
      return;
    case Move::Kind::falls:
      if (is_true) return leave(values, -1, move.by);
      values.lower = std::max(values.lower, values.own);
      return;
    case Move::Kind::changes:  // as a condition, and there false
    case Move::Kind::stays:    // as a consequence, and there true
      return stay(values);
    case Move::Kind::becomes:
      break;
  }
  const double level = level_of(schema.features[j], move);
  if (is_true) return become(values, level);
  if (level != values.own) std::erase(*values.listed, level);
}

std::vector<Case> RowConstraints::cases() const {
  std::vector<Case> result = {{.values = values_}};
  for (const Implication& implication : encoder_->schema().implications) {
    if (!has_rule(implication.text)) continue;
    std::vector<Case> next;
    for (const Case& before : result) {
      for (const bool follows : {false, true}) {
        Case one = before;
        suppose(follows ? implication.consequence : implication.condition, follows, one.values);
        one.supposes.push_back(follows ? words(implication.consequence)
                                       : opposite_words(implication.condition));
        const bool is_empty =
            std::any_of(one.values.begin(), one.values.end(),
                        [](const FeatureValues& values) { return values.is_empty(); });
        if (!is_empty) next.push_back(std::move(one));
      }
    }
    result = std::move(next);
  }
  return result;
}

double RowConstraints::coordinate(std::size_t j, double raw) const {
  const Index column = encoder_->first_column(j);
  if (raw == raw_(static_cast<Index>(j))) return query_(column);
  return (raw - encoder_->mean()(column)) / encoder_->scale()(column);
}

Box RowConstraints::around(const std::vector<FeatureValues>& all) const {
  Box box{.lower = query_, .upper = query_};
  for (std::size_t j = 0; j < all.size(); ++j) {
    const FeatureValues& values = all[j];
    if (!values.may_change || values.lower > values.upper) continue;
    const Index first = encoder_->first_column(j);
    if (values.bins != nullptr) {
      // Between the own bin, where it may stay there, and those that can be reached.
      bool is_first = !values.keeps_own;
      for (const double number : values.nearest_by_bin()) {
        const Vector there = encoder_->columns_of(j, number);
        if (std::exchange(is_first, false)) {
          box.lower.segment(first, there.size()) = there;
          box.upper.segment(first, there.size()) = there;
        }
        for (Index k = 0; k < there.size(); ++k) {
          box.lower(first + k) = std::min(box.lower(first + k), there(k));
          box.upper(first + k) = std::max(box.upper(first + k), there(k));
        }
      }
      continue;
    }
    if (encoder_->schema().features[j].kind == FeatureKind::categorical) {
      if (!values.has_others()) continue;
      box.lower.segment(first, encoder_->column_count(j)).setZero();
      box.upper.segment(first, encoder_->column_count(j)).setOnes();
      continue;
    }
    const double own = query_(first);
    const double lower = coordinate(j, values.lower);
    const double upper = coordinate(j, values.upper);
    box.lower(first) = values.keeps_own ? std::min(lower, own) : lower;
    box.upper(first) = values.keeps_own ? std::max(upper, own) : upper;
  }
  return box;
}

std::optional<Index> RowConstraints::gap_at(const std::vector<FeatureValues>& all,
                                            VectorArg point) const {
  for (std::size_t j = 0; j < all.size(); ++j) {
    const FeatureValues& values = all[j];
    if (!values.may_change || values.lower > values.upper || !values.keeps_own) continue;
    if (encoder_->schema().features[j].kind == FeatureKind::categorical || values.bins != nullptr) {
      continue;
    }
    const Index column = encoder_->first_column(j);
    const double x = point(column);
    const bool is_between =
        x != query_(column) && (x < coordinate(j, values.lower) || x > coordinate(j, values.upper));
    if (is_between) return column;
  }
  return std::nullopt;
}

std::vector<Box> RowConstraints::pieces(const std::vector<FeatureValues>& all) const {
  // Beyond so many features apart, the others are let move between.
  constexpr std::size_t most_boxes = 256;
  std::vector<std::vector<FeatureValues>> parts = {all};
  for (std::size_t j = 0; j < all.size() && parts.size() < most_boxes; ++j) {
    const FeatureValues& values = all[j];
    const bool has_range = values.may_change && values.keeps_own && values.lower <= values.upper;
    const bool is_apart = values.own < values.lower || values.own > values.upper;
    const bool is_ordered =
        encoder_->schema().features[j].kind != FeatureKind::categorical && values.bins == nullptr;
    if (!has_range || !is_apart || !is_ordered) continue;
    std::vector<std::vector<FeatureValues>> split_parts;
    for (const std::vector<FeatureValues>& part : parts) {
      for (const bool stays : {true, false})
        split_parts.push_back(split(part, encoder_->first_column(j), stays));
    }
    parts = std::move(split_parts);
  }
  std::vector<Box> result;
  for (const std::vector<FeatureValues>& part : parts) result.push_back(around(part));
  return result;
}

std::vector<Region> RowConstraints::regions_holding(const RawRow& row) const {
  const Vector raw = numbers_of(row);
  const Vector z = encoder_->encode(row);
  std::vector<Region> result;
  for (const Case& one : cases()) {
    bool admits = true;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (values_[j].has_others()) admits &= one.values[j].admits(raw(static_cast<Index>(j)));
    }
    if (!admits) continue;
    for (Box& box : pieces(one.values)) {
      for (std::size_t j = 0; j < values_.size(); ++j) {
        // Bounds may leave nothing of a grid but the own value.
        if (!values_[j].is_discrete()) continue;
        const Index first = encoder_->first_column(j);
        const Index count = encoder_->column_count(j);
        box.lower.segment(first, count) = z.segment(first, count);
        box.upper.segment(first, count) = z.segment(first, count);
      }
      result.push_back({.box = std::move(box), .rules = rules_});
    }
  }
  return result;
}

std::vector<FeatureValues> RowConstraints::split(std::vector<FeatureValues> values, Index column,
                                                 bool stays) const {
  FeatureValues& own = values[encoder_->feature_of(column)];
  (stays ? own.may_change : own.keeps_own) = false;
  return values;
}

}  // namespace ellice::audit
