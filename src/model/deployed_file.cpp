#include "core/as_input.hpp"
#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/deployed.hpp"

namespace ellice {

namespace {

DeployedInput input_from_json(JsonObject object) {
  DeployedInput input{.feature = object.string("feature")};
  if (object.has("level")) {
    input.level = object.string("level");
    if (input.level.empty()) object.wrong("level", "the text of a level");
  }
  if (object.has("offset")) input.offset = object.number("offset");
  if (object.has("scale")) input.scale = object.number("scale");
  object.finish();
  return input;
}

Layer layer_from_json(JsonObject object, Index inputs, bool is_last) {
  Layer layer{.weights = object.matrix("weights", {}, inputs)};
  layer.bias = object.vector("bias", layer.weights.rows());
  if (!is_last || object.has("activation"))
    layer.activation = object.choice<Activation>("activation");
  object.finish();
  return layer;
}

RowWeights given_weights(JsonObject object) {
  RowWeights weights;
  if (object.has("column")) weights.column = object.string("column");
  if (object.has("class_weight")) weights.class_weight = object.choice<ClassWeight>("class_weight");
  if (weights.column.empty() && weights.class_weight == ClassWeight::none)
    object.wrong("column", "the name of a column, as there is no class_weight");
  object.finish();
  return weights;
}

DeployedModel read_description(const Json& document, const std::string& source) {
  JsonObject object(document, source);
  (void)object.envelope("ellice.deployed", 1);
  DeployedModel result{.source = source};
  for (JsonObject& input : object.objects("inputs"))
    result.inputs.push_back(input_from_json(std::move(input)));
  auto width = static_cast<Index>(result.inputs.size());
  std::vector<JsonObject> layers = object.objects("layers");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    result.layers.push_back(layer_from_json(std::move(layers[l]), width, l + 1 == layers.size()));
    width = result.layers.back().weights.rows();
  }
  if (object.has("event")) result.event = object.string("event");
  if (object.has("threshold")) result.threshold = object.number("threshold");
  if (object.has("loss")) result.loss = object.choice<LossKind>("loss");
  if (object.has("l2")) result.l2 = object.number("l2");
  if (object.has("l1")) result.l1 = object.number("l1");
  if (object.has("penalties")) {
    require_input(!object.has("l2"), "{}: found l2 and penalties, expected one of them", source);
    const Vector penalties = object.vector("penalties", static_cast<Index>(result.inputs.size()));
    result.penalties.assign(penalties.begin(), penalties.end());
  }
  if (object.has("penalize_bias")) result.penalize_bias = object.boolean("penalize_bias");
  if (object.has("weights")) result.weights = given_weights(object.object("weights"));
  if (object.has("precision")) result.precision = object.choice<Precision>("precision");
  if (object.has("tool")) result.tool = object.string("tool");
  object.finish();
  return result;
}

}  // namespace

DeployedModel parse_deployed(const std::string& text, const std::string& source) {
  DeployedModel result =
      as_input(source, [&] { return read_description(parse_json(text, source), source); });
  result.sha256 = sha256_hex(text);
  return result;
}

}  // namespace ellice
