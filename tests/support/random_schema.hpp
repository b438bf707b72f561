#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "ellice/core/random.hpp"
#include "ellice/data/schema.hpp"

namespace ellice::testing_support {

/// Text of letters, blanks, punctuation that YAML gives a meaning, words that YAML takes for
/// something else, and characters beyond ASCII; never empty.
inline std::string random_text(Random& random) {
  static const std::vector<std::string> pieces = {
      "a",    "b",   "Z",  "_", "7", "0.5", " ",    ":",  ": ",  "#",  " #",  "-",   "- ",
      "{",    "}",   "[",  "]", ",", "\"",  "'",    "\\", "\\n", "\n", "&",   "*",   "!",
      "|",    ">",   "%",  "@", "`", "~",   "?",    "=",  "ä",   "€",  "\t",  "yes", "null",
      "true", "Ünï", "<<", ".", "/", "\r",  "\x01", "😀",  "no",  "1",  "1e5", ".inf"};
  std::string result;
  const std::uint64_t length = 1 + random.below(5);
  for (std::uint64_t i = 0; i < length; ++i) result += pieces[random.below(pieces.size())];
  return result;
}

/// A schema that satisfies every rule of the format, with all kinds and all keys.
inline Schema random_schema(Random& random) {
  std::set<std::string> used;
  const auto fresh = [&] {
    while (true) {
      std::string text = random_text(random);
      if (used.insert(text).second) return text;
    }
  };
  const auto fresh_list = [&](std::size_t count) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(fresh());
    return result;
  };
  const auto coin = [&] { return random.below(2) == 1; };

  Schema schema;
  schema.target = {.column = fresh(), .favourable = random_text(random)};
  if (coin()) schema.drop = fresh_list(random.below(3));
  if (coin()) schema.drop.emplace_back();  // the column without a name
  schema.missing = static_cast<MissingPolicy>(random.below(3));
  const std::uint64_t count = 1 + random.below(7);
  for (std::uint64_t i = 0; i < count; ++i) {
    Feature feature;
    feature.name = fresh();
    feature.kind = static_cast<FeatureKind>(random.below(5));
    feature.immutable = coin();
    if (coin()) feature.weight = std::exp(3 * random.normal());
    if (coin()) feature.unit = random_text(random);
    if (feature.kind != FeatureKind::categorical) {
      feature.direction = static_cast<Direction>(random.below(3));
    }
    if (feature.is_number()) {
      const auto number = [&] {
        const double value = 1000 * random.normal();
        return feature.kind == FeatureKind::integer ? std::nearbyint(value) : value;
      };
      const double a = number();
      const double b = number();
      if (coin()) feature.min = std::min(a, b);
      if (coin()) feature.max = std::max(a, b);
      if (coin()) feature.step = 1 + std::abs(number());
      if (coin()) feature.allowed = {std::min(a, b), std::max(a, b)};
      if (a == b) feature.allowed.clear();
    } else {
      const bool group = feature.kind == FeatureKind::categorical && coin();
      feature.levels = fresh_list(feature.kind == FeatureKind::binary ? 2 : 2 + random.below(4));
      if (feature.kind == FeatureKind::binary && coin()) feature.levels = {"0", "1"};
      if (group) feature.one_hot = feature.levels;
      if (coin()) feature.allowed = {feature.levels.back(), feature.levels.front()};
    }
    schema.features.push_back(feature);
  }
  for (const Feature& feature : schema.features) {
    if (!feature.is_number() || feature.name.find('`') != std::string::npos || coin()) continue;
    schema.constraints.push_back(parse_rule("2.5 * `" + feature.name + "` - 3 <= 1e3"));
  }
  return schema;
}

/// Raw numbers of one row (see Dataset::raw).
inline std::vector<double> random_raw_row(const Schema& schema, Random& random) {
  std::vector<double> row;
  for (const Feature& feature : schema.features) {
    if (feature.kind == FeatureKind::numeric) {
      row.push_back(40 + 1000 * random.normal());
    } else if (feature.kind == FeatureKind::integer) {
      row.push_back(std::nearbyint(1000 * random.normal()));
    } else {
      row.push_back(static_cast<double>(random.below(feature.levels.size())));
    }
  }
  return row;
}

}  // namespace ellice::testing_support
