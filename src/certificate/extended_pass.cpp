#include "certificate/extended_pass.hpp"

#include <cmath>

namespace ellice {

namespace {

/// What rounding may do to Σ wᵢaᵢ + b, relative to the sum of sizes: a hundred units of extended
/// precision.
constexpr long double kink_width = 1e-17L;

long double activated(Activation kind, long double z) {
  switch (kind) {
    case Activation::relu:
      return z > 0 ? z : 0;
    case Activation::tanh:
      return std::tanh(z);
    case Activation::sigmoid:
      return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
    case Activation::identity:
      break;
  }
  return z;
}

/// As a function of a = φ(z).
long double slope(Activation kind, long double a) {
  switch (kind) {
    case Activation::relu:
      return a > 0 ? 1 : 0;
    case Activation::tanh:
      return (1 - a) * (1 + a);
    case Activation::sigmoid:
      return a * (1 - a);
    case Activation::identity:
      break;
  }
  return 1;
}

}  // namespace

ExtendedPass extended_pass(const Network& network, const LongVector& parameters, VectorArg x) {
  ExtendedPass pass;
  pass.inputs.emplace_back(x.cast<long double>());
  pass.sizes.emplace_back(pass.inputs.back().cwiseAbs());
  const long double* next = parameters.data();
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Index rows = layer.weights.rows();
    const Index weights = network.weights_of(l);
    const Eigen::Map<const LongVector> bias(next + weights, rows);
    const LongVector& a = pass.inputs.back();
    LongVector z(rows);
    LongVector sizes(rows);
    LongVector below(rows);  // Σ|wᵢ|Aᵢ + |b|
    network.for_each_block(l, [&](const LayerBlock& block) {
      const Eigen::Map<const LongRowMatrix> part(next + block.first_weight, block.units,
                                                 block.inputs);
      const auto inputs = a.segment(block.first_input, block.inputs);
      z.segment(block.first_unit, block.units) = part * inputs;
      sizes.segment(block.first_unit, block.units) = part.cwiseAbs() * inputs.cwiseAbs();
      below.segment(block.first_unit, block.units) =
          part.cwiseAbs() * pass.sizes.back().segment(block.first_input, block.inputs);
    });
    z += bias;
    sizes += bias.cwiseAbs();
    below += bias.cwiseAbs();
    next += weights + rows;
    if (l + 1 == network.layers.size()) {
      pass.logit = z(0);
      pass.scale = sizes(0);
      pass.size = below(0);
      break;
    }
    for (Index j = 0; j < rows; ++j) {
      pass.on_kink = pass.on_kink || (layer.activation == Activation::relu && sizes(j) > 0 &&
                                      std::abs(z(j)) <= kink_width * sizes(j));
      z(j) = activated(layer.activation, z(j));
    }
    if (layer.activation == Activation::sigmoid) below.array() += 1;
    pass.inputs.push_back(std::move(z));
    pass.sizes.push_back(std::move(below));
  }
  return pass;
}

LongVector extended_jacobian(const Network& network, const LongVector& parameters,
                             const ExtendedPass& pass) {
  LongVector result(parameters.size());
  LongVector delta = LongVector::Ones(1);
  Index end = parameters.size();
  for (std::size_t l = network.layers.size(); l-- > 0;) {
    const Index rows = network.layers[l].weights.rows();
    const LongVector& a = pass.inputs[l];
    const Index weights = network.weights_of(l);
    end -= weights + rows;
    LongVector below(a.size());
    network.for_each_block(l, [&](const LayerBlock& block) {
      const Index first = end + block.first_weight;
      const auto of_units = delta.segment(block.first_unit, block.units);
      Eigen::Map<LongRowMatrix>(result.data() + first, block.units, block.inputs) =
          of_units * a.segment(block.first_input, block.inputs).transpose();
      below.segment(block.first_input, block.inputs) =
          Eigen::Map<const LongRowMatrix>(parameters.data() + first, block.units, block.inputs)
              .transpose() *
          of_units;
    });
    result.segment(end + weights, rows) = delta;
    if (l == 0) break;
    for (Index i = 0; i < below.size(); ++i) {
      below(i) *= slope(network.layers[l - 1].activation, a(i));
    }
    delta = std::move(below);
  }
  return result;
}

long double jacobian_size(const Network& network, const LongVector& parameters,
                          const ExtendedPass& pass) {
  long double square = 0;
  LongVector delta = LongVector::Ones(1);
  Index end = parameters.size();
  for (std::size_t l = network.layers.size(); l-- > 0;) {
    const LongVector& sizes = pass.sizes[l];
    square += delta.squaredNorm() * (sizes.squaredNorm() + 1);
    end -= network.weights_of(l) + delta.size();
    if (l == 0) break;
    LongVector below(sizes.size());
    network.for_each_block(l, [&](const LayerBlock& block) {
      below.segment(block.first_input, block.inputs) =
          Eigen::Map<const LongRowMatrix>(parameters.data() + end + block.first_weight, block.units,
                                          block.inputs)
              .cwiseAbs()
              .transpose() *
          delta.segment(block.first_unit, block.units);
    });
    const Activation activation = network.layers[l - 1].activation;
    // A slope that follows the unit's value is off by twice as much as that.
    if (activation == Activation::tanh || activation == Activation::sigmoid)
      below.array() *= 1 + 2 * sizes.array();
    delta = std::move(below);
  }
  return std::sqrt(square);
}

}  // namespace ellice
