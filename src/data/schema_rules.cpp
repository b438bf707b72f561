#include "data/schema_rules.hpp"

#include <set>

#include "data/feature_facts.hpp"

namespace ellice {

namespace {

/// Of a bin there is one nearest number; with a linear rule any of its numbers could be the one.
void refuse_binned(const YamlEntry& item, const std::string& text, const Feature& feature) {
  if (!feature.is_binned()) return;
  item.fault(
      "rule \"{}\": found feature \"{}\" of kind binned, which no linear rule may name: a plan "
      "has the nearest number of a bin, and the rule may need another one of the same bin; use "
      "min, max, direction, allowed, or a rule with \"if\"",
      text, feature.name);
}

/// A move that the feature can make; sets what «rises» and «falls» mean by themselves.
void check_move(const YamlEntry& item, const std::string& text, const Move& move, bool condition,
                const Schema& schema) {
  const std::optional<std::size_t> found = schema.find(move.feature);
  if (!found) {
    item.fault("rule \"{}\": no feature \"{}\"; {}", text, move.feature,
               suggestion(move.feature, feature_names(schema)));
  }
  const Feature& feature = schema.features[*found];
  const bool ordered = has_order(feature);
  switch (move.kind) {
    case Move::Kind::rises:
    case Move::Kind::falls:
      if (!ordered) {
        item.fault(
            "rule \"{}\": found feature \"{}\" of kind {}, which cannot rise or fall; say "
            "\"changes\" or \"becomes LEVEL\"",
            text, feature.name, enum_name(feature.kind));
      }
      // Any number above the query's would do, and so there would be no nearest answer.
      if (!condition && move.by == 0 && feature.kind == FeatureKind::numeric && !feature.step &&
          feature.allowed.empty()) {
        item.fault("rule \"{}\": say by how much \"{}\" {}, as in \"{} {} by at least 1\"", text,
                   feature.name, enum_name(move.kind), feature.name, enum_name(move.kind));
      }
      return;
    case Move::Kind::becomes:
      if (feature.is_number()) {
        item.fault("rule \"{}\": found feature \"{}\" of kind {}, which has no levels to become",
                   text, feature.name, enum_name(feature.kind));
      }
      if (!feature.level_index(move.level)) {
        item.fault("rule \"{}\": feature \"{}\" has no level \"{}\"; {}", text, feature.name,
                   move.level, suggestion(move.level, feature.levels));
      }
      return;
    case Move::Kind::changes:
    case Move::Kind::stays:
      return;
  }
}

void read_implication(const YamlEntry& item, const std::string& text, Schema& schema) {
  Implication implication;
  try {
    implication = parse_implication(text);
  } catch (const Error& error) {
    item.fault("{}", error.what());
  }
  check_move(item, text, implication.condition, true, schema);
  check_move(item, text, implication.consequence, false, schema);
  schema.implications.push_back(std::move(implication));
  if (schema.implications.size() > most_implications) {
    item.fault(
        "rule \"{}\": more than {} rules with \"if\", each of which doubles the cases that "
        "a search looks at; write linear rules or ranges instead",
        text, most_implications);
  }
}

}  // namespace

void read_constraints(const YamlEntry* entry, Schema& schema) {
  if (entry == nullptr) return;
  std::vector<std::string> numbers;
  for (const Feature& feature : schema.features) {
    if (feature.is_number()) numbers.push_back(feature.name);
  }
  std::set<std::string> seen;  // proofs and answers name them by their texts
  for (const YamlEntry& item : entry->list("a list of rules such as \"debt <= 0.4 * income\"")) {
    const std::string text = item.text("a rule such as \"debt <= 0.4 * income\"");
    if (!seen.insert(text).second) item.fault("rule \"{}\" stands twice, expected each once", text);
    if (is_implication(text)) {
      read_implication(item, text, schema);
      continue;
    }
    Rule rule;
    try {
      rule = parse_rule(text);
    } catch (const Error& error) {
      item.fault("{}", error.what());
    }
    for (const auto& [name, coefficient] : rule.terms) {
      const std::optional<std::size_t> feature = schema.find(name);
      if (!feature) {
        item.fault("rule \"{}\": no feature \"{}\"; {}", text, name, suggestion(name, numbers));
      }
      refuse_binned(item, text, schema.features[*feature]);
      if (!schema.features[*feature].is_number()) {
        item.fault("rule \"{}\": found feature \"{}\" of kind {}, expected numeric or integer",
                   text, name, enum_name(schema.features[*feature].kind));
      }
    }
    schema.constraints.push_back(std::move(rule));
  }
}

}  // namespace ellice
