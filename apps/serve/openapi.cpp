// The description of the service, made from the table of routes, the fields of the options and the
// schemas of the models that are served.

#include <utility>

#include "ellice/core/version.hpp"
#include "openapi_schemas.hpp"
#include "service.hpp"

namespace ellice::serve {

namespace {

std::string_view body_schema(BodyKind kind) {
  switch (kind) {
    case BodyKind::asked:
      return "Asked";
    case BodyKind::frontier:
      return "AskedFrontier";
    case BodyKind::file:
      return "File";
    case BodyKind::instances:
      return "V1Request";
    case BodyKind::tensors:
      return "V2Request";
    case BodyKind::none:
      break;
  }
  return {};
}

Json parameters_of(const Route& route, const ServedModels& models) {
  std::vector<std::string> names;
  for (const auto& model : models.all()) names.push_back(model->name());
  Json parameters = Json::array();
  if (route.path.find("{name}") != std::string_view::npos)
    parameters.push_back(
        {{"name", "name"}, {"in", "path"}, {"required", true}, {"schema", one_of(names)}});
  for (const std::string_view name : route.query) {
    Json schema = name == "model"
                      ? one_of(names)
                      : Json{{"type", "integer"}, {"minimum", 0}, {"maximum", 1000000000}};
    parameters.push_back(
        {{"name", name},
         {"in", "query"},
         {"required", name == "model" && names.size() > 1 && route.body == BodyKind::none},
         {"schema", std::move(schema)}});
  }
  return parameters;
}

Json operation_of(const Route& route, const ServedModels& models, bool needs_token) {
  Json operation = {{"summary", route.summary}};
  if (Json parameters = parameters_of(route, models); !parameters.empty())
    operation["parameters"] = std::move(parameters);
  if (route.body != BodyKind::none) {
    operation["requestBody"] = {
        {"required", true},
        {"content", {{"application/json", {{"schema", reference(body_schema(route.body))}}}}}};
  }
  Json content = Json::object();
  content[std::string(route.type)]["schema"] =
      route.result.empty() ? typed("string") : reference(route.result);
  if (route.path == "/api/explain") content["application/x-ndjson"]["schema"] = typed("string");
  const Json error = {{"application/json", {{"schema", reference("Error")}}}};
  operation["responses"]["200"] = {{"description", "done"}, {"content", content}};
  const auto add_error = [&](int status, std::string_view text) {
    operation["responses"][std::to_string(status)] = {{"description", text}, {"content", error}};
  };
  add_error(400, "not to be read: no HTTP, no JSON, nested too deeply");
  const bool is_guarded = needs_token && !route.is_open;
  if (is_guarded) add_error(401, "the token is missing or wrong");
  add_error(403, "addressed to another host, or from another site's page");
  add_error(404, "no such path or model");
  if (route.has_body()) {
    add_error(413, "the body is too large");
    add_error(415, "the body is not application/json");
    add_error(422, "read, and cannot be answered: `where` says what about it");
  } else if (route.path == "/v2/health/ready") {
    add_error(503, "the service is ending");
  } else if (!route.query.empty()) {
    add_error(422, "several models are served, and none is named");
  }
  if (route.is_queued())
    add_error(503, "the queue is full (Retry-After), or the work took too long");
  if (is_guarded) operation["security"] = Json::array({Json{{"token", Json::array()}}});
  return operation;
}

}  // namespace

Reply answer_openapi(const RouteCall& call) {
  const ServedModels& models = *call.models;
  const bool needs_token = call.service->surroundings().needs_token;
  Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "ellice"},
        {"version", version().number},
        {"description",
         "What people are to change so that a model's no becomes a yes that lasts. Bodies and "
         "answers are the files of the command line."}}}};
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c + ('a' - 'A'));
    document["paths"][std::string(route.path)][method] = operation_of(route, models, needs_token);
  }
  document["components"]["schemas"] = named_schemas(models);
  if (needs_token) {
    document["components"]["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
  }
  return {.body = to_text(document)};
}

}  // namespace ellice::serve
