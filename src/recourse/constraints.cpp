#include "ellice/recourse/constraints.hpp"

#include <charconv>
#include <cmath>

#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"

namespace ellice {

namespace {

using Limits = std::map<std::string, FeatureLimits>;

void validate_limits(const Limits& limits, const Schema& schema) {
  for (const auto& [name, limit] : limits) {
    const std::optional<std::size_t> index = schema.find(name);
    if (!index) {
      std::vector<std::string> known;
      for (const Feature& feature : schema.features) known.push_back(feature.name);
      fail(ErrorCode::argument, "unknown feature \"{}\" in a constraint; {}", name,
           suggestion(name, known));
    }
    const Feature& feature = schema.features[*index];
    require(
        feature.is_number() || (!limit.min && !limit.max),
        "bounds on {}: it is {} and has no numbers; lock it, or restrict `allowed` in the schema",
        name, enum_name(feature.kind));
    require(feature.kind != FeatureKind::categorical || !limit.direction ||
                *limit.direction == Direction::any,
            "direction of {}: a categorical feature has no order", name);
    require(!limit.min || !limit.max || *limit.min <= *limit.max,
            "bounds on {}: the minimum {} is above the maximum {}", name, limit.min.value_or(0),
            limit.max.value_or(0));
    for (const auto& bound : {limit.min, limit.max}) {
      require(!bound || std::isfinite(*bound), "bounds on {}: {} is not finite", name,
              bound.value_or(0));
    }
  }
}

void read_limits(const YamlRecord& record, Limits& limits) {
  if (const YamlEntry* lock = record.find("lock")) {
    for (const YamlEntry& name : lock->list("a list of features")) {
      limits[name.filled_text("a feature")].locked = true;
    }
  }
  if (const YamlEntry* bounds = record.find("bounds")) {
    for (const auto& [name, entry] : bounds->members("a map from feature to [min, max]")) {
      const std::vector<YamlEntry> pair = entry.list("[min, max]");
      if (pair.size() != 2) entry.wrong("[min, max], null for no bound");
      const auto bound = [](const YamlEntry& e) -> std::optional<double> {
        if (e.is_null()) return std::nullopt;
        return e.number("a finite number, or null for no bound");
      };
      limits[name].min = bound(pair[0]);
      limits[name].max = bound(pair[1]);
    }
  }
  if (const YamlEntry* direction = record.find("direction")) {
    for (const auto& [name, entry] : direction->members("a map from feature to direction")) {
      limits[name].direction = entry.choice<Direction>();
    }
  }
}

}  // namespace

FeatureLimits Constraints::of(std::size_t query, const std::string& feature) const {
  FeatureLimits result;
  if (const auto found = features.find(feature); found != features.end()) result = found->second;
  const auto own = queries.find(query);
  if (own == queries.end()) return result;
  const auto found = own->second.find(feature);
  if (found == own->second.end()) return result;
  result.locked = result.locked || found->second.locked;
  if (found->second.min) result.min = found->second.min;
  if (found->second.max) result.max = found->second.max;
  if (found->second.direction) result.direction = found->second.direction;
  return result;
}

void validate(const Constraints& constraints, const Schema& schema) {
  validate_limits(constraints.features, schema);
  for (const auto& [query, limits] : constraints.queries) validate_limits(limits, schema);
}

void read_constraints(const std::string& path, Constraints& constraints) {
  const YamlDocument document(read_file(path), path);
  const YamlRecord top(document.top(), {"lock", "bounds", "direction", "queries"}, "constraints");
  read_limits(top, constraints.features);
  const YamlEntry* queries = top.find("queries");
  if (queries == nullptr) return;
  for (const auto& [key, entry] : queries->members("a map from query index to constraints")) {
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (code != std::errc() || end != key.data() + key.size()) {
      entry.fault("\"{}\" is no query index; expected a whole number from 0", key);
    }
    read_limits(YamlRecord(entry, {"lock", "bounds", "direction"}, "constraints of one query"),
                constraints.queries[index]);
  }
}

}  // namespace ellice
