#include "ellice/model/network.hpp"

#include "activation.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

Index Network::parameters() const {
  Index count = 0;
  for (const Layer& layer : layers) count += layer.weights.size() + layer.bias.size();
  return count;
}

Vector Network::head() const {
  const Layer& last = layers.back();
  const Index size = last.weights.cols() + 1;
  Vector theta(outputs() * size);
  for (Index k = 0; k < outputs(); ++k) {
    theta.segment(k * size, size) << last.weights.row(k).transpose(), last.bias(k);
  }
  return theta;
}

void Network::set_head(VectorArg theta) {
  Layer& last = layers.back();
  const Index size = last.weights.cols() + 1;
  require(theta.size() == outputs() * size, "the head has {} parameters, found {}",
          outputs() * size, theta.size());
  for (Index k = 0; k < outputs(); ++k) {
    last.weights.row(k) = theta.segment(k * size, size - 1).transpose();
    last.bias(k) = theta(k * size + size - 1);
  }
}

Vector Network::features(VectorArg x) const {
  Vector a = x;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    Vector z = layers[l].bias;
    z.noalias() += layers[l].weights * a;
    activate(layers[l].activation, z);
    a = std::move(z);
  }
  return a;
}

RowMatrix Network::row_features(RowMatrixArg rows) const {
  RowMatrix a = rows;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    RowMatrix z = layers[l].bias.transpose().replicate(rows.rows(), 1);
    z.noalias() += a * layers[l].weights.transpose();
    activate(layers[l].activation, z);
    a = std::move(z);
  }
  return a;
}

double Network::logit(VectorArg x) const {
  const Layer& last = layers.back();
  require(has_one_output(), "the network has {} outputs, expected one", outputs());
  if (is_linear()) return last.weights.row(0).dot(x) + last.bias(0);
  return last.weights.row(0).dot(features(x)) + last.bias(0);
}

Vector Network::logits(RowMatrixArg rows) const {
  const Layer& last = layers.back();
  require(has_one_output(), "the network has {} outputs, expected one", outputs());
  Vector result = is_linear() ? Vector(rows * last.weights.row(0).transpose())
                              : Vector(row_features(rows) * last.weights.row(0).transpose());
  result.array() += last.bias(0);
  return result;
}

Vector Network::scores(VectorArg x) const {
  Vector result = layers.back().bias;
  result.noalias() += layers.back().weights * features(x);
  return result;
}

RowMatrix Network::row_scores(RowMatrixArg rows) const {
  RowMatrix result = layers.back().bias.transpose().replicate(rows.rows(), 1);
  result.noalias() += row_features(rows) * layers.back().weights.transpose();
  return result;
}

Network linear_network(VectorArg theta) {
  const Index d = theta.size() - 1;
  return {.kind = NetworkKind::logistic,
          .layers = {{.weights = theta.head(d).transpose(), .bias = theta.tail(1)}}};
}

Network softmax_network(VectorArg theta, Index classes) {
  require(classes >= 2 && theta.size() % classes == 0, "{} parameters do not make {} classes",
          theta.size(), classes);
  const Index d = theta.size() / classes - 1;
  Network network{.kind = NetworkKind::softmax,
                  .layers = {{.weights = Matrix(classes, d), .bias = Vector(classes)}}};
  network.set_head(theta);
  return network;
}

Vector parameter_vector(const Network& network) {
  Vector result(network.parameters());
  Index next = 0;
  for (const Layer& layer : network.layers) {
    Eigen::Map<RowMatrix>(result.data() + next, layer.weights.rows(), layer.weights.cols()) =
        layer.weights;
    next += layer.weights.size();
    result.segment(next, layer.bias.size()) = layer.bias;
    next += layer.bias.size();
  }
  return result;
}

void set_parameters(Network& network, VectorArg parameters) {
  require(parameters.size() == network.parameters(), "the network has {} parameters, found {}",
          network.parameters(), parameters.size());
  Index next = 0;
  for (Layer& layer : network.layers) {
    layer.weights = Eigen::Map<const RowMatrix>(parameters.data() + next, layer.weights.rows(),
                                                layer.weights.cols());
    next += layer.weights.size();
    layer.bias = parameters.segment(next, layer.bias.size());
    next += layer.bias.size();
  }
}

Network with_parameters(const Network& network, VectorArg parameters) {
  Network result = network;
  set_parameters(result, parameters);
  return result;
}

}  // namespace ellice
