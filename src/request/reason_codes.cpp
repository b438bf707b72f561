#include "ellice/request/reason_codes.hpp"

#include "data/feature_facts.hpp"
#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"

namespace ellice {

namespace {

ReasonCode read_code(const YamlRecord& record) {
  ReasonCode result{.code = record.at("code", "a reason code").filled_text("a reason code")};
  if (const YamlEntry* const text = record.find("text"))
    result.text = text->filled_text("what the reason says");
  return result;
}

ReasonCode read_code(const YamlEntry& entry) {
  return read_code(YamlRecord(entry, {"code", "text"}, "a map with code and text"));
}

FeatureCodes read_feature(const YamlEntry& entry, const Feature& feature) {
  const YamlRecord record(entry, {"code", "text", "too_low", "too_high", "levels"},
                          "a map with code and text, too_low, too_high or levels");
  FeatureCodes result;
  if (record.find("code") != nullptr || record.find("text") != nullptr)
    result.any = read_code(record);
  for (const auto& [key, target] :
       {std::pair("too_low", &result.too_low), std::pair("too_high", &result.too_high)}) {
    const YamlEntry* const side = record.find(key);
    if (side == nullptr) continue;
    if (!has_order(feature)) {
      side->fault("{} is {} and has no order; give levels", feature.name, enum_name(feature.kind));
    }
    *target = read_code(*side);
  }
  if (const YamlEntry* const levels = record.find("levels")) {
    if (feature.is_number()) {
      levels->fault("{} is {} and has no levels; give too_low or too_high", feature.name,
                    enum_name(feature.kind));
    }
    for (const auto& [level, code] : levels->members("a map from level to code and text")) {
      if (!feature.level_index(level))
        code.fault("unknown level \"{}\"; {}", level, suggestion(level, feature.levels));
      result.levels[level] = read_code(code);
    }
  }
  if (result == FeatureCodes{}) entry.wrong("code and text, too_low, too_high or levels");
  return result;
}

}  // namespace

const ReasonCode* ReasonCodes::find(const Feature& feature, const Value& value,
                                    double reference) const {
  const auto found = features.find(feature.name);
  if (found == features.end()) return nullptr;
  const FeatureCodes& codes = found->second;
  std::optional<double> place;
  if (const double* const number = std::get_if<double>(&value)) {
    place = *number;
  } else {
    const auto& level = std::get<std::string>(value);
    const auto of_level = codes.levels.find(level);
    if (of_level != codes.levels.end()) return &of_level->second;
    if (has_order(feature)) place = static_cast<double>(feature.level_index(level).value_or(0));
  }
  if (place) {
    const std::optional<ReasonCode>& side = *place < reference ? codes.too_low : codes.too_high;
    if (side) return &*side;
  }
  return codes.any ? &*codes.any : nullptr;
}

ReasonCodes parse_reason_codes(const std::string& text, const std::string& source,
                               const Schema& schema) {
  const YamlDocument document(text, source);
  ReasonCodes result;
  for (const auto& [name, entry] :
       document.top().members("a map from feature to reason code and text")) {
    const std::optional<std::size_t> index = schema.find(name);
    if (!index)
      entry.fault("unknown feature \"{}\"; {}", name, suggestion(name, feature_names(schema)));
    result.features[name] = read_feature(entry, schema.features[*index]);
  }
  return result;
}

ReasonCodes read_reason_codes(const std::string& path, const Schema& schema) {
  return parse_reason_codes(read_file(path), input_name(path), schema);
}

}  // namespace ellice
