#include "support/random_schema.hpp"

namespace ellice::testing_support {

std::string random_text(Random& random) {
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

bool folds_apart(const Schema& schema) {
  return std::all_of(schema.features.begin(), schema.features.end(), [](const Feature& feature) {
    std::set<std::string> folded;
    for (const std::string& level : feature.levels) folded.insert(folded_level(level));
    return folded.size() == feature.levels.size();
  });
}

CsvFormat random_format(const Schema& schema, Random& random) {
  CsvFormat format;
  if (random.below(2) == 0) return format;
  format.separator = separators[random.below(separators.size())];
  format.decimal = decimal_marks[random.below(decimal_marks.size())];
  format.thousands = thousands_marks[random.below(thousands_marks.size())];
  if (format.thousands == format.decimal) format.thousands = '\0';
  format.encoding = static_cast<Encoding>(random.below(2));
  for (const Feature& feature : schema.features) {
    if (feature.is_number() && random.below(3) == 0) format.symbols[feature.name] = {"€", "EUR"};
  }
  return format;
}

Schema random_schema(Random& random) {
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
    feature.kind = static_cast<FeatureKind>(random.below(6));
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
      if (feature.is_binned()) {
        feature.bins.edges = {std::min(a, b), std::max(a, b) + 1};
        if (coin()) feature.bins.closed = Bins::Closed::left;
        if (coin()) feature.bins.special = {{-9, "no record"}, {-8.5, "not usable"}};
        for (std::size_t k = 0; coin() && k < feature.bins.count(); ++k)
          feature.bins.values.push_back(number());
        feature.bins.values.resize(feature.bins.values.empty() ? 0 : feature.bins.count());
        if (!feature.step) feature.step = 0.5;
      }
    } else {
      const bool group = feature.kind == FeatureKind::categorical && coin();
      feature.levels = fresh_list(feature.kind == FeatureKind::binary ? 2 : 2 + random.below(4));
      if (feature.kind == FeatureKind::binary && coin()) feature.levels = {"0", "1"};
      if (group) feature.one_hot = feature.levels;
      if (coin()) feature.allowed = {feature.levels.back(), feature.levels.front()};
    }
    if (coin()) feature.label = fresh();
    if (coin()) feature.description = random_text(random);
    for (const std::string& level : feature.levels) {
      if (coin()) feature.level_texts[level] = fresh();
    }
    if (coin() && feature.immutable) feature.is_protected = true;
    const bool has_pace = feature.is_number() || feature.kind == FeatureKind::ordinal;
    if (has_pace && !feature.immutable && coin()) {
      feature.slow = {.amount = std::exp(3 * random.normal()),
                      .per = static_cast<Pace::Period>(random.below(4))};
    }
    schema.features.push_back(feature);
  }
  if (coin()) schema.missing_values = {"n/a?" + std::to_string(random.below(9)), "--"};
  schema.merge_levels = random.below(4) == 0 && folds_apart(schema);
  schema.format = random_format(schema, random);
  for (const Feature& feature : schema.features) {
    if (feature.is_binned()) continue;
    if (!feature.is_number() || feature.name.find('`') != std::string::npos || coin()) continue;
    schema.constraints.push_back(parse_rule("2.5 * `" + feature.name + "` - 3 <= 1e3"));
  }
  return schema;
}

std::vector<double> random_raw_row(const Schema& schema, Random& random) {
  std::vector<double> row;
  for (const Feature& feature : schema.features) {
    if (feature.kind == FeatureKind::numeric || feature.is_binned()) {
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
