#include "support/random_network.hpp"

namespace ellice {

Network random_network(Index inputs, const std::vector<Index>& hidden, Activation activation,
                       Random random, const std::vector<InputGroup>& groups) {
  Network network{.kind = !groups.empty()  ? NetworkKind::nam
                          : hidden.empty() ? NetworkKind::logistic
                                           : NetworkKind::mlp,
                  .groups = groups};
  std::vector<std::size_t> owners;  // of the inputs of the next layer
  for (std::size_t g = 0; g < groups.size(); ++g)
    owners.insert(owners.end(), static_cast<std::size_t>(groups[g].columns), g);
  Index width = inputs;
  const auto add = [&](Index outputs, Activation kind) {
    Layer layer{.weights = Matrix(outputs, width), .bias = Vector(outputs), .activation = kind};
    const double scale = 1.5 / std::sqrt(static_cast<double>(width));
    for (double& w : layer.weights.reshaped()) w = scale * random.normal();
    for (double& b : layer.bias) b = 0.3 * random.normal();
    network.layers.push_back(std::move(layer));
    width = outputs;
  };
  const Index shares = groups.empty() ? 1 : static_cast<Index>(groups.size());
  for (const Index units : hidden) {
    add(shares * units, activation);
    if (groups.empty()) continue;
    Matrix& weights = network.layers.back().weights;
    std::vector<std::size_t> next;
    for (Index j = 0; j < weights.rows(); ++j) {
      next.push_back(static_cast<std::size_t>(j / units));
      Index own = 0;
      for (Index i = 0; i < weights.cols(); ++i) {
        const bool is_own = owners[static_cast<std::size_t>(i)] == next.back();
        own += is_own ? 1 : 0;
        if (!is_own) weights(j, i) = 0;
      }
      weights.row(j) *= std::sqrt(static_cast<double>(weights.cols()) / static_cast<double>(own));
    }
    owners = next;
  }
  add(1, Activation::identity);
  return network;
}

}  // namespace ellice
