// One description of what is written, to_json; to_yaml is the same document in another spelling.

#include "data/schema_writer.hpp"

#include <algorithm>
#include <cctype>

#include "data/schema_bins.hpp"
#include "data/schema_format.hpp"
#include "data/value_json.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

namespace {

bool has_usual_levels(const Feature& feature) {
  return feature.kind == FeatureKind::binary &&
         feature.levels == std::vector<std::string>{"0", "1"};
}

Json feature_to_json(const Feature& feature) {
  const Feature defaults = {};
  Json result = Json::object();
  result["kind"] = enum_name(feature.kind);
  const bool lists_levels =
      !feature.levels.empty() && feature.one_hot.empty() && !has_usual_levels(feature);
  if (lists_levels || !feature.level_texts.empty()) result["levels"] = levels_to_json(feature);
  if (feature.is_binned()) bins_to_json(feature.bins, result);
  if (feature.min) result["min"] = *feature.min;
  if (feature.max) result["max"] = *feature.max;
  if (feature.step) result["step"] = *feature.step;
  for (const Value& value : feature.allowed) result["allowed"].push_back(value_to_json(value));
  if (feature.direction != defaults.direction) result["direction"] = enum_name(feature.direction);
  if (feature.immutable && !feature.is_protected) result["immutable"] = true;
  if (feature.is_protected) result["protected"] = true;
  if (feature.slow) result["slow"] = to_text(*feature.slow);
  if (feature.weight != defaults.weight) result["weight"] = feature.weight;
  if (!feature.unit.empty()) result["unit"] = feature.unit;
  if (!feature.label.empty()) result["label"] = feature.label;
  if (!feature.description.empty()) result["description"] = feature.description;
  return result;
}

/// Text that every YAML reader takes for a string as it stands. Words that some take for a truth
/// value or for nothing are quoted, though our own reader would not need it.
bool is_plain(const std::string& text) {
  const auto is_letter = [](unsigned char c) {
    return c < 0x80 && (std::isalpha(c) != 0 || c == '_');
  };
  const auto is_inner = [&](unsigned char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == ' ' || c == '.' || c == '/' || c == '-';
  };
  if (text.empty() || !is_letter(static_cast<unsigned char>(text.front())) || text.back() == ' ') {
    return false;
  }
  if (!std::all_of(text.begin(), text.end(), is_inner)) return false;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word :
       {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    if (lower == word) return false;
  }
  return true;
}

std::string yaml_text(const std::string& text) {
  return is_plain(text) ? text : canonical_text(Json(text));  // a JSON string is a YAML string
}

std::string flow(const Json& value) {
  std::string result;
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      result += fmt::format("{}{}: {}", result.empty() ? "" : ", ", yaml_text(key), flow(member));
    }
    return "{" + result + "}";
  }
  if (value.is_array()) {
    for (const Json& item : value) {
      if (!result.empty()) result += ", ";
      result += flow(item);
    }
    return "[" + result + "]";
  }
  return value.is_string() ? yaml_text(value.get<std::string>()) : canonical_text(value);
}

std::string comment_on(const std::string& column, const YamlComments& comments) {
  const auto found = comments.find(column);
  return found == comments.end() ? "" : "  # " + found->second;
}

/// One line per member, values aligned.
std::string block(const Json& object, const YamlComments& comments) {
  std::size_t widest = 0;
  for (const auto& [key, member] : object.items()) widest = std::max(widest, yaml_text(key).size());
  std::string result;
  for (const auto& [key, member] : object.items()) {
    result += fmt::format("  {:<{}} {}{}\n", yaml_text(key) + ":", widest + 1, flow(member),
                          comment_on(key, comments));
  }
  return result;
}

/// One line per item.
std::string lines(const Json& list, const YamlComments& comments) {
  std::string result;
  for (const Json& item : list) {
    result += fmt::format("  - {}{}\n", flow(item), comment_on(item.get<std::string>(), comments));
  }
  return result;
}

}  // namespace

Json to_json(const Schema& schema) {
  Json result = Json::object();
  result["target"] = {{"column", schema.target.column}, {"favourable", schema.target.favourable}};
  if (!schema.target.classes.empty()) result["target"]["classes"] = schema.target.classes;
  if (!schema.drop.empty()) result["drop"] = schema.drop;
  Json features = Json::object();
  Json one_hot = Json::object();
  // Names differ, so that nobody needs to look for each among those before it.
  auto& members = features.get_ref<Json::object_t&>();
  for (const Feature& feature : schema.features) {
    // A group has an entry here as well, which keeps its place among the features.
    members.push_back({feature.name, feature_to_json(feature)});
    if (!feature.one_hot.empty()) one_hot[feature.name] = feature.one_hot;
  }
  result["features"] = std::move(features);
  if (!one_hot.empty()) result["one_hot"] = std::move(one_hot);
  for (const Rule& rule : schema.constraints) result["constraints"].push_back(rule.text);
  for (const Implication& implication : schema.implications)
    result["constraints"].push_back(implication.text);
  if (schema.missing != MissingPolicy::error) result["missing"] = enum_name(schema.missing);
  if (!schema.missing_values.empty()) result["missing_values"] = schema.missing_values;
  if (schema.merge_levels) result["merge_levels"] = true;
  if (!schema.format.is_plain()) result["format"] = format_to_json(schema.format);
  return result;
}

std::string to_yaml(const Schema& schema) {
  return to_yaml(schema, {});
}

std::string to_yaml(const Schema& schema, const YamlComments& comments) {
  std::string result;
  const Json document = to_json(schema);
  for (const auto& [key, member] : document.items()) {
    if (key == "features") {
      result += fmt::format("{}:\n{}", key, block(member, comments));
    } else if (key == "one_hot") {
      result += fmt::format("{}:\n{}", key, block(member, {}));
    } else if (key == "drop" && !comments.empty()) {
      result += fmt::format("{}:\n{}", key, lines(member, comments));
    } else {
      result += fmt::format("{}: {}\n", key, flow(member));
    }
  }
  return result;
}

}  // namespace ellice
