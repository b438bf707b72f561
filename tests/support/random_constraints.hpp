#pragma once

// Schemas with every key that restricts a counterfactual, requests over them, and rows that meet
// their bounds, grids and levels often enough to be allowed now and then.

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/constraints.hpp"

namespace ellice::testing_support {

struct ConstraintCase {
  Dataset data = {};
  Encoder encoder = {};
  Constraints constraints = {};
  std::vector<std::optional<double>> display_steps = {};
};

template <class T, std::size_t N>
T one_of(Random& random, const std::array<T, N>& values) {
  return values[random.below(N)];
}

inline bool chance(Random& random, std::uint64_t one_in) {
  return random.below(one_in) == 0;
}

/// A number that steps, bounds and lists of the features below share with it as often as not.
inline double coarse_number(Random& random, bool is_whole) {
  if (is_whole) return static_cast<double>(random.below(9)) - 2;
  static constexpr std::array grids = {0.25, 0.1, 0.3, 1.0};
  const double step = one_of(random, grids);
  return step * (static_cast<double>(random.below(25)) - 8) + (chance(random, 6) ? 0.05 : 0);
}

inline Pace random_pace(Random& random) {
  return {.amount = one_of(random, std::array{0.1, 0.5, 1.0, 2.0}),
          .per = static_cast<Pace::Period>(random.below(4))};
}

inline Feature restricted_feature(Random& random, std::size_t index) {
  Feature feature{.name = "f" + std::to_string(index)};
  feature.kind = static_cast<FeatureKind>(random.below(5));
  feature.immutable = chance(random, 8);
  if (feature.kind != FeatureKind::categorical && chance(random, 3))
    feature.direction = static_cast<Direction>(random.below(3));
  if (feature.is_number()) {
    const bool is_whole = feature.kind == FeatureKind::integer;
    if (chance(random, 3))
      feature.min = is_whole ? -1 : one_of(random, std::array{-0.9, -0.5, 0.0});
    if (chance(random, 3)) feature.max = is_whole ? 5 : one_of(random, std::array{1.0, 1.7, 2.5});
    if (chance(random, 3)) {
      feature.step = is_whole ? one_of(random, std::array{1.0, 2.0, 3.0})
                              : one_of(random, std::array{0.1, 0.25, 0.3, 0.7});
    }
    for (int k = 0; chance(random, 4) && k < 1; ++k) {
      for (const double value : {0.0, 1.0, 2.0, 3.0}) {
        const double one = is_whole ? value : 0.25 * value;
        const bool fits = one >= feature.min.value_or(one) && one <= feature.max.value_or(one);
        if (fits && !chance(random, 3)) feature.allowed.emplace_back(one);
      }
    }
    if (!feature.immutable && chance(random, 3)) feature.slow = random_pace(random);
    return feature;
  }
  if (feature.kind == FeatureKind::ordinal && !feature.immutable && chance(random, 3))
    feature.slow = random_pace(random);
  feature.levels = {"a", "b"};
  if (feature.kind != FeatureKind::binary) feature.levels.insert(feature.levels.end(), {"c", "d"});
  for (const std::string& level : feature.levels) {
    if (chance(random, 4)) feature.allowed.emplace_back(level);
  }
  return feature;
}

inline std::string random_move(Random& random, const Feature& feature, bool is_condition) {
  const bool is_ordered = feature.is_number() || feature.kind == FeatureKind::ordinal;
  const std::uint64_t kind = random.below(4);
  if (kind == 0) return feature.name + (is_condition ? " changes" : " stays");
  if (kind == 1 || !is_ordered) {
    if (feature.is_number()) return feature.name + (is_condition ? " changes" : " stays");
    return feature.name + " becomes " + feature.levels[random.below(feature.levels.size())];
  }
  std::string text = feature.name + (kind == 2 ? " rises" : " falls");
  const bool needs_amount =
      feature.kind == FeatureKind::numeric && !feature.step && feature.allowed.empty();
  if (!is_condition && (needs_amount || chance(random, 2)))
    text += feature.kind == FeatureKind::numeric ? " by at least 0.3" : " by at least 2";
  return text;
}

inline void add_rules(Random& random, Schema& schema) {
  std::vector<std::string> numbers;
  for (const Feature& feature : schema.features) {
    if (feature.is_number()) numbers.push_back(feature.name);
  }
  if (numbers.size() > 1 && chance(random, 2)) {
    const std::string relation = one_of(random, std::array<std::string, 3>{"<=", ">=", "=="});
    schema.constraints.push_back(
        parse_rule(fmt::format("{} {} 0.5 * {} + 0.25", numbers[0], relation, numbers[1])));
  }
  while (chance(random, 2) && schema.implications.size() < 3) {
    const std::size_t count = schema.features.size();
    schema.implications.push_back(parse_implication(fmt::format(
        "if {} then {}", random_move(random, schema.features[random.below(count)], true),
        random_move(random, schema.features[random.below(count)], false))));
  }
}

inline FeatureLimits random_limits(Random& random, const Feature& feature) {
  FeatureLimits limits{.locked = chance(random, 5)};
  if (feature.is_number()) {
    const bool is_whole = feature.kind == FeatureKind::integer;
    if (chance(random, 3)) limits.min = is_whole ? 0 : one_of(random, std::array{-0.7, 0.05, 0.5});
    if (chance(random, 3)) limits.max = is_whole ? 4 : one_of(random, std::array{0.75, 1.3, 2.0});
    if (is_whole && chance(random, 4)) limits.min = 0.5;
  }
  if (feature.kind != FeatureKind::categorical && chance(random, 3))
    limits.direction = static_cast<Direction>(random.below(3));
  return limits;
}

/// Raw numbers of a row (see Dataset::raw); with a query near it, for the values of a neighbour.
inline Vector coarse_row(Random& random, const Schema& schema, const Vector* near = nullptr) {
  Vector row(static_cast<Index>(schema.features.size()));
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const auto i = static_cast<Index>(j);
    row(i) = feature.is_number() ? coarse_number(random, feature.kind == FeatureKind::integer)
                                 : static_cast<double>(random.below(feature.levels.size()));
    if (near != nullptr && chance(random, 2)) row(i) = (*near)(i);
    const bool snaps = near != nullptr && feature.is_number() && feature.step && chance(random, 2);
    if (snaps) row(i) = feature.min.value_or(0) + std::floor(random.uniform() * 9) * *feature.step;
    if (near != nullptr && feature.kind == FeatureKind::numeric && chance(random, 12))
      row(i) = std::nextafter(row(i), random.below(2) == 0 ? -1e9 : 1e9);
  }
  return row;
}

/// Only such as the readers of schema and request accept.
inline ConstraintCase random_constraint_case(Random& random, std::size_t features) {
  while (true) {
    Schema schema;
    schema.target = {.column = "outcome", .favourable = "yes"};
    for (std::size_t j = 0; j < features; ++j)
      schema.features.push_back(restricted_feature(random, j));
    add_rules(random, schema);
    ConstraintCase result;
    result.constraints.range = chance(random, 2) ? RangePolicy::off : RangePolicy::train;
    for (const Feature& feature : schema.features) {
      if (chance(random, 4))
        result.constraints.features[feature.name] = random_limits(random, feature);
      if (chance(random, 6))
        result.constraints.queries[1][feature.name] = random_limits(random, feature);
    }
    if (chance(random, 2)) {
      result.constraints.horizon = Horizon{.amount = 1 + static_cast<double>(random.below(24)),
                                           .per = static_cast<Pace::Period>(random.below(4))};
    }
    try {
      result.data.schema = schema_from_json(to_json(schema), "generated");
      validate(result.constraints, schema);
    } catch (const Error&) {
      continue;
    }
    Dataset& data = result.data;
    data.raw.resize(24, static_cast<Index>(features));
    for (Index i = 0; i < data.raw.rows(); ++i) {
      data.raw.row(i) = coarse_row(random, schema).transpose();
      data.labels.push_back(static_cast<int>(i % 2));
    }
    data.classes = {"no", "yes"};
    data.source = "generated rows";
    data.sha256 = std::string(64, '0');
    result.encoder = Encoder::fit(data);
    if (chance(random, 3)) {
      for (std::size_t j = 0; j < features; ++j)
        result.display_steps.emplace_back(chance(random, 2) ? std::optional(0.1) : std::nullopt);
    }
    return result;
  }
}

}  // namespace ellice::testing_support
