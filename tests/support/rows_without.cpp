#include "support/rows_without.hpp"

#include "support/plain_rows.hpp"

namespace ellice::problem_zoo {

PlainRows::PlainRows(const Problem& problem, std::size_t query_index, Vector query,
                     std::optional<int> max_changes)
    : problem_(&problem),
      schema_(&problem.model->schema()),
      index_(query_index),
      query_(std::move(query)),
      max_changes_(max_changes) {}

std::set<std::string> PlainRows::names() const {
  std::set<std::string> result;
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    for (const auto& [name, keeps] : of_feature(j)) result.insert(name);
  }
  for (const Rule& rule : schema_->constraints) result.insert("rule " + rule.text);
  for (const Implication& one : schema_->implications) result.insert("rule " + one.text);
  if (max_changes_) result.insert(limit_name());
  return result;
}

bool PlainRows::allows(const Vector& row, const std::set<std::string>& kept) const {
  Index changes = 0;
  for (std::size_t j = 0; j < schema_->features.size(); ++j) {
    const double to = row(static_cast<Index>(j));
    if (to == query_(static_cast<Index>(j))) continue;
    ++changes;
    if (!allows_value(j, to, kept)) return false;
  }
  if (max_changes_ && kept.contains(limit_name()) && changes > *max_changes_) return false;
  for (const Rule& rule : schema_->constraints) {
    if (kept.contains("rule " + rule.text) && !plain::keeps(rule, *schema_, row)) return false;
  }
  return std::all_of(schema_->implications.begin(), schema_->implications.end(),
                     [&](const Implication& one) {
                       return !kept.contains("rule " + one.text) ||
                              !plain::does(*schema_, one.condition, query_, row, true) ||
                              plain::does(*schema_, one.consequence, query_, row, false);
                     });
}

std::vector<double> PlainRows::candidates(std::size_t j, const std::set<std::string>& kept) const {
  const Feature& feature = schema_->features[j];
  const double own = query_(static_cast<Index>(j));
  std::vector<double> all;
  if (!feature.is_number()) {
    for (std::size_t k = 0; k < feature.levels.size(); ++k) all.push_back(static_cast<double>(k));
  } else if (feature.kind == FeatureKind::integer || feature.step) {
    const double step = feature.step.value_or(1);
    const double origin = feature.min.value_or(0);
    for (int k = -25; k <= 40; ++k) all.push_back(origin + k * step);
    for (const double k : {1e3, 1e5, 1e8})
      for (const double side : {-1.0, 1.0}) all.push_back(origin + side * k * step);
  } else {
    for (const double shift : {-1e8, -1e4, -100.0, -10.0, -3.0, -1.0, -0.3, -0.1, 0.1, 0.3, 1.0,
                               3.0, 10.0, 100.0, 1e4, 1e8}) {
      all.push_back(own + shift);
    }
    for (const double end : ends(j)) all.push_back(end);
    for (const Value& value : feature.allowed) all.push_back(std::get<double>(value));
  }
  std::vector<double> result = {own};
  for (const double value : all) {
    if (value != own && allows_value(j, value, kept)) result.push_back(value);
  }
  return result;
}

bool PlainRows::is_continuous(std::size_t j, const std::set<std::string>& kept) const {
  const Feature& feature = schema_->features[j];
  return feature.kind == FeatureKind::numeric && !feature.step &&
         (feature.allowed.empty() || !kept.contains(feature.name + ": among the allowed values"));
}

bool PlainRows::allows_value(std::size_t j, double to, const std::set<std::string>& kept) const {
  const Feature& feature = schema_->features[j];
  const double own = query_(static_cast<Index>(j));
  if (to == own) return true;
  if (feature.kind == FeatureKind::integer && to != std::nearbyint(to)) return false;
  if (feature.step) {
    const double steps = (to - feature.min.value_or(0)) / *feature.step;
    if (std::abs(steps - std::nearbyint(steps)) > 1e-7) return false;
  }
  for (const auto& [name, keeps] : of_feature(j)) {
    if (kept.contains(name) && !keeps(to)) return false;
  }
  return true;
}

std::string PlainRows::limit_name() const {
  return fmt::format("at most {} feature{} may change", *max_changes_,
                     *max_changes_ == 1 ? "" : "s");
}

std::pair<double, double> PlainRows::training_range(std::size_t j) const {
  const Encoder& encoder = problem_->model->encoder;
  const Index column = encoder.first_column(j);
  const double own = query_(static_cast<Index>(j));
  return {std::min(own, encoder.min()(column)), std::max(own, encoder.max()(column))};
}

std::vector<double> PlainRows::ends(std::size_t j) const {
  const Feature& feature = schema_->features[j];
  const FeatureLimits limits = problem_->constraints.of(index_, feature.name);
  std::vector<double> result;
  for (const auto& end : {limits.min, limits.max, feature.min, feature.max})
    if (end) result.push_back(*end);
  const auto [low, high] = training_range(j);
  for (int k = 0; k <= 6; ++k) result.push_back(low + k / 6.0 * (high - low));
  result.push_back(low);
  result.push_back(high);
  return result;
}

std::vector<PlainRows::Named> PlainRows::of_feature(std::size_t j) const {
  const Feature& feature = schema_->features[j];
  const FeatureLimits limits = problem_->constraints.of(index_, feature.name);
  const double own = query_(static_cast<Index>(j));
  std::vector<Named> result;
  const auto add = [&](const std::string& text, std::function<bool(double)> keeps) {
    result.emplace_back(feature.name + ": " + text, std::move(keeps));
  };
  const auto never = [](double) { return false; };
  if (feature.immutable) add("immutable", never);
  if (limits.locked) add("locked", never);
  if (feature.is_number()) {
    if (const auto min = limits.min ? limits.min : feature.min)
      add(fmt::format("at least {}", *min), [b = *min](double v) { return v >= b; });
    if (const auto max = limits.max ? limits.max : feature.max)
      add(fmt::format("at most {}", *max), [b = *max](double v) { return v <= b; });
    if (problem_->constraints.range == RangePolicy::train) {
      const auto range = training_range(j);
      add(fmt::format("within the training range {} to {}", range.first, range.second),
          [range](double v) { return v >= range.first && v <= range.second; });
    }
  }
  const Direction direction = limits.direction.value_or(feature.direction);
  if (direction == Direction::increase)
    add("may only increase", [own](double v) { return v >= own; });
  if (direction == Direction::decrease)
    add("may only decrease", [own](double v) { return v <= own; });
  if (!feature.allowed.empty()) {
    add("among the allowed values", [&feature](double v) {
      return std::any_of(feature.allowed.begin(), feature.allowed.end(), [&](const Value& one) {
        if (const double* number = std::get_if<double>(&one)) return *number == v;
        return feature.levels[static_cast<std::size_t>(v)] == std::get<std::string>(one);
      });
    });
  }
  return result;
}

PlainBest best_plain_row(const PlainRows& rows, const PlainScore& score, double epsilon,
                         const std::set<std::string>& kept, const Effort& effort) {
  const Index count = rows.query().size();
  std::vector<std::vector<double>> values;
  std::size_t all = 1;
  for (Index j = 0; j < count; ++j) {
    values.push_back(rows.candidates(static_cast<std::size_t>(j), kept));
    all *= values.back().size();
  }
  // Too many: every so manieth, so that all features take part.
  const std::size_t stride = std::max<std::size_t>(1, all / effort.rows) | 1U;
  std::vector<PlainBest> best;
  const auto offer = [&](const Vector& row) {
    if (!rows.allows(row, kept)) return false;
    const double value = score.at(row, epsilon);
    if (best.size() == effort.starts && !(value > best.back().score)) return false;
    best.push_back({value, row});
    std::stable_sort(best.begin(), best.end(),
                     [](const PlainBest& a, const PlainBest& b) { return a.score > b.score; });
    if (best.size() > effort.starts) best.pop_back();
    return true;
  };
  for (std::size_t place = 0; place < all; place += stride) {
    Vector row(count);
    std::size_t rest = place;
    for (Index j = 0; j < count; ++j) {
      const auto& some = values[static_cast<std::size_t>(j)];
      row(j) = some[rest % some.size()];
      rest /= some.size();
    }
    (void)offer(row);
  }
  const std::vector<PlainBest> starts = best;
  for (const PlainBest& start : starts) {
    Vector row = start.row;
    double value = start.score;
    for (double step = 1; step > effort.finest; step /= 2) {
      for (int round = 0; round < 3; ++round) {
        for (Index j = 0; j < count; ++j) {
          if (!rows.is_continuous(static_cast<std::size_t>(j), kept)) continue;
          for (const double side : {-1.0, 1.0}) {
            Vector next = row;
            next(j) += side * step;
            if (!rows.allows(next, kept)) continue;
            const double there = score.at(next, epsilon);
            if (!(there > value)) continue;
            value = there;
            row = next;
          }
        }
      }
    }
    (void)offer(row);
  }
  return best.empty() ? PlainBest{} : best.front();
}

}  // namespace ellice::problem_zoo
