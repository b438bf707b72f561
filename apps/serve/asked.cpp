#include "asked.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/number_text.hpp"
#include "core/stop.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "exchange.hpp"
#include "request/recourse_file.hpp"

namespace ellice::serve {

namespace {

// Our own files are a dozen deep.
constexpr int deepest = 64;

/// Refuses what would need a deep stack, before anything is built.
void check_depth(std::string_view body) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
      continue;
    }
    if (c == '"') in_text = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > deepest)
      throw Refusal(400, fmt::format("JSON is nested more than {} deep", deepest), "body");
  }
}

/// Takes a key out of an object; nothing where it is not there.
std::optional<Json> taken(Json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

/// The options of a struct, taken out of an object that holds others.
template <class T>
T taken_fields(Json& object) {
  T result;
  Json own = Json::object();
  T::fields(result, [&](std::string_view name, auto&, const Range&, std::string_view) {
    std::optional<Json> value = taken(object, std::string(name));
    if (value) own[std::string(name)] = std::move(*value);
  });
  fields_from_json(JsonObject(own, "request"), result);
  return result;
}

std::string cell_of(const Json& value, std::size_t person, const std::string& key) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return number_text(value.get<double>());
  throw Refusal(422, fmt::format("found {}, expected a number, a text or null", shown(value)),
                fmt::format("people[{}].{}", person, shortened(key, 100)));
}

/// The feature of this name that tables hold as 0/1 columns; null where there is none.
const Feature* group_of(const Schema& schema, const std::string& key) {
  const std::optional<std::size_t> index = schema.find(key);
  if (!index || schema.features[*index].one_hot.empty()) return nullptr;
  return &schema.features[*index];
}

std::vector<std::string> read_epsilons(const Json& value) {
  std::vector<std::string> result;
  const Refusal wrong(
      422, fmt::format("found {}, expected a list of numbers and rules", shown(value)), "epsilons");
  if (!value.is_array() || value.empty()) throw wrong;
  for (const Json& entry : value) {
    if (entry.is_string()) {
      result.push_back(entry.get<std::string>());
    } else if (entry.is_number()) {
      result.push_back(number_text(entry.get<double>()));
    } else {
      throw wrong;
    }
  }
  return result;
}

/// The models that `options.ensemble` names by their hashes, which must be served here.
std::vector<std::shared_ptr<const Model>> ensemble_of(const Json& body, const ModelFinder& others) {
  std::vector<std::shared_ptr<const Model>> result;
  const auto options = body.find("options");
  if (options == body.end() || !options->is_object()) return result;
  const auto named = options->find("ensemble");
  if (named == options->end() || !named->is_array()) return result;  // refused later, by its key
  for (const Json& sha256 : *named) {
    auto model = sha256.is_string() ? others.find(sha256.get<std::string>()) : nullptr;
    if (!model) {
      throw Refusal(422, fmt::format("no model with the hash {} is served here", shown(sha256)),
                    "options.ensemble");
    }
    result.push_back(std::move(model));
  }
  return result;
}

}  // namespace

Json parse_body(std::string_view body) {
  check_depth(body);
  try {
    return parse_json(body, "body");
  } catch (const Error& error) {
    keep_stop(error);
    std::string message = error.what();
    if (message.starts_with("body: ")) message.erase(0, 6);
    throw Refusal(400, message, "body");
  }
}

Table table_of(const Json& people, const Schema& schema) {
  if (!people.is_array())
    throw Refusal(422, fmt::format("found {}, expected a list of objects", shown(people)),
                  "people");
  if (people.empty()) throw Refusal(422, "there is nobody in it", "people");
  Table table{.name = "people"};
  std::map<std::string, std::size_t> columns;
  const auto column = [&](const std::string& name) -> std::vector<std::string>& {
    const auto [place, is_new] = columns.emplace(name, table.columns.size());
    if (is_new)
      table.columns.push_back({.name = name, .values = std::vector<std::string>(people.size())});
    return std::get<std::vector<std::string>>(table.columns[place->second].values);
  };
  std::size_t row = 0;
  for (const Json& person : people) {
    if (!person.is_object())
      throw Refusal(422, fmt::format("found {}, expected an object", shown(person)),
                    fmt::format("people[{}]", row));
    for (const auto& [key, value] : person.items()) {
      // So many keys that nobody knows would take memory before the first of them is refused.
      if (columns.size() > 4 * schema.features.size() + 1000) break;
      const std::string cell = cell_of(value, row, key);
      const Feature* const group = group_of(schema, key);
      if (group == nullptr) {
        column(key)[row] = cell;
        continue;
      }
      // By the name of its column, as answers have it; tables have all columns.
      if (!cell.empty() && !group->level_index(cell)) {
        throw Refusal(422,
                      fmt::format("found {}, expected one of {}", shown(value),
                                  fmt::join(group->one_hot, ", ")),
                      fmt::format("people[{}].{}", row, key));
      }
      for (const std::string& name : group->one_hot)
        column(name)[row] = cell.empty() ? "" : name == cell ? "1" : "0";
    }
    ++row;
  }
  return table;
}

Asked read_asked(Json body, const std::shared_ptr<const Model>& model,
                 const std::shared_ptr<const TrainingRows>& rows, const ModelFinder& others,
                 bool takes_epsilons) {
  if (!body.is_object())
    throw Refusal(422, fmt::format("found {}, expected an object", shown(body)), "body");
  Asked asked;
  const std::optional<Json> people = taken(body, "people");
  if (!people) throw Refusal(422, "the key is missing: who asks", "people");
  // The head of a recourse file has what its reasons compare with.
  if (body.contains("reasons") && body["reasons"].is_object()) body.erase("reasons");
  asked.options = taken_fields<AskedOptions>(body);
  if (takes_epsilons && body.contains("epsilons"))
    asked.epsilons = read_epsilons(*taken(body, "epsilons"));
  if (!body.contains("format")) body["format"] = recourse_format;
  if (!body.contains("version")) body["version"] = 1;
  if (!body.contains("epsilon")) body["epsilon"] = "auto";
  (void)taken(body, "results");  // of a recourse file that is asked again
  asked.request =
      explain_request_from_json(body, "request", model, ensemble_of(body, others), rows);
  asked.request.reasons = asked.options.reasons;
  asked.request.display = asked.options.display;
  asked.request.shows_trade_off = asked.options.display;
  asked.people = table_of(*people, model->schema());
  Json key = std::move(body);
  key["display"] = asked.options.display;
  key["reasons"] = asked.options.reasons;
  asked.key = canonical_text(key);
  return asked;
}

}  // namespace ellice::serve
