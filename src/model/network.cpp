#include "ellice/model/network.hpp"

#include <algorithm>

#include "activation.hpp"
#include "ellice/core/error.hpp"
#include "model/block_product.hpp"

namespace ellice {

Index Network::weights_of(std::size_t layer) const {
  Index count = 0;
  for_each_block(layer, [&](const LayerBlock& block) { count += block.units * block.inputs; });
  return count;
}

Index Network::parameters() const {
  Index count = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) count += weights_of(l) + layers[l].bias.size();
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
    add_product(*this, l, a, z);
    activate(layers[l].activation, z);
    a = std::move(z);
  }
  return a;
}

RowMatrix Network::row_features(RowMatrixArg rows) const {
  RowMatrix a = rows;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    RowMatrix z = layers[l].bias.transpose().replicate(rows.rows(), 1);
    for_each_block(l, [&](const LayerBlock& block) {
      z.middleCols(block.first_unit, block.units).noalias() +=
          a.middleCols(block.first_input, block.inputs) * weights_in(layers[l], block).transpose();
    });
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
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    network.for_each_block(l, [&](const LayerBlock& block) {
      Eigen::Map<RowMatrix>(result.data() + next, block.units, block.inputs) =
          weights_in(layer, block);
      next += block.units * block.inputs;
    });
    result.segment(next, layer.bias.size()) = layer.bias;
    next += layer.bias.size();
  }
  return result;
}

void set_parameters(Network& network, VectorArg parameters) {
  require(parameters.size() == network.parameters(), "the network has {} parameters, found {}",
          network.parameters(), parameters.size());
  Index next = 0;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    network.for_each_block(l, [&](const LayerBlock& block) {
      layer.weights.block(block.first_unit, block.first_input, block.units, block.inputs) =
          Eigen::Map<const RowMatrix>(parameters.data() + next, block.units, block.inputs);
      next += block.units * block.inputs;
    });
    layer.bias = parameters.segment(next, layer.bias.size());
    next += layer.bias.size();
  }
}

Network with_parameters(const Network& network, VectorArg parameters) {
  Network result = network;
  set_parameters(result, parameters);
  return result;
}

Vector parameter_signs(const Network& network) {
  Vector signs;
  if (std::all_of(network.groups.begin(), network.groups.end(),
                  [](const InputGroup& group) { return group.monotone == Monotone::any; })) {
    return signs;
  }
  // The score grows with every other unit of the group and falls with those between.
  const auto side = [](Index unit) { return unit % 2 == 0 ? 1.0 : -1.0; };
  signs.setZero(network.parameters());
  Index next = 0;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    std::size_t group = 0;
    network.for_each_block(l, [&](const LayerBlock& block) {
      const bool is_signed = network.groups[group++].monotone != Monotone::any;
      for (Index u = 0; u < block.units; ++u) {
        for (Index i = 0; i < block.inputs; ++i, ++next) {
          if (is_signed) signs(next) = side(u) * (l == 0 ? 1 : side(i));
        }
      }
    });
    next += network.layers[l].bias.size();
  }
  const Index units =
      network.layers.back().weights.cols() / static_cast<Index>(network.groups.size());
  for (const InputGroup& group : network.groups) {
    const double way = group.monotone == Monotone::decrease ? -1 : 1;
    for (Index u = 0; u < units; ++u, ++next) {
      if (group.monotone != Monotone::any) signs(next) = way * side(u);
    }
  }
  return signs;
}

}  // namespace ellice
