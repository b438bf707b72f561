// The protocols of KServe: instances as objects (1) and as tensors by column (2).

#include <array>
#include <set>
#include <utility>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "request/query_reader.hpp"
#include "service.hpp"

namespace ellice::serve {

namespace {

constexpr std::string_view recourse_output = "recourse";

/// What is asked, of `people` in place of `instances` or tensors.
Asked asked_about(const RouteCall& call, const ServedModel& model, Json people, Json parameters) {
  if (!parameters.is_object())
    throw Refusal(422, fmt::format("found {}, expected an object", shown(parameters)),
                  "parameters");
  parameters["people"] = std::move(people);
  const Asked asked =
      read_asked(std::move(parameters), model.model(), model.given_rows(), *call.models, false);
  return asked;
}

struct Instances {
  Json people = {};
  Json parameters = Json::object();
};

/// {"instances": [...], "parameters": {...}}.
Instances instances_of(const Json& body) {
  JsonObject object(body, "request");
  Instances result{.people = object.at("instances")};
  if (object.has("parameters")) result.parameters = object.at("parameters");
  object.finish();
  return result;
}

/// Those who ask, without what is asked.
QueryBlock readable_people(const RouteCall& call, const ServedModel& model, Json people) {
  Json body = Json::object();
  return read_people(model, asked_about(call, model, std::move(people), std::move(body)));
}

struct Tensors {
  Json people = Json::array();
  Json parameters = Json::object();
  std::optional<std::string> id = {};
  std::set<std::string> outputs = {};
};

/// One tensor per feature, of shape [n] or [n, 1]; numbers or BYTES.
void add_column(JsonObject column, Json& people) {
  const std::string name = column.string("name");
  const Json& data = column.at("data");
  if (!data.is_array()) column.wrong("data", "a list of values");
  const std::vector<int> shape = column.whole_numbers("shape", at_least(0));
  const bool is_column = (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1)) &&
                         static_cast<std::size_t>(shape[0]) == data.size();
  if (!is_column) column.wrong("shape", fmt::format("[{}], the number of values", data.size()));
  static constexpr std::array<std::string_view, 12> types = {"BOOL",   "UINT8", "UINT16", "UINT32",
                                                             "UINT64", "INT8",  "INT16",  "INT32",
                                                             "INT64",  "FP32",  "FP64",   "BYTES"};
  const std::string type = column.string("datatype");
  if (std::find(types.begin(), types.end(), type) == types.end())
    column.wrong("datatype", "one of " + join_names(types));
  if (column.has("parameters")) (void)column.object("parameters");
  column.finish();
  if (people.empty())
    for (std::size_t i = 0; i < data.size(); ++i) people.push_back(Json::object());
  if (people.size() != data.size())
    column.wrong("data", fmt::format("as many values as the first tensor, {}", people.size()));
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (people[i].contains(name)) column.wrong("name", "a name that no other tensor has");
    people[i][name] = data[i];
  }
}

Tensors tensors_of(const Json& body) {
  JsonObject object(body, "request");
  Tensors result;
  if (object.has("id")) result.id = object.string("id");
  if (object.has("parameters")) result.parameters = object.at("parameters");
  std::vector<JsonObject> inputs = object.objects("inputs");
  for (JsonObject& input : inputs) add_column(std::move(input), result.people);
  if (object.has("outputs")) {
    for (JsonObject& output : object.objects("outputs")) {
      result.outputs.insert(output.string("name"));
      if (output.has("parameters")) (void)output.object("parameters");
      output.finish();
    }
  }
  object.finish();
  for (const std::string& output : result.outputs) {
    if (output != "accepted" && output != "probability" && output != recourse_output)
      throw Refusal(422,
                    fmt::format("found \"{}\", expected accepted, probability or recourse",
                                shortened(output, 40)),
                    "outputs");
  }
  return result;
}

Json tensor(std::string_view name, std::string_view type, Json data) {
  return {{"name", name},
          {"shape", Json::array({data.size()})},
          {"datatype", type},
          {"data", std::move(data)}};
}

/// The records of each person as a list, one text per person.
Json records_by_person(const std::vector<Answer>& answers, std::size_t people,
                       const Schema& schema) {
  std::vector<Json> lists(people, Json::array());
  for (const Answer& answer : answers) lists[answer.query_index].push_back(to_json(answer, schema));
  Json result = Json::array();
  for (const Json& list : lists) result.push_back(compact_text(list));
  return result;
}

}  // namespace

Reply answer_v1_models(const RouteCall& call) {
  Json names = Json::array();
  for (const auto& model : call.models->all()) names.push_back(model->name());
  return {.body = to_text(Json{{"models", names}})};
}

Reply answer_v1_model(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  return {.body = to_text(Json{{"name", model.name()}, {"ready", true}}), .model = model.name()};
}

Reply answer_v1_predict(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  const Instances asked = instances_of(parse_body(call.call->body));
  if (!asked.parameters.is_object() || !asked.parameters.empty())
    throw Refusal(422, "the model itself takes no parameters", "parameters");
  const QueryBlock block = readable_people(call, model, asked.people);
  call.service->metrics().count_people("/v1/models/{name}:predict", block.size());
  Json predictions = Json::array();
  for (const Query& query : block.queries) {
    const Prediction prediction = predict(*model.model(), query);
    predictions.push_back(
        {{"accepted", prediction.accepted}, {"probability", prediction.probability}});
  }
  return {.body = to_text(Json{{"predictions", predictions}}), .model = model.name()};
}

Reply answer_v1_explain(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  Instances instances = instances_of(parse_body(call.call->body));
  const Asked asked =
      asked_about(call, model, std::move(instances.people), std::move(instances.parameters));
  call.service->metrics().count_people("/v1/models/{name}:explain", asked.people.rows());
  Json explanations = Json::array();
  for (const Answer& answer : explain_people(call, model, asked))
    explanations.push_back(to_json(answer, model.model()->schema()));
  return {.body = to_text(Json{{"explanations", explanations}}), .model = model.name()};
}

Reply answer_v2_server(const RouteCall& /*call*/) {
  return {.body = to_text(Json{
              {"name", "ellice"}, {"version", version().number}, {"extensions", Json::array()}})};
}

Reply answer_v2_model(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  Json inputs = Json::array();
  for (const Feature& feature : model.model()->schema().features) {
    inputs.push_back({{"name", feature.name},
                      {"datatype", feature.is_number() ? "FP64" : "BYTES"},
                      {"shape", Json::array({-1})}});
  }
  const auto output = [](std::string_view name, std::string_view type) {
    return Json{{"name", name}, {"datatype", type}, {"shape", Json::array({-1})}};
  };
  return {.body = to_text(Json{
              {"name", model.name()},
              {"versions", Json::array({model.model()->sha256})},
              {"platform", "ellice"},
              {"inputs", inputs},
              {"outputs", Json::array({output("accepted", "BOOL"), output("probability", "FP64"),
                                       output(recourse_output, "BYTES")})}}),
          .model = model.name()};
}

Reply answer_v2_ready(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  return {.body = to_text(Json{{"name", model.name()}, {"ready", true}}), .model = model.name()};
}

Reply answer_v2_infer(const RouteCall& call) {
  const ServedModel& model = named_model(call);
  Tensors tensors = tensors_of(parse_body(call.call->body));
  const auto wants = [&](std::string_view name) {
    return tensors.outputs.empty() ? name != recourse_output
                                   : tensors.outputs.contains(std::string(name));
  };
  const Asked asked =
      asked_about(call, model, std::move(tensors.people), std::move(tensors.parameters));
  call.service->metrics().count_people("/v2/models/{name}/infer", asked.people.rows());
  if (asked.options.on_error == OnBadRow::skip)
    throw Refusal(422, "tensors have no place for a row that cannot be read",
                  "parameters.on_error");
  const QueryBlock block = read_people(model, asked);
  Json accepted = Json::array();
  Json probability = Json::array();
  for (const Query& query : block.queries) {
    const Prediction prediction = predict(*model.model(), query);
    accepted.push_back(prediction.accepted);
    probability.push_back(prediction.probability);
  }
  Json reply = {{"model_name", model.name()}, {"model_version", model.model()->sha256}};
  if (tensors.id) reply["id"] = *tensors.id;
  reply["outputs"] = Json::array();
  if (wants("accepted")) reply["outputs"].push_back(tensor("accepted", "BOOL", accepted));
  if (wants("probability")) reply["outputs"].push_back(tensor("probability", "FP64", probability));
  if (wants(recourse_output)) {
    Json records = records_by_person(explain_people(call, model, asked), asked.people.rows(),
                                     model.model()->schema());
    reply["outputs"].push_back(tensor(recourse_output, "BYTES", std::move(records)));
  }
  return {.body = to_text(reply), .model = model.name()};
}

}  // namespace ellice::serve
