// Rules between features: linear ones in model space, implications as parts of the set.

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "request/feasible_set.hpp"
#include "request/model_rules.hpp"

namespace ellice {

namespace {

std::string does_not(const Move& move) {
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

std::string says(const Move& move) {
  std::string text = fmt::format("{} {}", move.feature, enum_name(move.kind));
  if (move.by > 0) text += fmt::format(" by at least {}", move.by);
  if (!move.level.empty()) text += ' ' + move.level;
  return text;
}

void make_empty(FeatureRange& range) {
  range.keeps = false;
  range.fixed = false;
  range.lower = infinity;
  range.upper = -infinity;
}

}  // namespace

bool FeasibleSet::is_empty() const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [](const FeatureRange& range) { return range.is_empty(); });
}

void FeasibleSet::build_rules() {
  const Schema& schema = encoder_->schema();
  rules_.clear();
  for (std::size_t r = 0; r < schema.constraints.size(); ++r) {
    const Rule& rule = schema.constraints[r];
    if (!is_lifted(NamedConstraint::Kind::rule, r))
      rules_.push_back({.rule = in_model_space(rule, *encoder_), .text = rule.text});
  }
}

bool FeasibleSet::does(const Move& move, VectorArg raw, bool condition) const {
  const std::size_t j = *encoder_->schema().find(move.feature);
  const double from = raw_(static_cast<Index>(j));
  const double to = raw(static_cast<Index>(j));
  const double rounding = 1e-12 * (std::abs(from) + std::abs(move.by));
  switch (move.kind) {
    case Move::Kind::rises:
      return to > from && to - from >= move.by - rounding;
    case Move::Kind::falls:
      return to < from && from - to >= move.by - rounding;
    case Move::Kind::changes:
      return to != from;
    case Move::Kind::stays:
      return to == from;
    case Move::Kind::becomes:
      break;
  }
  const auto level = static_cast<double>(*encoder_->schema().features[j].level_index(move.level));
  return to == level && !(condition && from == level);
}

void FeasibleSet::apply_decisions(std::size_t j, FeatureRange& range) const {
  const Schema& schema = encoder_->schema();
  for (const Decision& decision : decisions_) {
    const Implication& implication = schema.implications[decision.implication];
    const Move& move = decision.consequence ? implication.consequence : implication.condition;
    if (schema.find(move.feature) == j) apply(move, decision.consequence, j, range);
  }
}

void FeasibleSet::apply(const Move& move, bool is_true, std::size_t j, FeatureRange& range) const {
  const Feature& feature = encoder_->schema().features[j];
  const auto fix = [&] {
    if (!range.contains(range.query)) return make_empty(range);
    range.fixed = true;
    range.lower = range.upper = range.query;
  };
  // Beyond the query's value by `by`, or by as little as the grid allows.
  const auto go = [&](int side) {
    const std::optional<double> next = range.beyond(range.query, side);
    if (range.fixed || (range.has_grid() && !next)) return make_empty(range);
    double least = range.query + side * move.by;
    if (range.has_grid()) least = side > 0 ? std::max(least, *next) : std::min(least, *next);
    range.keeps = false;
    if (side > 0) range.lower = std::max(range.lower, least);
    if (side < 0) range.upper = std::min(range.upper, least);
  };
  switch (move.kind) {
    case Move::Kind::rises:
      if (is_true) return go(1);
      range.upper = std::min(range.upper, range.query);
      return;
    case Move::Kind::falls:
      if (is_true) return go(-1);
      range.lower = std::max(range.lower, range.query);
      return;
    case Move::Kind::changes:
    case Move::Kind::stays:
      return fix();
    case Move::Kind::becomes:
      break;
  }
  const auto level = static_cast<double>(*feature.level_index(move.level));
  if (is_true) {
    if (level == range.query) return fix();
    if (!range.contains(level)) return make_empty(range);
    range.allowed = {level};
    range.lower = range.upper = level;
    range.keeps = false;
    return;
  }
  if (level == range.query || !range.contains(level)) return;
  std::vector<double> others;
  for (std::size_t k = 0; k < feature.levels.size(); ++k) {
    const auto value = static_cast<double>(k);
    if (value != level && range.contains(value)) others.push_back(value);
  }
  if (others.empty()) return make_empty(range);
  range.allowed = std::move(others);
}

std::vector<FeasibleSet> FeasibleSet::branches() const {
  const Schema& schema = encoder_->schema();
  std::vector<FeasibleSet> result = {*this};
  for (std::size_t r = 0; r < schema.implications.size(); ++r) {
    if (is_lifted(NamedConstraint::Kind::implication, r)) continue;
    const Implication& implication = schema.implications[r];
    const std::size_t condition = *schema.find(implication.condition.feature);
    std::vector<FeasibleSet> split;
    for (const FeasibleSet& part : result) {
      const auto decided = [&](bool consequence) {
        FeasibleSet set = part;
        set.decisions_.push_back({.implication = r, .consequence = consequence});
        set.supposes_.push_back(consequence ? says(implication.consequence)
                                            : does_not(implication.condition));
        set.build();
        return set;
      };
      FeasibleSet without = decided(false);
      // Where the condition cannot come true, its being false restricts nothing.
      const bool is_idle = without.number_range(condition) == part.number_range(condition);
      if (!without.is_empty()) split.push_back(std::move(without));
      if (is_idle) continue;
      FeasibleSet with = decided(true);
      if (!with.is_empty()) split.push_back(std::move(with));
    }
    result = std::move(split);
  }
  return result;
}

}  // namespace ellice
