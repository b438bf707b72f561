#include "model/deployed_rounding.hpp"

#include "ellice/core/error.hpp"
#include "model/activation.hpp"

namespace ellice {

namespace {

constexpr double double_unit = 0x1p-53;
constexpr double single_unit = 0x1p-24;
// Logistic functions and tanh of programs are this good, in units, absolutely.
constexpr double activation_units = 16;
// For the probability at the end: sizes that count like terms of the score.
constexpr double of_probability = 8;

double gamma(double roundings, double unit) {
  return roundings * unit / (1 - roundings * unit);
}

/// Of a sum of n products in the program's arithmetic, and of ours.
double relative(Index n, double unit) {
  const auto terms = static_cast<double>(n);
  return gamma(2 * terms + 8, unit) + gamma(4 * terms + 32, double_unit);
}

}  // namespace

double rounding_bound(const Model& model, VectorArg z) {
  require(model.deployed.has_value(), "the model is not one that decides elsewhere");
  const Deployed& deployed = *model.deployed;
  const Encoder& encoder = model.encoder;
  const double unit = deployed.precision == Precision::float32 ? single_unit : double_unit;
  Network network = model.network;
  network.set_head(deployed.head);
  const Vector raw = encoder.mean() + encoder.scale().cwiseProduct(z);
  const Vector sizes = (raw.cwiseAbs() + deployed.offsets).cwiseQuotient(encoder.scale());
  // Two outputs see the same inputs and are rounded by themselves.
  const auto sizes_of = [&](const Layer& layer) -> Matrix {
    const bool is_pair = &layer == &network.layers.back() && deployed.sizes.size() > 0;
    return is_pair ? Matrix(deployed.sizes.head(layer.weights.cols()).transpose())
                   : Matrix(layer.weights.cwiseAbs());
  };
  const Layer& first = network.layers.front();
  const Vector of_first = (sizes_of(first) * sizes).array() + (deployed.constant + of_probability);
  Vector error = relative(z.size(), unit) * of_first;
  Vector a = first.weights * z + first.bias;
  for (std::size_t l = 1; l < network.layers.size(); ++l) {
    const Activation kind = network.layers[l - 1].activation;
    activate(kind, a);
    const bool is_curved = kind == Activation::tanh || kind == Activation::sigmoid;
    if (is_curved) error.array() += activation_units * unit;
    const Layer& layer = network.layers[l];
    const bool is_pair = l + 1 == network.layers.size() && deployed.sizes.size() > 0;
    const Vector biases = is_pair ? Vector(deployed.sizes.tail(1)) : Vector(layer.bias.cwiseAbs());
    const Vector size = sizes_of(layer) * (a.cwiseAbs() + error) + biases;
    error = layer.weights.cwiseAbs() * error +
            relative(a.size(), unit) * Vector(size.array() + of_probability);
    a = layer.weights * a + layer.bias;
  }
  return error(0);
}

}  // namespace ellice
