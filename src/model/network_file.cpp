#include "model/network_file.hpp"

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// One for each feature, with its columns.
std::vector<InputGroup> groups_from_json(JsonObject& object, const Encoder& encoder) {
  std::vector<JsonObject> entries = object.objects("groups");
  const std::vector<Feature>& features = encoder.schema().features;
  if (entries.size() != features.size())
    object.wrong("groups", fmt::format("an entry for each of the {} features", features.size()));
  std::vector<InputGroup> groups;
  for (std::size_t j = 0; j < entries.size(); ++j) {
    const InputGroup group{.columns = static_cast<Index>(entries[j].integer("columns")),
                           .monotone = entries[j].choice<Monotone>("monotone")};
    if (group.columns != encoder.column_count(j)) {
      entries[j].wrong("columns", fmt::format("{}, the columns of \"{}\"", encoder.column_count(j),
                                              features[j].name));
    }
    if (group.columns > 1 && group.monotone != Monotone::any)
      entries[j].wrong("monotone", "\"any\", as the feature has several columns");
    entries[j].finish();
    groups.push_back(group);
  }
  return groups;
}

/// What is no parameter is 0, and what keeps features monotone has its sign.
void check_structure(const Network& network, std::vector<JsonObject>& layers) {
  if (network.groups.empty()) return;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    Matrix outside = network.layers[l].weights;
    network.for_each_block(l, [&](const LayerBlock& block) {
      outside.block(block.first_unit, block.first_input, block.units, block.inputs).setZero();
    });
    for (Index i = 0; i < outside.rows(); ++i) {
      for (Index j = 0; j < outside.cols(); ++j) {
        if (outside(i, j) == 0) continue;
        layers[l].wrong("weights", fmt::format("0 at [{}][{}], as unit {} is not of the feature "
                                               "that input {} belongs to (network.groups)",
                                               i, j, i, j));
      }
    }
  }
  const Vector signs = parameter_signs(network);
  if (signs.size() == 0) return;
  const Vector parameters = parameter_vector(network);
  Index end = 0;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Index first = end;
    end += network.weights_of(l) + network.layers[l].bias.size();
    const auto broken =
        signs.segment(first, end - first).array() * parameters.segment(first, end - first).array() <
        0;
    if (broken.any()) {
      layers[l].wrong("weights",
                      "the signs that keep features monotone (docs/theory.md, Result 71)");
    }
  }
}

}  // namespace

Json network_to_json(const Network& network) {
  Json layers = Json::array();
  for (const Layer& layer : network.layers) {
    layers.push_back({{"weights", to_json_rows(layer.weights)},
                      {"bias", to_json_array(layer.bias)},
                      {"activation", std::string(enum_name(layer.activation))}});
  }
  Json result = {{"kind", std::string(enum_name(network.kind))}, {"layers", layers}};
  for (const InputGroup& group : network.groups) {
    result["groups"].push_back(
        {{"columns", group.columns}, {"monotone", std::string(enum_name(group.monotone))}});
  }
  return result;
}

Network network_from_json(JsonObject object, const Encoder& encoder) {
  const Schema& schema = encoder.schema();
  Index inputs = encoder.columns();
  Network network{.kind = object.choice<NetworkKind>("kind")};
  const bool is_nam = network.kind == NetworkKind::nam;
  if (is_nam) network.groups = groups_from_json(object, encoder);
  std::vector<JsonObject> layers = object.objects("layers");
  if (network.kind == NetworkKind::logistic && layers.size() != 1) {
    object.wrong("layers", "exactly one layer, as kind is \"logistic\"");
  }
  if ((is_nam || network.kind == NetworkKind::mlp) && layers.size() < 2) {
    object.wrong("layers", fmt::format("hidden layers and a head, as kind is \"{}\"",
                                       enum_name(network.kind)));
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    JsonObject& entry = layers[l];
    Layer layer{.weights = entry.matrix("weights", {}, inputs)};
    // Beyond that scores and their squares overflow.
    if (layer.weights.size() > 0 && layer.weights.cwiseAbs().maxCoeff() > 1e100)
      entry.wrong("weights", "numbers of at most 1e100");
    const Index outputs = layer.weights.rows();
    const bool is_head = l + 1 == layers.size();
    if (is_head && network.kind == NetworkKind::softmax) {
      const auto classes = static_cast<Index>(schema.target.classes.size());
      require_input(classes >= 2 && outputs == classes,
                    "{}: network.layers[{}].weights: {} outputs found, expected one for each of "
                    "the {} classes of schema.target.classes",
                    object.source(), l, outputs, classes);
    } else {
      require_input(!is_head || outputs == 1,
                    "{}: network.layers[{}].weights: one output expected, found {}: the last layer "
                    "gives the logit",
                    object.source(), l, outputs);
    }
    if (outputs == 0) entry.wrong("weights", "at least one row, one for each unit");
    if (is_nam && !is_head && outputs % static_cast<Index>(network.groups.size()) != 0) {
      entry.wrong("weights", fmt::format("as many rows for each of the {} groups, found {}",
                                         network.groups.size(), outputs));
    }
    layer.bias = entry.vector("bias", outputs);
    if (layer.bias.size() > 0 && layer.bias.cwiseAbs().maxCoeff() > 1e100)
      entry.wrong("bias", "numbers of at most 1e100");
    layer.activation = entry.choice<Activation>("activation");
    if (is_head && layer.activation != Activation::identity) {
      entry.wrong("activation", network.kind == NetworkKind::softmax
                                    ? "\"identity\": the last layer gives the scores"
                                    : "\"identity\": the last layer gives the logit");
    }
    entry.finish();
    network.layers.push_back(std::move(layer));
    inputs = outputs;
  }
  check_structure(network, layers);
  object.finish();
  return network;
}

}  // namespace ellice
