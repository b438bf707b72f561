#include "report/batch_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ellice/core/error.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

/// How far a change goes: upwards, downwards, or 0 where levels have no order.
double signed_move(const Feature& feature, const Change& change) {
  if (feature.is_number()) return std::get<double>(change.to) - std::get<double>(change.from);
  if (feature.kind != FeatureKind::ordinal) return 0;
  const auto place = [&](const Value& value) {
    return static_cast<double>(feature.level_index(std::get<std::string>(value)).value_or(0));
  };
  return place(change.to) - place(change.from);
}

/// Which of n values in order, counted from 0: the first with a share of at least `share` at or
/// below it.
std::size_t rank_of(double share, std::size_t n) {
  const double rank = std::ceil(share * static_cast<double>(n));
  return static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(n))) - 1;
}

}  // namespace

BatchSummary::BatchSummary(const Schema& schema, bool quantiles)
    : schema_(schema), quantiles_(quantiles), features_(schema.features.size()) {}

void BatchSummary::add(const Answer& answer) {
  if (answer.plan > 0) {
    ++further_plans_;
    return;
  }
  ++queries_;
  ++statuses_.at(static_cast<std::size_t>(answer.status));
  if (!is_certified(answer.status) || answer.status == Status::already_robust) return;
  if (quantiles_) distances_.push_back(answer.distance.l2);
  ++changes_[answer.distance.changed];
  std::size_t next = 0;  // changes stand in the order of the schema
  for (const Change& change : answer.changes) next = count_change(change, next) + 1;
}

std::size_t BatchSummary::count_change(const Change& change, std::size_t expected) {
  const std::vector<Feature>& features = schema_.features;
  std::optional<std::size_t> index = expected;
  while (*index < features.size() && features[*index].name != change.feature) ++*index;
  if (*index >= features.size()) index = schema_.find(change.feature);
  require(index.has_value(), "the schema has no feature \"{}\"", change.feature);
  FeatureUse& use = features_[*index];
  ++use.changed;
  const double move = signed_move(schema_.features[*index], change);
  if (move > 0) {
    ++use.raised;
    use.raised_by += move;
  } else if (move < 0) {
    ++use.lowered;
    use.lowered_by -= move;
  }
  if (const auto* level = std::get_if<std::string>(&change.to)) ++use.levels[*level];
  return *index;
}

std::size_t BatchSummary::count(Status status) const {
  return statuses_.at(static_cast<std::size_t>(status));
}

std::size_t BatchSummary::in_need() const {
  return queries_ - count(Status::already_robust) - count(Status::invalid);
}

std::size_t BatchSummary::helped() const {
  return count(Status::optimal) + count(Status::certified);
}

std::vector<std::size_t> BatchSummary::most_changed() const {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < features_.size(); ++j) {
    if (features_[j].changed > 0) order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return features_[a].changed > features_[b].changed;
  });
  return order;
}

std::vector<double> BatchSummary::distance_quantiles(std::span<const double> shares) const {
  require(!distances_.empty(), "there are no distances to take quantiles of");
  std::vector<double> sorted = distances_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> result;
  for (const double share : shares) result.push_back(sorted[rank_of(share, sorted.size())]);
  return result;
}

int BatchSummary::changes_quantile(double share) const {
  require(!changes_.empty(), "there are no changes to take quantiles of");
  std::size_t left = rank_of(share, distances_.size());
  for (const auto& [number, count] : changes_) {
    if (left < count) return number;
    left -= count;
  }
  return changes_.rbegin()->first;
}

std::string describe(const FeatureUse& use, const Feature& feature) {
  std::vector<std::string> parts;
  const auto moved = [&](const char* verb, std::size_t count, double sum) {
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    std::string amount = display_rounded(mean);
    if (feature.kind == FeatureKind::ordinal) {
      amount += amount == "1" ? " level" : " levels";
    } else if (!feature.unit.empty()) {
      amount += " " + feature.unit;
    }
    parts.push_back(fmt::format("{} in {}, by {} on average", verb, grouped(count), amount));
  };
  moved("raised", use.raised, use.raised_by);
  moved("lowered", use.lowered, use.lowered_by);
  if (use.raised + use.lowered < use.changed) {
    for (const auto& [level, count] : use.levels) {
      parts.push_back(fmt::format("to {} in {}", feature.level_text(level), grouped(count)));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace ellice
