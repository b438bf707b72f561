#include "support/plain_rows.hpp"

namespace ellice::plain {

namespace {

/// Where a number lies among the bins of a feature, codes after the intervals.
std::size_t bin(const Feature& feature, double number) {
  const Bins& bins = feature.bins;
  for (std::size_t k = 0; k < bins.special.size(); ++k) {
    if (bins.special[k].number == number) return bins.edges.size() + 1 + k;
  }
  std::size_t passed = 0;
  while (passed < bins.edges.size() &&
         (number > bins.edges[passed] ||
          (number == bins.edges[passed] && bins.closed == Bins::Closed::left)))
    ++passed;
  return passed;
}

bool is_code(const Feature& feature, double number) {
  return feature.kind == FeatureKind::binned && bin(feature, number) > feature.bins.edges.size();
}

std::size_t width(const Feature& feature) {
  if (feature.kind == FeatureKind::categorical) return feature.levels.size();
  if (feature.kind == FeatureKind::binned && feature.bins.values.empty())
    return feature.bins.edges.size() + 1 + feature.bins.special.size();
  return 1;
}

}  // namespace

Vector numbers(const Schema& schema, const RawRow& row) {
  Vector result(static_cast<Index>(row.size()));
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (const double* number = std::get_if<double>(&row[j])) {
      result(static_cast<Index>(j)) = *number;
      continue;
    }
    const std::vector<std::string>& levels = schema.features[j].levels;
    const auto at = std::find(levels.begin(), levels.end(), std::get<std::string>(row[j]));
    EXPECT_NE(at, levels.end()) << schema.features[j].name;
    result(static_cast<Index>(j)) = static_cast<double>(at - levels.begin());
  }
  return result;
}

Vector code(const Model& model, const Vector& raw) {
  const Schema& schema = model.schema();
  std::vector<double> z;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const double value = raw(static_cast<Index>(j));
    if (feature.kind == FeatureKind::categorical) {
      for (std::size_t level = 0; level < feature.levels.size(); ++level)
        z.push_back(value == static_cast<double>(level) ? 1 : 0);
    } else if (feature.kind == FeatureKind::binary) {
      z.push_back(value);
    } else if (feature.kind == FeatureKind::binned) {
      const std::size_t place = bin(feature, value);
      if (!feature.bins.values.empty()) {
        z.push_back(feature.bins.values[place]);
        continue;
      }
      for (std::size_t k = 0; k < width(feature); ++k) z.push_back(k == place ? 1 : 0);
    } else {
      const auto column = static_cast<Index>(z.size());
      z.push_back((value - model.encoder.mean()(column)) / model.encoder.scale()(column));
    }
  }
  return Eigen::Map<const Vector>(z.data(), static_cast<Index>(z.size()));
}

Vector code(const Model& model, const RawRow& row) {
  return code(model, numbers(model.schema(), row));
}

double cost(const Cost& cost, const Model& model, const Vector& from, const Vector& to) {
  double sum = 0;
  int changed = 0;
  Index column = 0;
  for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
    const Feature& feature = model.schema().features[j];
    const double a = from(static_cast<Index>(j));
    const double b = to(static_cast<Index>(j));
    const bool category = feature.kind == FeatureKind::categorical;
    const bool level = category || feature.kind == FeatureKind::binary;
    const double scale = feature.kind == FeatureKind::binned ? model.encoder.statistics(j).scale
                                                             : model.encoder.scale()(column);
    const double move = level ? 1 : std::abs(a - b) / scale;
    const double columns = category ? 2 : 1;  // the level that was left and the one that is new
    column += static_cast<Index>(width(feature));
    if (a == b) continue;
    ++changed;
    switch (cost.kind) {
      case CostKind::l2:
        sum += feature.weight * columns * move * move;
        break;
      case CostKind::l1:
        sum += feature.weight * columns * move;
        break;
      case CostKind::l1_l2:
        sum += feature.weight * columns * (move * move + move);
        break;
      case CostKind::mixed:
        sum += feature.weight * move * move;
        break;
    }
  }
  if (cost.kind == CostKind::mixed) sum = std::sqrt(sum);
  return sum + cost.sparsity_weight * changed;
}

int changes(const Vector& from, const Vector& to) {
  return static_cast<int>((from.array() != to.array()).count());
}

FeatureLimits limits_of(const Problem& problem, std::size_t query, const std::string& name) {
  FeatureLimits result;
  const auto add = [&](const std::map<std::string, FeatureLimits>& limits) {
    if (!limits.contains(name)) return;
    const FeatureLimits& more = limits.at(name);
    if (more.locked) result.locked = true;
    if (more.min) result.min = more.min;
    if (more.max) result.max = more.max;
    if (more.direction) result.direction = more.direction;
  };
  add(problem.constraints.features);
  if (problem.constraints.queries.contains(query)) add(problem.constraints.queries.at(query));
  return result;
}

double years(Pace::Period period) {
  if (period == Pace::Period::year) return 1;
  if (period == Pace::Period::month) return 1 / 12.0;
  return (period == Pace::Period::week ? 7 : 1) / 365.25;
}

Reach reach_of(const Problem& problem, std::size_t query, const Vector& from, std::size_t j) {
  const Schema& schema = problem.model->schema();
  const Feature& feature = schema.features[j];
  const FeatureLimits limits = limits_of(problem, query, feature.name);
  const double own = from(static_cast<Index>(j));
  Reach reach{.fixed = feature.immutable || limits.locked || is_code(feature, own),
              .step = feature.step};
  if (feature.kind == FeatureKind::binned) {
    for (const Bins::Code& code : feature.bins.special) reach.never.push_back(code.number);
  }
  reach.origin = feature.min.value_or(0);
  if (const auto min = limits.min ? limits.min : feature.min) reach.low = *min;
  if (const auto max = limits.max ? limits.max : feature.max) reach.high = *max;
  if (!feature.is_number()) {
    reach.low = 0;
    reach.high = static_cast<double>(feature.levels.size()) - 1;
  } else if (problem.constraints.range == RangePolicy::train) {
    const ColumnStatistics seen = problem.model->encoder.statistics(j);
    reach.low = std::max(reach.low, std::min(own, seen.min));
    reach.high = std::min(reach.high, std::max(own, seen.max));
  }
  const Direction direction = limits.direction.value_or(feature.direction);
  if (feature.kind != FeatureKind::categorical) {
    if (direction == Direction::increase) reach.low = std::max(reach.low, own);
    if (direction == Direction::decrease) reach.high = std::min(reach.high, own);
  }
  if (problem.constraints.horizon && feature.slow) {
    const double most = feature.slow->amount * years(problem.constraints.horizon->per) *
                        problem.constraints.horizon->amount / years(feature.slow->per);
    reach.low = std::max(reach.low, own - most);
    reach.high = std::min(reach.high, own + most);
  }
  if (feature.kind != FeatureKind::numeric && !reach.step) reach.step = 1;
  for (const Value& value : feature.allowed) {
    const double* number = std::get_if<double>(&value);
    const auto place = [&] {
      const auto at =
          std::find(feature.levels.begin(), feature.levels.end(), std::get<std::string>(value));
      return static_cast<double>(at - feature.levels.begin());
    };
    reach.listed.push_back(number != nullptr ? *number : place());
  }
  return reach;
}

bool may_become(const Reach& reach, double from, double to) {
  if (from == to) return true;
  if (reach.fixed || to < reach.low || to > reach.high) return false;
  if (std::find(reach.never.begin(), reach.never.end(), to) != reach.never.end()) return false;
  const bool is_listed =
      std::find(reach.listed.begin(), reach.listed.end(), to) != reach.listed.end();
  if (!reach.listed.empty() && !is_listed) return false;
  if (!reach.step) return true;
  const double steps = (to - reach.origin) / *reach.step;
  return std::abs(steps - std::round(steps)) <= 2e-9;
}

bool does(const Schema& schema, const Move& move, const Vector& from, const Vector& to,
          bool is_condition) {
  std::size_t j = 0;
  while (schema.features[j].name != move.feature) ++j;
  const double a = from(static_cast<Index>(j));
  const double b = to(static_cast<Index>(j));
  const auto is_level = [&](double value) {
    const Feature& feature = schema.features[j];
    if (feature.is_number()) return value == std::stod(move.level);
    return feature.levels[static_cast<std::size_t>(value)] == move.level;
  };
  const double tiny = 1e-12 * (std::abs(a) + std::abs(move.by));
  switch (move.kind) {
    case Move::Kind::rises:
      return b > a && b - a >= move.by - tiny;
    case Move::Kind::falls:
      return b < a && a - b >= move.by - tiny;
    case Move::Kind::changes:
      return b != a;
    case Move::Kind::stays:
      return b == a;
    case Move::Kind::becomes:
      return is_level(b) && !(is_condition && is_level(a));
  }
  return false;
}

bool keeps(const Rule& rule, const Schema& schema, const Vector& row) {
  double excess = -rule.bound;
  double scale = std::abs(rule.bound);
  for (const auto& [name, coefficient] : rule.terms) {
    std::size_t j = 0;
    while (schema.features[j].name != name) ++j;
    const double term = coefficient * row(static_cast<Index>(j));
    excess += term;
    scale += std::abs(term);
  }
  const double rounding = 4e-12 * scale;
  return (rule.relation == Rule::Relation::at_least || excess <= rounding) &&
         (rule.relation == Rule::Relation::at_most || excess >= -rounding);
}

std::string fault(const Problem& problem, std::size_t query, const Vector& from, const Vector& to) {
  const Schema& schema = problem.model->schema();
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const auto i = static_cast<Index>(j);
    if (!may_become(reach_of(problem, query, from, j), from(i), to(i)))
      return schema.features[j].name + ": " + std::to_string(from(i)) + " to " +
             std::to_string(to(i));
  }
  for (const Rule& rule : schema.constraints) {
    if (!keeps(rule, schema, to)) return rule.text;
  }
  for (const Implication& rule : schema.implications) {
    if (does(schema, rule.condition, from, to, true) &&
        !does(schema, rule.consequence, from, to, false))
      return rule.text;
  }
  return "";
}

void expect_allowed(const Problem& problem, const Answer& answer) {
  const Schema& schema = problem.model->schema();
  ASSERT_TRUE(answer.counterfactual);
  EXPECT_EQ(fault(problem, answer.query_index, numbers(schema, answer.query),
                  numbers(schema, *answer.counterfactual)),
            "")
      << "query " << answer.query_index;
}

std::vector<double> values_of(const Problem& problem, std::size_t query, const Vector& from,
                              std::size_t j, std::size_t most) {
  const Reach reach = reach_of(problem, query, from, j);
  const double own = from(static_cast<Index>(j));
  std::vector<double> result = {own};
  const auto offer = [&](double value) {
    if (value != own && may_become(reach, own, value)) result.push_back(value);
  };
  if (reach.fixed) return result;
  if (!reach.listed.empty()) {
    for (const double value : reach.listed) offer(value);
    return result;
  }
  if (!reach.step || reach.high - reach.low > static_cast<double>(most) * *reach.step)
    return result;
  const double first = std::floor((reach.low - reach.origin) / *reach.step);
  for (double k = first; reach.origin + k * *reach.step <= reach.high; ++k)
    offer(reach.origin + k * *reach.step);
  return result;
}

void visit_rows(const Problem& problem, std::size_t query, const Vector& from,
                const std::vector<std::vector<double>>& values,
                const std::function<void(const Vector&)>& visit) {
  Vector to = from;
  const bool has_rules =
      !problem.model->schema().constraints.empty() || !problem.model->schema().implications.empty();
  const std::function<void(std::size_t)> descend = [&](std::size_t j) {
    if (j == values.size()) {
      if (!has_rules || fault(problem, query, from, to).empty()) visit(to);
      return;
    }
    for (const double value : values[j]) {
      to(static_cast<Index>(j)) = value;
      descend(j + 1);
    }
  };
  descend(0);
}

void visit_rows(const Problem& problem, std::size_t query, const Vector& from,
                const std::function<void(const Vector&)>& visit) {
  std::vector<std::vector<double>> values;
  for (std::size_t j = 0; j < problem.model->schema().features.size(); ++j)
    values.push_back(values_of(problem, query, from, j));
  visit_rows(problem, query, from, values, visit);
}

double highest_score(const Problem& problem, std::size_t query, const Vector& from,
                     const Vector& head) {
  const Schema& schema = problem.model->schema();
  double sum = head(head.size() - 1);
  Index column = 0;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const Reach reach = reach_of(problem, query, from, j);
    const double own = from(static_cast<Index>(j));
    const bool category = feature.kind == FeatureKind::categorical;
    const bool binned = feature.kind == FeatureKind::binned;
    const auto score = [&](double value) {
      if (category) return head(column + static_cast<Index>(value));
      if (binned) {
        const auto place = static_cast<Index>(bin(feature, value));
        return feature.bins.values.empty()
                   ? head(column + place)
                   : head(column) * feature.bins.values[static_cast<std::size_t>(place)];
      }
      if (feature.kind == FeatureKind::binary) return head(column) * value;
      return head(column) * (value - problem.model->encoder.mean()(column)) /
             problem.model->encoder.scale()(column);
    };
    double best = score(own);
    if (category) {
      for (std::size_t level = 0; level < feature.levels.size(); ++level) {
        if (may_become(reach, own, static_cast<double>(level)))
          best = std::max(best, score(static_cast<double>(level)));
      }
    } else if (binned) {
      for (const double value : values_of(problem, query, from, j))
        best = std::max(best, score(value));
    } else if (!reach.fixed && reach.low <= reach.high) {
      best = std::max({best, score(reach.low), score(reach.high)});
    }
    sum += best;
    column += static_cast<Index>(width(feature));
  }
  return sum;
}

std::pair<Vector, Vector> box_of(const Problem& problem, std::size_t query, const Vector& from) {
  const Vector z = code(*problem.model, from);
  std::pair<Vector, Vector> box = {z, z};
  for (std::size_t j = 0; j < problem.model->schema().features.size(); ++j) {
    const Reach reach = reach_of(problem, query, from, j);
    if (reach.fixed || reach.low > reach.high) continue;
    const auto i = static_cast<Index>(j);
    const auto coded = [&](double value) {
      return (value - problem.model->encoder.mean()(i)) / problem.model->encoder.scale()(i);
    };
    box.first(i) = std::min(z(i), coded(reach.low));
    box.second(i) = std::max(z(i), coded(reach.high));
  }
  return box;
}

}  // namespace ellice::plain
