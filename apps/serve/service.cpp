#include "service.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"

namespace ellice::serve {

namespace {

constexpr std::array<std::string_view, 1> of_model = {"model"};
constexpr std::array<std::string_view, 3> of_people = {"model", "first", "count"};
constexpr std::size_t most_people = 10'000;

Reply answer_page(const RouteCall& call) {
  return {.type = "text/html; charset=utf-8",
          .body = call.service->page(),
          .headers = {{"Content-Security-Policy", call.service->policy()}}};
}

Reply answer_models(const RouteCall& call) {
  Json document = make_envelope("ellice.service.models", 1);
  document["models"] = Json::array();
  for (const auto& model : call.models->all()) {
    document["models"].push_back({{"name", model->name()},
                                  {"model_sha256", model->model()->sha256},
                                  {"kind", std::string(enum_name(model->model()->network.kind))},
                                  {"features", model->model()->schema().features.size()},
                                  {"people", model->people().rows.size()}});
  }
  return {.body = to_text(document)};
}

Reply answer_model(const RouteCall& call) {
  const ServedModel& model = model_of(call);
  return {.body = model.text(), .model = model.name()};
}

Reply answer_model_file(const RouteCall& call) {
  const ServedModel& model = model_of(call);
  return {.body = model.file(), .model = model.name()};
}

std::size_t number_of(const RouteCall& call, const std::string& key, std::size_t otherwise) {
  const auto found = call.call->query.find(key);
  if (found == call.call->query.end()) return otherwise;
  std::size_t value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [last, error] = std::from_chars(found->second.data(), end, value);
  constexpr std::size_t most = 1'000'000'000;
  if (error != std::errc() || last != end || value > most)
    throw Refusal(400, "expected a whole number from 0 to a milliard", key);
  return value;
}

Reply answer_people(const RouteCall& call) {
  const ServedModel& model = model_of(call);
  const ServedPeople& people = model.people();
  const std::size_t total = people.rows.size();
  const std::size_t first = std::min(number_of(call, "first", 0), total);
  const std::size_t count = std::min({number_of(call, "count", 100), most_people, total - first});
  Json document = make_envelope("ellice.service.people", 1);
  document["model_sha256"] = model.model()->sha256;
  document["total"] = total;
  document["first"] = first;
  document["people"] = Json::array();
  document["ids"] = Json::array();
  for (std::size_t i = first; i < first + count; ++i) {
    document["people"].push_back(row_to_json(model.model()->schema(), people.rows[i]));
    document["ids"].push_back(people.ids[i] ? Json(*people.ids[i]) : Json());
  }
  return {.body = to_text(document), .model = model.name()};
}

Reply answer_metrics(const RouteCall& call) {
  const Surroundings& around = call.service->surroundings();
  std::string text = call.service->metrics().text(around.gauges ? around.gauges() : Gauges{});
  text +=
      "# HELP ellice_model_info The models that are served.\n"
      "# TYPE ellice_model_info gauge\n";
  for (const auto& model : call.models->all())
    text += fmt::format("ellice_model_info{{name=\"{}\",sha256=\"{}\"}} 1\n",
                        label_text(model->name()), model->model()->sha256);
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = text};
}

Reply answer_live(const RouteCall& /*call*/) {
  return {.body = to_text(Json{{"live", true}})};
}

Reply answer_ready(const RouteCall& call) {
  const Surroundings& around = call.service->surroundings();
  if (around.gauges && around.gauges().draining) throw Refusal(503, "the service is ending");
  return {.body = to_text(Json{{"ready", true}})};
}

constexpr std::array all_routes = {
    Route{.method = "GET",
          .path = "/",
          .summary = "The page",
          .answer = answer_page,
          .type = "text/html",
          .is_open = true},
    Route{.method = "GET",
          .path = "/api/models",
          .summary = "The models that are served",
          .answer = answer_models,
          .result = "Models"},
    Route{.method = "GET",
          .path = "/api/model",
          .summary = "A model: its file without training rows, their distribution, its hash",
          .answer = answer_model,
          .result = "Model",
          .query = of_model},
    Route{.method = "GET",
          .path = "/api/model/file",
          .summary = "A model file, without training rows",
          .answer = answer_model_file,
          .result = "ModelFile",
          .query = of_model},
    Route{.method = "GET",
          .path = "/api/people",
          .summary = "People whom the page may show, if the operator gave a table of them",
          .answer = answer_people,
          .result = "People",
          .query = of_people,
          .is_long = true},
    Route{.method = "POST",
          .path = "/api/explain",
          .summary = "What people are to change: the recourse file of `ellice explain`; with "
                     "Accept: application/x-ndjson its records, one per line, as they are found",
          .answer = answer_explain,
          .body = BodyKind::asked,
          .result = "Recourse",
          .query = of_model},
    Route{.method = "POST",
          .path = "/api/certify",
          .summary = "Certificates for people as they are",
          .answer = answer_certify,
          .body = BodyKind::asked,
          .result = "Certification",
          .query = of_model},
    Route{.method = "POST",
          .path = "/api/frontier",
          .summary = "What robustness costs: the file of `ellice frontier`",
          .answer = answer_frontier,
          .body = BodyKind::frontier,
          .result = "Frontier",
          .query = of_model},
    Route{.method = "POST",
          .path = "/api/verify",
          .summary = "A recourse file or a certificate re-checked: the file of `ellice verify`",
          .answer = answer_verify,
          .body = BodyKind::file,
          .result = "Verification",
          .query = of_model},
    Route{.method = "GET",
          .path = "/openapi.json",
          .summary = "This description",
          .answer = answer_openapi,
          .result = "OpenApi",
          .is_long = true},
    Route{.method = "GET",
          .path = "/metrics",
          .summary = "Counters, as Prometheus reads them",
          .answer = answer_metrics,
          .type = "text/plain"},
    Route{.method = "GET",
          .path = "/v1/models",
          .summary = "KServe 1: names of models",
          .answer = answer_v1_models,
          .result = "V1Models"},
    Route{.method = "GET",
          .path = "/v1/models/{name}",
          .summary = "KServe 1: whether a model is ready",
          .answer = answer_v1_model,
          .result = "V1Model"},
    Route{.method = "POST",
          .path = "/v1/models/{name}:predict",
          .summary = "KServe 1: what the model itself says",
          .answer = answer_v1_predict,
          .body = BodyKind::instances,
          .result = "V1Predictions"},
    Route{.method = "POST",
          .path = "/v1/models/{name}:explain",
          .summary = "KServe 1: records of the recourse file",
          .answer = answer_v1_explain,
          .body = BodyKind::instances,
          .result = "V1Explanations"},
    Route{.method = "GET",
          .path = "/v2",
          .summary = "KServe 2: the server",
          .answer = answer_v2_server,
          .result = "V2Server",
          .is_open = true},
    Route{.method = "GET",
          .path = "/v2/health/live",
          .summary = "KServe 2: the process runs",
          .answer = answer_live,
          .result = "V2Live",
          .is_open = true},
    Route{.method = "GET",
          .path = "/v2/health/ready",
          .summary = "KServe 2: requests are taken",
          .answer = answer_ready,
          .result = "V2Ready",
          .is_open = true},
    Route{.method = "GET",
          .path = "/v2/models/{name}",
          .summary = "KServe 2: what a model takes and gives",
          .answer = answer_v2_model,
          .result = "V2Model"},
    Route{.method = "GET",
          .path = "/v2/models/{name}/ready",
          .summary = "KServe 2: whether a model is ready",
          .answer = answer_v2_ready,
          .result = "V2ModelReady"},
    Route{
        .method = "POST",
        .path = "/v2/models/{name}/infer",
        .summary = "KServe 2: what the model itself says, and plans where `recourse` is asked for",
        .answer = answer_v2_infer,
        .body = BodyKind::tensors,
        .result = "V2Inference"},
};

/// Whether a path is of a pattern; `name` is what stands for {name}.
bool fits(std::string_view pattern, std::string_view path, std::string_view& name) {
  constexpr std::string_view slot = "{name}";
  const std::size_t at = pattern.find(slot);
  if (at == std::string_view::npos) return pattern == path;
  const std::string_view before = pattern.substr(0, at);
  const std::string_view after = pattern.substr(at + slot.size());
  if (path.size() <= before.size() + after.size()) return false;
  if (!path.starts_with(before) || !path.ends_with(after)) return false;
  name = path.substr(before.size(), path.size() - before.size() - after.size());
  return name.find_first_of("/:") == std::string_view::npos;
}

}  // namespace

std::span<const Route> routes() {
  return all_routes;
}

FoundRoute find_route(std::string_view method, std::string_view path, std::string& allowed) {
  bool is_there = false;
  for (const Route& route : all_routes) {
    std::string_view name;
    if (!fits(route.path, path, name)) continue;
    if (route.method == method) return {.route = &route, .name = std::string(name)};
    is_there = true;
    allowed = route.method == "GET" ? "GET, HEAD" : std::string(route.method);
  }
  if (is_there) throw Refusal(405, fmt::format("this path takes {}", allowed), "method");
  throw Refusal(404, "there is no such path; / and /openapi.json list those that there are",
                "path");
}

Service::Service(std::shared_ptr<const ServedModels> models, std::string page)
    : models_(std::move(models)), page_(std::move(page)), policy_(policy_of(page_)) {}

Reply Service::answer(const FoundRoute& found, const Call& call) {
  return found.route->answer(
      {.call = &call, .name = found.name, .models = models(), .service = this});
}

std::shared_ptr<const ServedModels> Service::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

void Service::replace(std::shared_ptr<const ServedModels> models) {
  const std::lock_guard lock(mutex_);
  models_.swap(models);
}

int Service::batch_threads(std::size_t people) const {
  if (people < 8 || !surroundings_.idle_threads) return 1;
  return 1 + surroundings_.idle_threads();
}

const ServedModel& model_of(const RouteCall& call, const Json* body) {
  const auto& all = call.models->all();
  if (const auto named = call.call->query.find("model"); named != call.call->query.end()) {
    const ServedModel* const model = call.models->by_name(named->second);
    if (model == nullptr) throw Refusal(404, "no model of this name is served", "model");
    return *model;
  }
  if (body != nullptr && body->is_object()) {
    const auto hash = body->find("model_sha256");
    if (hash != body->end() && hash->is_string()) {
      if (const ServedModel* const model = call.models->by_hash(hash->get<std::string>()))
        return *model;
    }
  }
  if (all.size() == 1) return *all.front();
  throw Refusal(422,
                "several models are served: name one, as in ?model=NAME, or by model_sha256; "
                "/api/models lists them",
                "model");
}

const ServedModel& named_model(const RouteCall& call) {
  const ServedModel* const model = call.models->by_name(call.name);
  if (model == nullptr) throw Refusal(404, "no model of this name is served", "path");
  return *model;
}

}  // namespace ellice::serve
