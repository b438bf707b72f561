#include "ellice/request/constraints.hpp"

#include <charconv>
#include <cmath>
#include <functional>

#include "core/as_input.hpp"
#include "core/number_text.hpp"
#include "data/feature_facts.hpp"
#include "data/yaml_entry.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

namespace {

using Limits = std::map<std::string, FeatureLimits>;

void validate_limits(const Limits& limits, const Schema& schema) {
  for (const auto& [name, limit] : limits) {
    const std::optional<std::size_t> index = schema.find(name);
    if (!index) {
      fail(ErrorCode::argument, "unknown feature \"{}\" in a constraint; {}", name,
           suggestion(name, feature_names(schema)));
    }
    const Feature& feature = schema.features[*index];
    require(
        feature.is_number() || (!limit.min && !limit.max),
        "bounds on {}: it is {} and has no numbers; lock it, or restrict `allowed` in the schema",
        name, enum_name(feature.kind));
    require(feature.kind != FeatureKind::categorical || !limit.direction ||
                *limit.direction == Direction::any,
            "direction of {}: a categorical feature has no order; make it ordinal, or restrict "
            "`allowed`, in the schema",
            name);
    // What the run leaves open is the schema's.
    const std::optional<double> min = limit.min ? limit.min : feature.min;
    const std::optional<double> max = limit.max ? limit.max : feature.max;
    require(!min || !max || *min <= *max,
            "bounds on {}: the minimum {}{} is above the maximum {}{}; give bounds with values "
            "between them",
            name, min.value_or(0), limit.min ? "" : " (of the schema)", max.value_or(0),
            limit.max ? "" : " (of the schema)");
    for (const auto& bound : {limit.min, limit.max}) {
      require(!bound || std::isfinite(*bound), "bounds on {}: {} is not finite", name,
              bound.value_or(0));
    }
  }
}

void read_limits(const YamlRecord& record, const Schema& schema, Limits& limits) {
  const auto of = [&](const std::string& name, const YamlEntry& entry) -> FeatureLimits& {
    if (!schema.find(name))
      entry.fault("unknown feature \"{}\"; {}", name, suggestion(name, feature_names(schema)));
    return limits[name];
  };
  if (const YamlEntry* lock = record.find("lock")) {
    for (const YamlEntry& name : lock->list("a list of features")) {
      of(name.filled_text("a feature"), name).locked = true;
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
      FeatureLimits& limit = of(name, entry);
      limit.min = bound(pair[0]);
      limit.max = bound(pair[1]);
    }
  }
  if (const YamlEntry* direction = record.find("direction")) {
    for (const auto& [name, entry] : direction->members("a map from feature to direction")) {
      of(name, entry).direction = entry.choice<Direction>();
    }
  }
}

void put_limits(const Limits& limits, Json& json) {
  for (const auto& [name, limit] : limits) {
    if (limit.locked) json["lock"].push_back(name);
    if (limit.min || limit.max) {
      const auto bound = [](const std::optional<double>& b) { return b ? Json(*b) : Json(); };
      json["bounds"][name] = {bound(limit.min), bound(limit.max)};
    }
    if (limit.direction) json["direction"][name] = std::string(enum_name(*limit.direction));
  }
}

void take_limits(JsonObject& object, Limits& limits) {
  if (object.has("lock")) {
    for (const std::string& name : object.strings("lock")) limits[name].locked = true;
  }
  if (object.has("bounds")) {
    for (const auto& [name, pair] : object.object("bounds").value().items()) {
      const auto is_bound = [](const Json& b) { return b.is_null() || b.is_number(); };
      if (!pair.is_array() || pair.size() != 2 || !is_bound(pair[0]) || !is_bound(pair[1])) {
        object.wrong("bounds", "[min, max] for each feature, null for no bound");
      }
      if (!pair[0].is_null()) limits[name].min = pair[0].get<double>();
      if (!pair[1].is_null()) limits[name].max = pair[1].get<double>();
    }
  }
  if (object.has("direction")) {
    JsonObject directions = object.object("direction");
    for (const auto& [name, value] : directions.value().items()) {
      limits[name].direction = directions.choice<Direction>(name);
    }
  }
}

std::size_t query_index(const std::string& key, const std::function<void()>& refuse) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (code != std::errc() || end != key.data() + key.size()) refuse();
  return index;
}

double days_of(Pace::Period period) {
  switch (period) {
    case Pace::Period::day:
      return 1;
    case Pace::Period::week:
      return 7;
    case Pace::Period::month:
      return 30.4375;
    case Pace::Period::year:
      break;
  }
  return 365.25;
}

}  // namespace

Horizon parse_horizon(std::string_view text) {
  const auto refuse = [&] {
    fail(ErrorCode::argument,
         "`horizon`: found \"{}\", expected a number > 0 and a time, as in \"12 months\" (days, "
         "weeks, months, years)",
         text);
  };
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) refuse();
  std::string_view name = text.substr(blank + 1);
  if (name.ends_with('s')) name.remove_suffix(1);
  Horizon horizon;
  const std::optional<Pace::Period> period = enum_from_name<Pace::Period>(name);
  // A thousand years of days are more than any plan takes, and nothing overflows below them.
  if (!period || !parse_number(text.substr(0, blank), horizon.amount) || !(horizon.amount > 0) ||
      !(horizon.amount <= 1e6)) {
    refuse();
  }
  horizon.per = *period;
  return horizon;
}

std::string to_text(const Horizon& horizon) {
  return fmt::format("{} {}{}", number_text(horizon.amount), enum_name(horizon.per),
                     horizon.amount == 1 ? "" : "s");
}

double most_change(const Feature& feature, const Horizon& horizon) {
  const double change =
      feature.slow->amount * (horizon.amount * days_of(horizon.per)) / days_of(feature.slow->per);
  return feature.is_number() ? change : std::floor(change);
}

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

namespace {

bool has_wishes(const Constraints& constraints) {
  return !constraints.rules.empty() || !constraints.weights.empty();
}

// Searches and proofs take time with the square of their number; a person has few.
constexpr std::size_t most_rules = 100;

/// As if the schema had been written so: its reader checks what is added.
Schema wished(const Schema& schema, const Constraints& constraints) {
  require(constraints.rules.size() <= most_rules, "`rules`: there are {}, at most {} may be given",
          constraints.rules.size(), most_rules);
  Json text = to_json(schema);
  for (const std::string& rule : constraints.rules) text["constraints"].push_back(rule);
  for (const auto& [name, weight] : constraints.weights) {
    if (!schema.find(name)) {
      fail(ErrorCode::argument, "unknown feature \"{}\" among the weights; {}", name,
           suggestion(name, feature_names(schema)));
    }
    require(std::isfinite(weight), "the weight of {} is not finite", name);
    text["features"][name]["weight"] = weight;
  }
  try {
    return schema_from_json(text, "constraints of this run");
  } catch (const Error& error) {
    fail(ErrorCode::argument, "{}", error.what());
  }
}

}  // namespace

std::optional<Model> with_wishes(const Model& model, const Constraints& constraints) {
  if (!has_wishes(constraints)) return std::nullopt;
  Model result = model;
  result.encoder =
      Encoder::from_json(model.encoder.to_json(), wished(model.schema(), constraints), "the model");
  return result;
}

void validate(const Constraints& constraints, const Schema& schema) {
  validate_limits(constraints.features, schema);
  for (const auto& [query, limits] : constraints.queries) {
    Limits merged;
    for (const auto& [name, limit] : limits) merged[name] = constraints.of(query, name);
    validate_limits(merged, schema);
  }
}

namespace {

void read_document(const YamlDocument& document, const Schema& schema, Constraints& constraints) {
  const YamlRecord top(document.top(),
                       {"lock", "bounds", "direction", "queries", "horizon", "rules", "weights"},
                       "constraints");
  read_limits(top, schema, constraints.features);
  if (const YamlEntry* rules = top.find("rules")) {
    for (const YamlEntry& rule : rules->list("a list of rules such as \"debt <= 0.4 * income\""))
      constraints.rules.push_back(rule.filled_text("a rule such as \"debt <= 0.4 * income\""));
  }
  if (const YamlEntry* weights = top.find("weights")) {
    for (const auto& [name, entry] : weights->members("a map from feature to weight"))
      constraints.weights[name] = entry.number("a finite number > 0");
  }
  if (const YamlEntry* horizon = top.find("horizon")) {
    constexpr std::string_view expected = "a number > 0 and a time, as in 12 months";
    try {
      constraints.horizon = parse_horizon(horizon->text(expected));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::argument) throw;
      horizon->wrong(expected);
    }
  }
  const YamlEntry* queries = top.find("queries");
  if (queries == nullptr) return;
  for (const auto& [key, entry] : queries->members("a map from query index to constraints")) {
    const std::size_t index = query_index(key, [&, &k = key, &e = entry] {
      e.fault("\"{}\" is no query index; expected a whole number from 0", k);
    });
    read_limits(YamlRecord(entry, {"lock", "bounds", "direction"}, "constraints of one query"),
                schema, constraints.queries[index]);
  }
}

}  // namespace

void read_constraints(const std::string& path, const Schema& schema, Constraints& constraints) {
  const YamlDocument document(read_file(path), path);
  as_input(path, [&] {
    read_document(document, schema, constraints);
    validate(constraints, schema);
    if (has_wishes(constraints)) (void)wished(schema, constraints);
  });
}

Json to_json(const Constraints& constraints) {
  Json json = {{"range", std::string(enum_name(constraints.range))}};
  put_limits(constraints.features, json);
  if (constraints.horizon) json["horizon"] = to_text(*constraints.horizon);
  if (!constraints.rules.empty()) json["rules"] = constraints.rules;
  for (const auto& [name, weight] : constraints.weights) json["weights"][name] = weight;
  for (const auto& [index, limits] : constraints.queries) {
    Json own = Json::object();
    put_limits(limits, own);
    // Limits that limit nothing would be read as a key with nothing under it.
    if (!own.empty()) json["queries"][std::to_string(index)] = std::move(own);
  }
  return json;
}

Constraints constraints_from_json(JsonObject& object, std::optional<RangePolicy> otherwise) {
  const bool is_left_out = otherwise && !object.has("range");
  Constraints constraints{.range = is_left_out ? *otherwise : object.choice<RangePolicy>("range")};
  take_limits(object, constraints.features);
  if (object.has("horizon")) {
    try {
      constraints.horizon = parse_horizon(object.string("horizon"));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::argument) throw;
      object.wrong("horizon", "a number > 0 and a time, as in \"12 months\"");
    }
  }
  if (object.has("rules")) constraints.rules = object.strings("rules");
  if (object.has("weights")) {
    JsonObject weights = object.object("weights");
    for (const auto& [name, value] : weights.value().items())
      constraints.weights[name] = weights.number(name);
  }
  if (!object.has("queries")) return constraints;
  JsonObject queries = object.object("queries");
  for (const auto& [key, value] : queries.value().items()) {
    const std::size_t index = query_index(
        key, [&, &k = key] { queries.wrong(k, "a whole number as its key, the query's index"); });
    JsonObject one = queries.object(key);
    take_limits(one, constraints.queries[index]);
    one.finish();
  }
  return constraints;
}

}  // namespace ellice
