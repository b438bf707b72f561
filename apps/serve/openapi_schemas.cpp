#include "openapi_schemas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "asked.hpp"
#include "methods/delta_rows.hpp"
#include "methods/method_table.hpp"
#include "methods/roar.hpp"
#include "methods/trex.hpp"
#include "request/recourse_file.hpp"

namespace ellice::serve {

Json typed(std::string_view type) {
  return {{"type", type}};
}

Json reference(std::string_view name) {
  return {{"$ref", fmt::format("#/components/schemas/{}", name)}};
}

namespace {

Json list_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

template <class F>
void add_default(Json& schema, const F& value) {
  if constexpr (std::is_enum_v<F>) {
    schema["default"] = std::string(enum_name(value));
  } else if constexpr (!IsOptional<F>::value) {
    schema["default"] = value;
  }
}

void add_range(Json& schema, const Range& range) {
  if (std::isfinite(range.lower))
    schema[range.lower_open ? "exclusiveMinimum" : "minimum"] = range.lower;
  if (std::isfinite(range.upper))
    schema[range.upper_open ? "exclusiveMaximum" : "maximum"] = range.upper;
}

template <class F>
Json schema_of_type(const Range& range) {
  if constexpr (IsOptional<F>::value) {
    return schema_of_type<typename F::value_type>(range);
  } else if constexpr (std::is_enum_v<F>) {
    return one_of(EnumNames<F>::names);
  } else if constexpr (std::is_same_v<F, bool>) {
    return typed("boolean");
  } else if constexpr (std::is_same_v<F, std::string>) {
    return typed("string");
  } else if constexpr (std::is_same_v<F, std::vector<int>>) {
    Json entry = typed("integer");
    add_range(entry, range);
    return list_of(std::move(entry));
  } else {
    Json schema = typed(std::is_integral_v<F> ? "integer" : "number");
    add_range(schema, range);
    if (std::is_integral_v<F> && !schema.contains("maximum"))
      schema["maximum"] = std::numeric_limits<int>::max();
    if (std::is_same_v<F, std::uint64_t>) schema["minimum"] = 0;
    return schema;
  }
}

/// One property for each field of an options struct.
template <class T>
void add_fields(Json& properties, const T& options = {}) {
  T::fields(options, [&]<class F>(std::string_view name, const F& value, const Range& range,
                                  std::string_view text) {
    if (properties.contains(std::string(name))) return;
    Json schema = schema_of_type<F>(range);
    add_default(schema, value);
    schema["description"] = text;
    properties[std::string(name)] = std::move(schema);
  });
}

Json object_of(Json properties, const std::vector<std::string>& required = {}) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json closed(Json schema) {
  schema["additionalProperties"] = false;
  return schema;
}

/// An options struct of a method, under the method's name.
template <class T>
Json fields_schema(const T& options = {}) {
  Json properties = Json::object();
  add_fields<T>(properties, options);
  return closed(object_of(std::move(properties)));
}

Json number_schema(const Feature& feature) {
  Json schema = typed(feature.is_whole() ? "integer" : "number");
  const Bins& bins = feature.bins;
  if (!bins.lowest && !bins.highest) return schema;
  if (bins.lowest) schema[bins.lowest->is_open ? "exclusiveMinimum" : "minimum"] = bins.lowest->at;
  if (bins.highest)
    schema[bins.highest->is_open ? "exclusiveMaximum" : "maximum"] = bins.highest->at;
  if (bins.special.empty()) return schema;
  Json codes = Json::array();
  for (const Bins::Code& code : bins.special) codes.push_back(code.number);
  return {{"anyOf", Json::array({schema, {{"enum", codes}}})}};
}

Json value_schema(const Feature& feature, bool may_be_empty) {
  Json schema;
  if (!feature.is_number()) {
    schema = one_of(feature.levels);
  } else {
    schema = number_schema(feature);
  }
  if (may_be_empty) schema = {{"anyOf", Json::array({schema, typed("null")})}};
  if (!feature.description.empty()) schema["description"] = feature.description;
  if (!feature.label.empty()) schema["title"] = feature.label;
  return schema;
}

Json person_schema(const Model& model) {
  const Schema& schema = model.schema();
  const bool fills = schema.missing == MissingPolicy::median;
  Json properties = Json::object();
  std::vector<std::string> required;
  for (const Feature& feature : schema.features) {
    properties[feature.name] = value_schema(feature, fills);
    required.push_back(feature.name);
  }
  return object_of(std::move(properties), required);
}

/// The names that features of any model have.
Json feature_names(const ServedModels& models) {
  std::vector<std::string> names;
  for (const auto& model : models.all()) {
    for (const Feature& feature : model->model()->schema().features)
      if (std::find(names.begin(), names.end(), feature.name) == names.end())
        names.push_back(feature.name);
  }
  return one_of(names);
}

/// `lock`, `bounds`, `direction`: the constraints of a run, or of one query.
Json limits_schema(const Json& names) {
  const Json bound = {{"type", Json::array({"number", "null"})}};
  return {{"lock", list_of(names)},
          {"bounds",
           {{"type", "object"},
            {"propertyNames", names},
            {"additionalProperties",
             {{"type", "array"}, {"items", bound}, {"minItems", 2}, {"maxItems", 2}}}}},
          {"direction",
           {{"type", "object"},
            {"propertyNames", names},
            {"additionalProperties", one_of(EnumNames<Direction>::names)}}}};
}

Json options_schema(const ServedModels& models) {
  const Json names = feature_names(models);
  Json properties = limits_schema(names);
  properties["queries"] = {
      {"type", "object"},
      {"propertyNames", {{"pattern", "^(0|[1-9][0-9]{0,8})$"}}},
      {"additionalProperties", closed(object_of(limits_schema(names)))},
      {"description", "further constraints, by the place of a person in `people`, from 0"}};
  properties["range"] = one_of(EnumNames<RangePolicy>::names);
  properties["horizon"] = {{"type", "string"},
                           {"pattern", "^[1-9][0-9]{0,3} (days|weeks|months|years)$"}};
  properties["rules"] = {{"type", "array"},
                         {"maxItems", 100},
                         {"items", typed("string")},
                         {"description", "beside the schema's, written as there"}};
  properties["weights"] = {
      {"type", "object"},
      {"propertyNames", names},
      {"additionalProperties", {{"type", "number"}, {"minimum", 1e-12}, {"maximum", 1e12}}},
      {"description", "what a feature's change weighs in the cost, in place of the schema's"}};
  properties["threshold"] = {
      {"type", "number"}, {"description", "logit that counts as yes; of several classes the lead"}};
  properties["target"] = list_of(typed("string"));
  properties["damping"] = {{"type", "number"}, {"exclusiveMinimum", 0}};
  properties["ensemble"] = {{"type", "array"},
                            {"items", {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}},
                            {"description", "hashes of further models that are served"}};
  properties["retrain"] = {{"type", "string"}, {"pattern", "^(same|fresh:[1-9][0-9]{0,6})$"}};
  properties["declined"] = typed("boolean");
  properties["sparsity_weight"] = {{"type", "number"}, {"minimum", 0}};
  const MethodOptions methods = {};
  MethodOptions::groups(methods, [&]<class T>(std::string_view name, const T& own) {
    properties[std::string(name)] = fields_schema<T>(own);
  });
  properties["trex"] = fields_schema<TrexOptions>();
  properties["trex-i"] = fields_schema<TrexOptions>();
  properties["delta"] = fields_schema<DeltaOptions>();
  properties["proplace"] = fields_schema<ProplaceOptions>();
  properties["roar"] = fields_schema<RoarOptions>();
  return closed(object_of(std::move(properties)));
}

Json epsilon_schema() {
  return {{"anyOf",
           Json::array({Json{{"type", "number"}, {"minimum", 0}},
                        Json{{"type", "string"},
                             {"pattern",
                              "^(auto|[0-9]{1,4}(\\.[0-9]{1,6})?%?|(accuracy|survival):[0-9]{1,2}%|"
                              "target:[0-9]{1,4}(\\.[0-9]{1,6})?%?)$"}}})},
          {"description", "a number, or a rule as `explain --epsilon` takes it"}};
}

/// The head of a recourse file, and who asks.
Json asked_schema(const ServedModels& models) {
  std::vector<std::string> sets = {"auto"};
  for (const std::string_view name : EnumNames<SetKind>::names) sets.emplace_back(name);
  Json people = Json::array();
  for (const auto& model : models.all()) people.push_back(reference("Person." + model->name()));
  Json properties = {{"people",
                      {{"type", "array"},
                       {"minItems", 1},
                       {"items", people.size() == 1 ? people.front() : Json{{"anyOf", people}}}}},
                     {"format", {{"const", std::string(recourse_format)}}},
                     {"version", {{"const", 1}}},
                     {"model_sha256", {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}}},
                     {"epsilon", epsilon_schema()},
                     {"set", one_of(sets)},
                     {"cost", one_of(EnumNames<CostKind>::names)},
                     {"method", one_of(method_names())},
                     {"seed", {{"type", "integer"}, {"minimum", 0}}},
                     {"options", reference("Options")}};
  add_fields<AskedOptions>(properties);
  return closed(object_of(std::move(properties), {"people"}));
}

Json file_schema() {
  return {{"type", "object"},
          {"required", Json::array({"format"})},
          {"properties",
           {{"format",
             one_of(std::array<std::string_view, 2>{recourse_format, "ellice.certificate"})}}},
          {"description", "a recourse file, or a certificate (docs/reference/formats.md)"}};
}

Json instances_schema(const ServedModels& models) {
  Json people = Json::array();
  for (const auto& model : models.all()) people.push_back(reference("Person." + model->name()));
  return closed(
      object_of({{"instances",
                  {{"type", "array"},
                   {"minItems", 1},
                   {"items", people.size() == 1 ? people.front() : Json{{"anyOf", people}}}}},
                 {"parameters", typed("object")}},
                {"instances"}));
}

Json tensor_schema() {
  return object_of({{"name", typed("string")},
                    {"shape", list_of(typed("integer"))},
                    {"datatype", typed("string")},
                    {"data", typed("array")}},
                   {"name", "shape", "datatype", "data"});
}

Json tensors_schema() {
  return closed(object_of(
      {{"id", typed("string")},
       {"parameters", typed("object")},
       {"inputs", {{"type", "array"}, {"minItems", 1}, {"items", reference("Tensor")}}},
       {"outputs", list_of(object_of({{"name", one_of(std::array<std::string_view, 3>{
                                                   "accepted", "probability", "recourse"})}},
                                     {"name"}))}},
      {"inputs"}));
}

/// A file of ours: its envelope, and the keys that are always there.
Json enveloped(std::string_view format, Json properties) {
  std::vector<std::string> required = {"format", "version"};
  for (const auto& [key, value] : properties.items()) required.push_back(key);
  properties["format"] = {{"const", std::string(format)}};
  properties["version"] = typed("integer");
  return object_of(std::move(properties), required);
}

Json hash_schema() {
  return {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}};
}

void add_results(Json& schemas) {
  const Json results = list_of(typed("object"));
  schemas["Models"] = enveloped("ellice.service.models", {{"models", results}});
  schemas["Model"] = enveloped("ellice.service.model",
                               {{"name", typed("string")},
                                {"model_sha256", hash_schema()},
                                {"people", typed("integer")},
                                {"training_rows", {{"type", Json::array({"integer", "null"})}}},
                                {"histograms", {{"type", Json::array({"object", "null"})}}},
                                {"model", reference("ModelFile")}});
  schemas["ModelFile"] = enveloped("ellice.model", {{"schema", typed("object")},
                                                    {"encoder", typed("object")},
                                                    {"network", typed("object")},
                                                    {"curvature", typed("object")}});
  schemas["People"] = enveloped("ellice.service.people", {{"model_sha256", hash_schema()},
                                                          {"total", typed("integer")},
                                                          {"first", typed("integer")},
                                                          {"people", results},
                                                          {"ids", typed("array")}});
  schemas["Recourse"] = enveloped(
      recourse_format,
      {{"model_sha256", hash_schema()},
       {"epsilon",
        object_of({{"value", typed("number")}, {"rule", typed("string")}}, {"value", "rule"})},
       {"set", typed("string")},
       {"method", typed("string")},
       {"options", typed("object")},
       {"results", list_of(object_of({{"query_index", typed("integer")},
                                      {"plan", typed("integer")},
                                      {"status", one_of(EnumNames<Status>::names)}},
                                     {"query_index", "plan", "status"}))},
       {"sha256", hash_schema()}});
  schemas["Certification"] = enveloped(
      "ellice.certification",
      {{"model_sha256", hash_schema()},
       {"set", typed("string")},
       {"epsilon", typed("number")},
       {"threshold", typed("number")},
       {"results",
        list_of(object_of({{"query_index", typed("integer")}, {"certified", typed("boolean")}},
                          {"query_index", "certified"}))}});
  schemas["Frontier"] =
      enveloped("ellice.frontier", {{"epsilons", list_of(typed("number"))}, {"results", results}});
  schemas["Verification"] = enveloped("ellice.verification", {{"model_sha256", hash_schema()},
                                                              {"checked", typed("integer")},
                                                              {"failed", typed("integer")},
                                                              {"results", results}});
  schemas["OpenApi"] = object_of({{"openapi", typed("string")}}, {"openapi"});
  schemas["V1Models"] = object_of({{"models", list_of(typed("string"))}}, {"models"});
  schemas["V1Model"] =
      object_of({{"name", typed("string")}, {"ready", typed("boolean")}}, {"name", "ready"});
  schemas["V1Predictions"] = object_of(
      {{"predictions",
        list_of(object_of({{"accepted", typed("boolean")}, {"probability", typed("number")}},
                          {"accepted", "probability"}))}},
      {"predictions"});
  schemas["V1Explanations"] = object_of({{"explanations", results}}, {"explanations"});
  schemas["V2Server"] =
      object_of({{"name", typed("string")}, {"version", typed("string")}}, {"name", "version"});
  schemas["V2Live"] = object_of({{"live", typed("boolean")}}, {"live"});
  schemas["V2Ready"] = object_of({{"ready", typed("boolean")}}, {"ready"});
  schemas["V2Model"] =
      object_of({{"name", typed("string")}, {"inputs", results}, {"outputs", results}},
                {"name", "inputs", "outputs"});
  schemas["V2ModelReady"] = schemas["V1Model"];
  schemas["V2Inference"] =
      object_of({{"model_name", typed("string")}, {"outputs", list_of(reference("Tensor"))}},
                {"model_name", "outputs"});
  schemas["Error"] =
      object_of({{"error", object_of({{"message", typed("string")}, {"where", typed("string")}},
                                     {"message", "where"})}},
                {"error"});
}

}  // namespace

Json named_schemas(const ServedModels& models) {
  Json schemas = Json::object();
  for (const auto& model : models.all())
    schemas["Person." + model->name()] = person_schema(*model->model());
  schemas["Options"] = options_schema(models);
  schemas["Asked"] = asked_schema(models);
  schemas["AskedFrontier"] = schemas["Asked"];
  schemas["AskedFrontier"]["properties"]["epsilons"] = {
      {"type", "array"}, {"minItems", 1}, {"items", epsilon_schema()}};
  schemas["File"] = file_schema();
  schemas["V1Request"] = instances_schema(models);
  schemas["V2Request"] = tensors_schema();
  schemas["Tensor"] = tensor_schema();
  add_results(schemas);
  return schemas;
}

}  // namespace ellice::serve
