#include "support/random_network.hpp"

namespace ellice {

Network random_network(Index inputs, const std::vector<Index>& hidden, Activation activation,
                       Random random) {
  Network network{.kind = hidden.empty() ? NetworkKind::logistic : NetworkKind::mlp};
  Index width = inputs;
  const auto add = [&](Index outputs, Activation kind) {
    Layer layer{.weights = Matrix(outputs, width), .bias = Vector(outputs), .activation = kind};
    const double scale = 1.5 / std::sqrt(static_cast<double>(width));
    for (double& w : layer.weights.reshaped()) w = scale * random.normal();
    for (double& b : layer.bias) b = 0.3 * random.normal();
    network.layers.push_back(std::move(layer));
    width = outputs;
  };
  for (const Index outputs : hidden) add(outputs, activation);
  add(1, Activation::identity);
  return network;
}

}  // namespace ellice
