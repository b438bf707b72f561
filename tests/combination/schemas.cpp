#include "combination/schemas.hpp"

#include <cmath>
#include <limits>

#include "combination/draw.hpp"
#include "core/number_text.hpp"
#include "ellice/core/error.hpp"

namespace ellice::combination {

namespace {

/// Digits that people write.
double plain(double value) {
  if (value == 0) return 0;
  const double power = std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
  return std::round(value / power) * power;
}

Spread draw_spread(FeatureKind kind, Random& random) {
  Spread spread;
  if (kind == FeatureKind::integer) {
    spread.width = static_cast<double>(2 + random.below(5));
    spread.center = static_cast<double>(random.below(50));
    if (once_in(random, 8)) spread.center *= 1e6;
  } else {
    spread.width = one_of<double>(random, {1, 1, 1, 1, 0.01, 1e3, 1e6, 1e9, 1e-6});
    spread.center = once_in(random, 2) ? 0 : plain(spread.width * 3 * random.normal());
    if (once_in(random, 12)) spread.center = 1e3 * spread.width;
  }
  spread.is_constant = once_in(random, 25);
  return spread;
}

void draw_number_limits(Feature& feature, const Spread& spread, Random& random) {
  const bool is_whole = feature.kind == FeatureKind::integer;
  const auto near = [&](double widths) {
    const double value = spread.center + widths * spread.width;
    return is_whole ? std::round(value) : plain(value);
  };
  if (once_in(random, 3)) feature.min = near(-0.5 - 2 * random.uniform());
  if (once_in(random, 3)) feature.max = near(0.5 + 2 * random.uniform());
  if (once_in(random, 4)) {
    feature.step = is_whole ? static_cast<double>(1 + random.below(3))
                            : plain(spread.width * one_of<double>(random, {0.05, 0.1, 0.3, 1}));
  }
  if (!once_in(random, 8)) return;
  feature.step.reset();
  std::vector<double> values;
  for (double widths = -2; widths <= 2; widths += 1) values.push_back(near(widths));
  for (const double value : values) {
    const bool inside =
        (!feature.min || value >= *feature.min) && (!feature.max || value <= *feature.max);
    const bool is_new = feature.allowed.empty() || std::get<double>(feature.allowed.back()) < value;
    if (inside && is_new) feature.allowed.emplace_back(value);
  }
}

void draw_levels(Feature& feature, Random& random) {
  static const std::vector<std::string> names = {"low", "b c", "Ähre", "yes", "1,5", "007"};
  const std::size_t count = feature.kind == FeatureKind::binary ? 2 : 2 + random.below(4);
  for (std::size_t k = 0; k < count; ++k) feature.levels.push_back(names[k]);
  if (feature.kind == FeatureKind::categorical && once_in(random, 5)) {
    for (std::string& level : feature.levels) level = feature.name + ":" + level;
    feature.one_hot = feature.levels;
  }
  if (count > 2 && once_in(random, 4)) {
    for (std::size_t k = 0; k + 1 < count; ++k) feature.allowed.emplace_back(feature.levels[k]);
  }
}

Feature draw_feature(std::size_t j, Spread& spread, Random& random) {
  static const std::vector<std::string> names = {"income", "f 1", "größe", "x=y", "status_"};
  Feature feature{.name = names[j]};
  constexpr std::uint64_t unbinned = EnumNames<FeatureKind>::names.size() - 1;  // see draw_bins
  feature.kind = static_cast<FeatureKind>(random.below(unbinned));
  if (once_in(random, 4)) feature.kind = FeatureKind::numeric;
  if (feature.is_number()) {
    spread = draw_spread(feature.kind, random);
    draw_number_limits(feature, spread, random);
  } else {
    draw_levels(feature, random);
  }
  if (feature.kind != FeatureKind::categorical && once_in(random, 4))
    feature.direction = once_in(random, 2) ? Direction::increase : Direction::decrease;
  feature.immutable = once_in(random, 8);
  if (once_in(random, 4)) feature.weight = plain(std::exp(2 * random.normal()));
  return feature;
}

/// «- 0.5 * `b`», or «2 * `a`» at the beginning of a rule.
std::string term_text(double coefficient, const std::string& name, bool is_first) {
  const std::string sign = coefficient < 0 ? "- " : is_first ? "" : "+ ";
  return fmt::format("{}{} * `{}` ", sign, number_text(std::abs(coefficient)), name);
}

/// «2 * `a` - 0.5 * `b` <= 3» over one or two number features.
void draw_rule(Population& population, Random& random) {
  std::vector<std::size_t> numbers;
  for (std::size_t j = 0; j < population.schema.features.size(); ++j) {
    if (population.schema.features[j].is_number()) numbers.push_back(j);
  }
  if (numbers.empty()) return;
  random.shuffle(numbers);
  numbers.resize(std::min<std::size_t>(numbers.size(), 1 + random.below(2)));
  std::string text;
  double at_center = 0;
  for (const std::size_t j : numbers) {
    const Spread& spread = population.spreads[j];
    const double coefficient = plain((once_in(random, 2) ? 1 : -1) / spread.width);
    text += term_text(coefficient, population.schema.features[j].name, text.empty());
    at_center += coefficient * spread.center;
  }
  const std::string relation = one_of<std::string>(random, {"<=", "<=", ">=", ">=", "=="});
  const double bound = plain(at_center + (relation == "==" ? 0.1 : 2) * random.normal());
  text += fmt::format("{} {}{}", relation, bound < 0 ? "- " : "", number_text(std::abs(bound)));
  population.schema.constraints.push_back(parse_rule(text));
}

std::string draw_move(const Feature& feature, const Spread& spread, bool condition,
                      Random& random) {
  const std::string name = fmt::format("`{}`", feature.name);
  const bool has_order = feature.kind != FeatureKind::categorical;
  if (!feature.is_number() && (!has_order || once_in(random, 2)))
    return fmt::format("{} becomes \"{}\"", name, one_of(random, feature.levels));
  if (once_in(random, 3)) return name + (condition ? " changes" : " stays");
  std::string text = name + (once_in(random, 2) ? " rises" : " falls");
  if (!condition && (feature.kind == FeatureKind::numeric || once_in(random, 2))) {
    const double by = feature.is_number() && feature.kind == FeatureKind::numeric
                          ? plain(spread.width * (0.1 + random.uniform()))
                          : static_cast<double>(1 + random.below(2));
    text += fmt::format(" by at least {}", number_text(by));
  }
  return text;
}

void draw_implication(Population& population, Random& random) {
  const std::vector<Feature>& features = population.schema.features;
  const std::size_t a = random.below(features.size());
  const std::size_t b = random.below(features.size());
  if (a == b) return;
  population.schema.implications.push_back(parse_implication(
      fmt::format("if {} then {}", draw_move(features[a], population.spreads[a], true, random),
                  draw_move(features[b], population.spreads[b], false, random))));
}

/// Whether the reader takes the schema as people would write it.
bool is_readable(const Schema& schema) {
  try {
    return parse_schema(to_yaml(schema), "drawn") == schema;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Population draw_population(Random& random) {
  Population population;
  Schema& schema = population.schema;
  schema.target = {.column = "outcome", .favourable = "granted"};
  if (once_in(random, 4)) schema.target.classes = {"refused", "granted", "later"};
  schema.missing = static_cast<MissingPolicy>(random.below(EnumNames<MissingPolicy>::names.size()));
  const std::size_t count = 2 + random.below(4);
  for (std::size_t j = 0; j < count; ++j) {
    Spread spread;
    schema.features.push_back(draw_feature(j, spread, random));
    while (!is_readable(schema)) schema.features.back() = draw_feature(j, spread, random);
    population.spreads.push_back(spread);
  }
  const Population without = population;
  if (once_in(random, 3)) draw_rule(population, random);
  if (once_in(random, 6)) draw_rule(population, random);
  for (std::uint64_t k = random.below(once_in(random, 2) ? 3 : 1); k > 0; --k)
    draw_implication(population, random);
  return is_readable(schema) ? population : without;
}

void draw_paces(Population& population, Random& random) {
  const Schema without = population.schema;
  for (std::size_t j = 0; j < population.schema.features.size(); ++j) {
    Feature& feature = population.schema.features[j];
    const bool has_order = feature.is_number() || feature.kind == FeatureKind::ordinal;
    if (!has_order || once_in(random, 2)) continue;
    const double amount =
        feature.kind == FeatureKind::numeric
            ? plain(population.spreads[j].width * one_of<double>(random, {0.01, 0.1, 1}))
            : static_cast<double>(1 + random.below(3));
    feature.slow =
        Pace{.amount = amount,
             .per = static_cast<Pace::Period>(random.below(EnumNames<Pace::Period>::names.size()))};
  }
  if (!is_readable(population.schema)) population.schema = without;
}

void draw_bins(Population& population, Random& random) {
  const Schema without = population.schema;
  for (std::size_t j = 0; j < population.schema.features.size(); ++j) {
    Feature& feature = population.schema.features[j];
    const Spread& spread = population.spreads[j];
    if (!feature.is_number() || once_in(random, 3)) continue;
    const bool is_whole = feature.kind == FeatureKind::integer;
    std::vector<double>& edges = feature.bins.edges;
    for (const double widths : {-1.0, -0.3, 0.4, 1.2}) {
      const double value = spread.center + widths * spread.width;
      const double edge = is_whole ? std::round(value) : plain(value);
      if (!once_in(random, 3) && (edges.empty() || edge > edges.back())) edges.push_back(edge);
    }
    if (once_in(random, 3)) feature.bins.closed = Bins::Closed::left;
    if (edges.empty() || once_in(random, 3))
      feature.bins.special.push_back({.number = plain(spread.center), .text = "not known"});
    if (once_in(random, 4)) {
      for (std::size_t k = 0; k < feature.bins.count(); ++k)
        feature.bins.values.push_back(plain(random.normal()));
    }
    feature.kind = FeatureKind::binned;
    if (!feature.step) feature.step = is_whole ? 1 : plain(0.1 * spread.width);
    std::erase_if(feature.allowed, [&](const Value& value) {
      return feature.bins.code(std::get<double>(value)) != nullptr;
    });
    if (!is_readable(population.schema)) feature = without.features[j];
  }
}

}  // namespace ellice::combination
