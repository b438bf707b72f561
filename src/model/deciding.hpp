#pragma once

// What decides about people: the deployed parameters of a model that has some, else its own.

#include "ellice/model/model.hpp"

namespace ellice {

/// Of a model with one output.
[[nodiscard]] inline double deciding_logit(const Model& model, VectorArg z) {
  if (!model.deployed) return model.logit(z);
  const Vector features = model.network.features(z);
  const Vector& head = model.deployed->head;
  return features.dot(head.head(features.size())) + head(features.size());
}

[[nodiscard]] inline Network deciding_network(const Model& model) {
  Network network = model.network;
  if (model.deployed) network.set_head(model.deployed->head);
  return network;
}

}  // namespace ellice
