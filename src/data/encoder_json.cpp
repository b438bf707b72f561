// The encoder's part of a model file, and rows as JSON.

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/feature_facts.hpp"
#include "data/row_json.hpp"
#include "data/value_json.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/encoder.hpp"

namespace ellice {

namespace {

/// The value of one feature in a JSON object of features.
Value value_from_json(const Feature& feature, JsonObject& object) {
  if (feature.is_number()) {
    const double value = object.number(feature.name);
    if (!std::isfinite(value)) object.wrong(feature.name, "a finite number");
    if (!feature.may_be(value)) object.wrong(feature.name, feature.expected_in_place_of(value));
    return value;
  }
  std::string level = object.string(feature.name);
  if (!feature.level_index(level)) {
    object.wrong(feature.name, "a level; " + suggestion(level, feature.levels));
  }
  return level;
}

}  // namespace

Json Encoder::to_json() const {
  Json result = Json::object();
  result["columns"] = names_;
  result["mean"] = to_json_array(mean_);
  result["scale"] = to_json_array(scale_);
  result["min"] = to_json_array(min_);
  result["max"] = to_json_array(max_);
  for (const auto& [feature, known] : binned_) {
    result["binned"][schema_.features[feature].name] = {
        {"mean", known.mean}, {"scale", known.scale}, {"min", known.min}, {"max", known.max}};
  }
  for (const auto& [name, value] : fill_) result["fill"][name] = value_to_json(value);
  return result;
}

Encoder Encoder::from_json(const Json& value, const Schema& schema, const std::string& source) {
  Encoder result;
  result.schema_ = schema;
  result.lay_out();
  JsonObject object(value, source, "encoder");
  const std::vector<std::string> names = object.strings("columns");
  const std::size_t common = std::min(names.size(), result.names_.size());
  for (std::size_t i = 0; i < common; ++i) {
    require_input(names[i] == result.names_[i],
                  "{}: encoder.columns[{}]: found \"{}\", expected \"{}\" "
                  "by the schema",
                  source, i, names[i], result.names_[i]);
  }
  require_input(names.size() == result.names_.size(),
                "{}: encoder.columns: found {} columns, expected {} by the schema", source,
                names.size(), result.names_.size());
  const auto columns = static_cast<Index>(names.size());
  const auto read = [&](const char* key, Vector& target) {
    target = object.vector(key, columns);
    if (!target.allFinite()) object.wrong(key, "finite numbers");
  };
  read("mean", result.mean_);
  read("scale", result.scale_);
  read("min", result.min_);
  read("max", result.max_);
  for (Index i = 0; i < columns; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i)];
    require_input(result.scale_[i] > 0, "{}: encoder.scale[{}]: found {}, expected > 0", source, i,
                  result.scale_[i]);
    require_input(result.min_[i] <= result.max_[i],
                  "{}: encoder.min[{}]: found {}, expected at most max, which is {}", source, i,
                  result.min_[i], result.max_[i]);
    const bool standardised = is_standardised(schema.features[result.feature_of(i)]);
    require_input(
        standardised || (result.mean_[i] == 0 && result.scale_[i] == 1),
        "{}: encoder: column \"{}\": found mean {} and scale {}, expected 0 and 1, as it is {}",
        source, name, result.mean_[i], result.scale_[i],
        schema.features[result.feature_of(i)].is_binned() ? "binned" : "0/1");
  }
  result.read_binned(object);
  if (object.has("fill")) {
    JsonObject fill = object.object("fill");
    for (const Feature& feature : schema.features) {
      if (fill.has(feature.name))
        result.fill_.emplace(feature.name, value_from_json(feature, fill));
    }
    fill.finish();
  }
  object.finish();
  return result;
}

void Encoder::read_binned(JsonObject& object) {
  const auto is_binned = [](const Feature& feature) { return feature.is_binned(); };
  if (std::none_of(schema_.features.begin(), schema_.features.end(), is_binned)) return;
  JsonObject all = object.object("binned");
  for (std::size_t j = 0; j < schema_.features.size(); ++j) {
    if (!schema_.features[j].is_binned()) continue;
    JsonObject one = all.object(schema_.features[j].name);
    ColumnStatistics known{.mean = one.number("mean"),
                           .scale = one.number("scale"),
                           .min = one.number("min"),
                           .max = one.number("max")};
    if (!std::isfinite(known.mean)) one.wrong("mean", "a finite number");
    if (!(known.scale > 0) || !std::isfinite(known.scale))
      one.wrong("scale", "a finite number > 0");
    if (!std::isfinite(known.max)) one.wrong("max", "a finite number");
    if (!(known.min <= known.max) || !std::isfinite(known.min)) one.wrong("min", "at most max");
    one.finish();
    binned_[j] = known;
  }
  all.finish();
}

void write_row(JsonOutput& out, const Schema& schema, const RawRow& row) {
  require(row.size() == schema.features.size(),
          "a row has {} values, must have one for each of {} features", row.size(),
          schema.features.size());
  out.begin_object();
  for (std::size_t j = 0; j < row.size(); ++j) {
    out.key(schema.features[j].name);
    write_value(out, row[j]);
  }
  out.end_object();
}

Json row_to_json(const Schema& schema, const RawRow& row) {
  JsonTree tree;
  write_row(tree, schema, row);
  return tree.take();
}

namespace {

/// The row where it is written as rows are: every feature in its place, with a value that may be.
std::optional<RawRow> usual_row(const Schema& schema, const Json& value) {
  if (!value.is_object() || value.size() != schema.features.size()) return std::nullopt;
  RawRow row;
  row.reserve(schema.features.size());
  for (const auto& [name, entry] : value.get_ref<const Json::object_t&>()) {
    const Feature& feature = schema.features[row.size()];
    if (name != feature.name) return std::nullopt;
    if (!feature.is_number()) {
      if (!entry.is_string()) return std::nullopt;
      const auto& level = entry.get_ref<const std::string&>();
      if (!feature.level_index(level)) return std::nullopt;
      row.emplace_back(level);
      continue;
    }
    if (!entry.is_number()) return std::nullopt;
    const auto number = entry.get<double>();
    if (!std::isfinite(number) || !feature.may_be(number)) return std::nullopt;
    row.emplace_back(number);
  }
  return row;
}

}  // namespace

RawRow row_from_json(const Schema& schema, const Json& value, const std::string& source,
                     const std::string& path) {
  if (std::optional<RawRow> row = usual_row(schema, value)) return *std::move(row);
  JsonObject object(value, source, path);
  RawRow row;
  row.reserve(schema.features.size());
  for (const Feature& feature : schema.features) row.push_back(value_from_json(feature, object));
  object.finish();
  return row;
}

}  // namespace ellice
