// The one reader of schemas. JSON is YAML, so a schema inside a model file takes the same way and
// meets the same checks.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/number_text.hpp"
#include "data/schema_bins.hpp"
#include "data/schema_format.hpp"
#include "data/schema_rules.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

namespace {

// Beyond these a cost of ordinary moves overflows, or a feature might as well be free or locked.
constexpr double least_weight = 1e-12;
constexpr double greatest_weight = 1e12;

/// Texts of which none may stand twice.
std::vector<std::string> distinct_texts(const YamlEntry& entry, std::string_view expected,
                                        bool may_be_empty = false) {
  std::vector<std::string> result;
  std::set<std::string> seen;
  for (const YamlEntry& item : entry.list(expected)) {
    std::string text = may_be_empty ? item.text() : item.filled_text("a text that is not empty");
    if (!seen.insert(text).second) item.fault("\"{}\" stands twice, expected each once", text);
    result.push_back(std::move(text));
  }
  return result;
}

double number_of_kind(const YamlEntry& entry, const Feature& feature) {
  const double value = entry.number();
  if (feature.is_whole() && value != std::nearbyint(value)) {
    entry.wrong("a whole number, as the feature is an integer");
  }
  return value;
}

/// Texts for some columns of a one-hot group: its levels are given.
void read_group_texts(const YamlEntry* entry, Feature& feature) {
  feature.levels = feature.one_hot;
  if (entry == nullptr) return;
  for (const ReadLevel& read : read_level_entries(*entry, "{COLUMN: text for people}")) {
    if (read.text.empty()) {
      entry->fault(
          "the levels of a one_hot group are its columns; leave this key out, or write {{COLUMN: "
          "text for people}}");
    }
    if (!feature.level_index(read.level)) {
      read.entry.fault("\"{}\" is no column of the group; {}", read.level,
                       suggestion(read.level, feature.one_hot));
    }
    feature.level_texts.emplace(read.level, read.text);
  }
}

/// The level that is the same but for case and blanks, or the level itself.
std::string merged_level(std::string level, const Feature& feature, bool merge) {
  if (!merge || feature.level_index(level)) return level;
  for (const std::string& known : feature.levels) {
    if (folded_level(known) == folded_level(level)) return known;
  }
  return level;
}

void add_levels(const YamlEntry& entry, std::string_view expected, bool merge, Feature& feature) {
  std::set<std::string> seen;
  std::map<std::string, std::string> spelling;  // of each level, by what tells it from the others
  std::map<std::string, std::string> owner;     // of each text
  for (const ReadLevel& read : read_level_entries(entry, expected)) {
    if (!seen.insert(read.level).second) {
      read.entry.fault("\"{}\" stands twice, expected each once", read.level);
    }
    const auto [known, is_new] =
        spelling.emplace(merge ? folded_level(read.level) : read.level, read.level);
    const std::string& level = known->second;
    if (is_new) feature.levels.push_back(level);
    if (read.text.empty()) continue;
    const std::string& other = owner.emplace(read.text, level).first->second;
    if (other != level) {
      read.entry.fault("level \"{}\" has the text \"{}\" as well, expected another", other,
                       read.text);
    }
    feature.level_texts.emplace(level, read.text);
  }
}

void read_levels(const YamlRecord& record, bool merge, Feature& feature) {
  const YamlEntry* const entry = record.find("levels");
  const std::string_view kind = enum_name(feature.kind);
  if (!feature.one_hot.empty()) {
    read_group_texts(entry, feature);
  } else if (feature.is_number()) {
    if (entry != nullptr)
      entry->fault("a feature of kind {} has no levels; leave this key out", kind);
  } else if (entry == nullptr && feature.kind == FeatureKind::binary) {
    feature.levels = {"0", "1"};
  } else {
    const std::string expected = fmt::format("the list of levels of a feature of kind {}", kind);
    const YamlEntry& levels = record.at("levels", expected);
    add_levels(levels, expected, merge, feature);
    if (feature.levels.empty()) levels.fault("found an empty list, expected {}", expected);
    if (feature.kind == FeatureKind::binary && feature.levels.size() != 2) {
      levels.fault("found {} levels, expected two, the second being 1", feature.levels.size());
    }
  }
}

void read_range(const YamlRecord& record, Feature& feature) {
  const auto read = [&](const char* key, std::optional<double>& value) {
    const YamlEntry* const entry = record.find(key);
    if (entry == nullptr) return;
    if (!feature.is_number()) {
      entry->fault("a feature of kind {} has no {}; use allowed", enum_name(feature.kind), key);
    }
    value = number_of_kind(*entry, feature);
  };
  read("min", feature.min);
  read("max", feature.max);
  read("step", feature.step);
  if (feature.min && feature.max && *feature.min > *feature.max) {
    record.find("max")->wrong(fmt::format("at least min, which is {}", number_text(*feature.min)));
  }
  if (feature.step && *feature.step <= 0) record.find("step")->wrong("a number > 0");
}

Value read_allowed_value(const YamlEntry& entry, bool merge, const Feature& feature) {
  if (feature.is_number()) {
    const double value = number_of_kind(entry, feature);
    if ((feature.min && value < *feature.min) || (feature.max && value > *feature.max)) {
      entry.wrong(fmt::format("a number from min to max ({} to {})",
                              feature.min ? number_text(*feature.min) : "no bound",
                              feature.max ? number_text(*feature.max) : "no bound"));
    }
    return value;
  }
  std::string level = merged_level(entry.text(), feature, merge);
  if (!feature.level_index(level)) {
    entry.wrong("one of the levels; " + suggestion(level, feature.levels));
  }
  return level;
}

void read_allowed(const YamlRecord& record, bool merge, Feature& feature) {
  const YamlEntry* const entry = record.find("allowed");
  if (entry == nullptr) return;
  for (const YamlEntry& item : entry->list("a list of allowed values")) {
    Value value = read_allowed_value(item, merge, feature);
    if (std::find(feature.allowed.begin(), feature.allowed.end(), value) != feature.allowed.end()) {
      if (merge) continue;
      item.fault("the same value stands twice, expected each once");
    }
    feature.allowed.push_back(std::move(value));
  }
  if (feature.allowed.empty()) {
    entry->fault(
        "found an empty list, expected at least one value; leave the key out to allow all");
  }
}

FeatureKind read_kind(const YamlRecord& record, const Feature& feature) {
  if (!feature.one_hot.empty()) {
    const YamlEntry* const entry = record.find("kind");
    if (entry != nullptr && entry->choice<FeatureKind>() != FeatureKind::categorical) {
      entry->wrong("categorical, the kind of every one_hot group");
    }
    return FeatureKind::categorical;
  }
  return record.at("kind", "one of " + join_names(EnumNames<FeatureKind>::names))
      .choice<FeatureKind>();
}

/// Whether and how fast the feature may change.
void read_freedom(const YamlRecord& record, Feature& feature) {
  const YamlEntry* const immutable = record.find("immutable");
  if (immutable != nullptr) feature.immutable = immutable->boolean();
  if (const YamlEntry* const entry = record.find("protected")) {
    feature.is_protected = entry->boolean();
    if (feature.is_protected && immutable != nullptr && !feature.immutable) {
      immutable->fault("a protected feature never changes; leave this key out");
    }
    feature.immutable = feature.immutable || feature.is_protected;
  }
  if (const YamlEntry* const slow = record.find("slow")) feature.slow = read_pace(*slow, feature);
}

/// `one_hot` holds the group's columns, if the feature is a group.
Feature read_feature(const std::string& name, const YamlEntry& entry,
                     std::vector<std::string> one_hot, bool merge) {
  static const std::vector<std::string> keys = {
      "kind",      "levels", "min",    "max",    "step",  "allowed",     "direction", "immutable",
      "protected", "slow",   "weight", "unit",   "label", "description", "edges",     "closed",
      "special",   "values", "whole",  "lowest", "above", "highest",     "below"};
  const YamlRecord record(entry, keys, "a map such as {kind: numeric}");
  Feature feature;
  feature.name = name;
  feature.one_hot = std::move(one_hot);
  feature.kind = read_kind(record, feature);
  if (const YamlEntry* const whole = record.find("whole")) {  // of ranges and grids as well
    feature.bins.are_whole = whole->boolean();
  }
  read_levels(record, merge, feature);
  read_range(record, feature);
  read_allowed(record, merge, feature);
  read_bins(record, feature);
  if (const YamlEntry* const direction = record.find("direction")) {
    feature.direction = direction->choice<Direction>();
    if (feature.kind == FeatureKind::categorical && feature.direction != Direction::any) {
      direction->wrong(
          "no direction: the levels of a categorical feature have no order; use allowed");
    }
  }
  read_freedom(record, feature);
  if (const YamlEntry* const weight = record.find("weight")) {
    feature.weight = weight->number("a finite number > 0");
    if (feature.weight < least_weight || feature.weight > greatest_weight) {
      weight->wrong(fmt::format("a number > 0, from {} to {}; to lock a feature use immutable",
                                number_text(least_weight), number_text(greatest_weight)));
    }
  }
  if (const YamlEntry* const unit = record.find("unit")) feature.unit = unit->text();
  if (const YamlEntry* const label = record.find("label")) {
    feature.label = label->filled_text("what people read in place of the name");
  }
  if (const YamlEntry* const description = record.find("description")) {
    feature.description = description->filled_text("a sentence for people");
  }
  return feature;
}

void read_classes(const YamlEntry* entry, Target& target) {
  if (entry == nullptr) return;
  target.classes = distinct_texts(*entry, "the list of the target's classes");
  if (target.classes.size() < 2 || target.classes.size() > most_classes) {
    entry->fault("found {} classes, expected 2 to {}", target.classes.size(), most_classes);
  }
  const std::vector<std::string>& classes = target.classes;
  if (std::find(classes.begin(), classes.end(), target.favourable) == classes.end()) {
    entry->fault("the favourable value \"{}\" is not among them; {}", target.favourable,
                 suggestion(target.favourable, classes));
  }
}

using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

Groups read_groups(const YamlEntry* entry) {
  Groups groups;
  if (entry == nullptr) return groups;
  std::set<std::string> seen;
  for (const auto& [name, member] : entry->members("a map from a group to its columns")) {
    std::vector<std::string> columns = distinct_texts(member, "the list of the group's columns");
    if (columns.size() < 2) member.fault("found {} columns, expected at least two", columns.size());
    for (const std::string& column : columns) {
      if (!seen.insert(column).second) member.fault("column \"{}\" stands in two groups", column);
    }
    groups.emplace_back(name, std::move(columns));
  }
  return groups;
}

/// No column of the table may have two meanings.
void check_column(const YamlEntry& entry, const std::string& column, const Schema& schema) {
  if (column == schema.target.column) entry.fault("\"{}\" is also the target's column", column);
  if (std::find(schema.drop.begin(), schema.drop.end(), column) != schema.drop.end()) {
    entry.fault("\"{}\" also stands in drop; remove one of the two", column);
  }
}

void read_features(const YamlRecord& top, Schema& schema) {
  const YamlEntry* const group_entry = top.find("one_hot");
  Groups groups = read_groups(group_entry);
  const auto take_group = [&](const std::string& name) -> std::vector<std::string> {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == name; });
    if (found == groups.end()) return {};
    std::vector<std::string> columns = std::move(found->second);
    groups.erase(found);
    return columns;
  };
  const YamlEntry* const entry =
      group_entry == nullptr ? &top.at("features", "at least one feature") : top.find("features");
  std::map<std::string, std::string> labelled;  // features, by what people read
  if (entry != nullptr) {
    for (const auto& [name, member] : entry->members("a map from a feature to its description")) {
      check_column(member, name, schema);
      schema.features.push_back(read_feature(name, member, take_group(name), schema.merge_levels));
      const Feature& feature = schema.features.back();
      if (feature.label.empty()) continue;
      const auto [other, is_new] = labelled.emplace(feature.label, name);
      if (!is_new) {
        member.fault("feature \"{}\" has the label \"{}\" as well, expected another", other->second,
                     feature.label);
      }
    }
  }
  for (auto& [name, columns] : groups) {
    schema.features.push_back(
        {.name = name, .kind = FeatureKind::categorical, .levels = columns, .one_hot = columns});
  }
  if (schema.features.empty()) {
    (entry != nullptr ? entry : group_entry)->fault("found no features, expected at least one");
  }
  for (const Feature& feature : schema.features) {
    for (const std::string& column : feature.one_hot) {
      if (schema.find(column)) {
        group_entry->fault("column \"{}\" of group \"{}\" is also a feature; remove one of the two",
                           column, feature.name);
      }
      check_column(*group_entry, column, schema);
    }
  }
}

/// No two columns of the model may have the same name: "purpose=car" is both a fair name for a
/// feature and what the encoder calls the level "car" of "purpose".
void check_encoded_names(const YamlRecord& top, const Schema& schema) {
  const YamlEntry* const entry =
      top.find("features") != nullptr ? top.find("features") : top.find("one_hot");
  std::map<std::string, const Feature*> owner;
  const auto claim = [&](const std::string& name, const Feature& feature) {
    const auto [other, is_new] = owner.emplace(name, &feature);
    if (is_new) return;
    entry->fault(
        "\"{}\" would be a column of the model for feature \"{}\" and for feature \"{}\"; rename "
        "one of the two",
        name, other->second->name, feature.name);
  };
  for (const Feature& feature : schema.features) {
    if (feature.is_binned() && feature.has_indicators()) {
      for (std::size_t bin = 0; bin < feature.bins.count(); ++bin)
        claim(feature.name + "=" + feature.bins.name(bin), feature);
      continue;
    }
    if (feature.kind != FeatureKind::categorical) {
      claim(feature.name, feature);
      continue;
    }
    for (const std::string& level : feature.levels) claim(feature.name + "=" + level, feature);
    if (schema.missing == MissingPolicy::level && !feature.level_index(missing_level)) {
      claim(fmt::format("{}={}", feature.name, missing_level), feature);
    }
  }
}

Schema read_document(const YamlEntry& document) {
  const YamlRecord top(document,
                       {"target", "drop", "features", "one_hot", "constraints", "missing",
                        "missing_values", "merge_levels", "format"},
                       "a map with the keys target and features");
  Schema schema;
  const std::string target_form = "{column: NAME, favourable: VALUE}";
  const YamlRecord target(top.at("target", target_form), {"column", "favourable", "classes"},
                          target_form);
  schema.target.column =
      target.at("column", "the name of the target's column").filled_text("the name of a column");
  schema.target.favourable = target.at("favourable", "the target's value that people want")
                                 .filled_text("the target's value that people want");
  read_classes(target.find("classes"), schema.target);
  if (const YamlEntry* const drop = top.find("drop")) {
    // A column without a name, as an index is often written, is dropped as "".
    schema.drop = distinct_texts(*drop, "a list of columns to leave out", true);
    const bool has_target = std::find(schema.drop.begin(), schema.drop.end(),
                                      schema.target.column) != schema.drop.end();
    if (has_target) drop->fault("\"{}\" is also the target's column", schema.target.column);
  }
  if (const YamlEntry* const merge = top.find("merge_levels")) {
    schema.merge_levels = merge->boolean();
  }
  read_features(top, schema);
  read_spelling(top, schema);
  read_constraints(top.find("constraints"), schema);
  if (const YamlEntry* const missing = top.find("missing"))
    schema.missing = missing->choice<MissingPolicy>();
  check_encoded_names(top, schema);
  return schema;
}

}  // namespace

Schema parse_schema(std::string_view text, const std::string& source) {
  const YamlDocument document(std::string(text), source);
  return read_document(document.top());
}

Schema read_schema(const std::string& path) {
  return parse_schema(read_file(path), input_name(path));
}

Schema schema_from_json(const Json& value, const std::string& source) {
  // The lines of this text are not those of any file.
  const YamlDocument document(to_text(value), source, YamlDocument::Lines::hide);
  return read_document(document.top());
}

}  // namespace ellice
