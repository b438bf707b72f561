#include "certificate/plain_network.hpp"

#include <cmath>

namespace ellice {

namespace {

/// φ(z) and φ′(z).
struct Response {
  long double value = 0;
  long double slope = 1;
};

Response respond(Activation kind, long double z) {
  switch (kind) {
    case Activation::relu:
      return z > 0 ? Response{.value = z} : Response{.value = 0, .slope = 0};
    case Activation::tanh: {
      // tanh|z| = −t/(t+2) and 1 − tanh² = 4(t+1)/(t+2)² with t = exp(−2|z|) − 1.
      const long double t = std::expm1(-2 * std::abs(z));
      const long double size = -t / (t + 2);
      return {.value = z < 0 ? -size : size, .slope = 4 * (t + 1) / ((t + 2) * (t + 2))};
    }
    case Activation::sigmoid: {
      const long double t = std::exp(-std::abs(z));
      return {.value = (z < 0 ? t : 1) / (1 + t), .slope = t / ((1 + t) * (1 + t))};
    }
    case Activation::identity:
      break;
  }
  return {.value = z};
}

}  // namespace

PlainNetwork::PlainNetwork(const Network& network) {
  for (const Layer& layer : network.layers) {
    PlainLayer plain{.activation = layer.activation};
    const bool is_first = &layer == &network.layers.front();
    const bool is_head = &layer == &network.layers.back();
    // A unit of a hidden layer reads what belongs to its own group of inputs: the columns of the
    // group, or the group's share of the units below.
    const auto groups = static_cast<Index>(is_head ? 0 : network.groups.size());
    for (Index j = 0; j < layer.weights.rows(); ++j) {
      Index first = 0;
      Index end = layer.weights.cols();
      if (groups > 0) {
        const Index group = j * groups / layer.weights.rows();
        first = group * layer.weights.cols() / groups;
        end = (group + 1) * layer.weights.cols() / groups;
        if (is_first) {
          first = 0;
          for (Index g = 0; g < group; ++g)
            first += network.groups[static_cast<std::size_t>(g)].columns;
          end = first + network.groups[static_cast<std::size_t>(group)].columns;
        }
      }
      Unit unit{.first = static_cast<std::size_t>(first), .bias = layer.bias(j)};
      for (Index i = first; i < end; ++i) unit.weights.push_back(layer.weights(j, i));
      plain.units.push_back(std::move(unit));
    }
    layers_.push_back(std::move(plain));
  }
}

long double PlainNetwork::sum(const Unit& unit, const std::vector<long double>& inputs) {
  long double z = unit.bias;
  for (std::size_t i = 0; i < unit.weights.size(); ++i)
    z += unit.weights[i] * inputs[unit.first + i];
  return z;
}

long double PlainNetwork::sum_of_sizes(const Unit& unit, const std::vector<long double>& inputs) {
  long double size = std::abs(unit.bias);
  for (std::size_t i = 0; i < unit.weights.size(); ++i)
    size += std::abs(unit.weights[i] * inputs[unit.first + i]);
  return size;
}

std::vector<std::vector<long double>> PlainNetwork::activations(VectorArg x) const {
  std::vector<std::vector<long double>> result;
  result.emplace_back(x.begin(), x.end());
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    std::vector<long double> outputs;
    for (const Unit& unit : layers_[l].units)
      outputs.push_back(respond(layers_[l].activation, sum(unit, result[l])).value);
    result.push_back(std::move(outputs));
  }
  return result;
}

std::vector<long double> PlainNetwork::features_and_one(VectorArg x) const {
  std::vector<long double> result = activations(x).back();
  result.push_back(1);
  return result;
}

long double PlainNetwork::logit(VectorArg x) const {
  return sum(layers_.back().units.front(), activations(x).back());
}

std::vector<long double> PlainNetwork::layer_sizes(const PlainLayer& layer,
                                                   const std::vector<long double>& inputs) {
  std::vector<long double> result;
  for (const Unit& unit : layer.units) {
    const long double more = layer.activation == Activation::sigmoid ? 1 : 0;
    result.push_back(sum_of_sizes(unit, inputs) + more);
  }
  return result;
}

std::vector<std::vector<long double>> PlainNetwork::sizes(VectorArg x) const {
  std::vector<std::vector<long double>> result(1);
  for (const double value : x) result.front().push_back(std::abs(value));
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l)
    result.push_back(layer_sizes(layers_[l], result.back()));
  return result;
}

long double PlainNetwork::logit_size(VectorArg x) const {
  return layer_sizes(layers_.back(), sizes(x).back()).front();
}

long double PlainNetwork::jacobian_size(VectorArg x) const {
  const std::vector<std::vector<long double>> below = sizes(x);
  std::vector<long double> delta = {1};
  long double square = 0;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    long double inputs = 1;
    for (const long double size : below[l]) inputs += size * size;
    for (const long double size : delta) square += size * size * inputs;
    if (l == 0) break;
    std::vector<long double> next(below[l].size(), 0);
    for (std::size_t k = 0; k < delta.size(); ++k) {
      const Unit& unit = layers_[l].units[k];
      for (std::size_t i = 0; i < unit.weights.size(); ++i)
        next[unit.first + i] += std::abs(unit.weights[i]) * delta[k];
    }
    const Activation kind = layers_[l - 1].activation;
    const bool is_curved = kind == Activation::tanh || kind == Activation::sigmoid;
    for (std::size_t i = 0; is_curved && i < next.size(); ++i) next[i] *= 1 + 2 * below[l][i];
    delta = std::move(next);
  }
  return std::sqrt(square);
}

std::vector<long double> PlainNetwork::jacobian(VectorArg x) const {
  const std::vector<std::vector<long double>> a = activations(x);
  // By layer: ∂f/∂z of its units, from the head down.
  std::vector<std::vector<long double>> delta(layers_.size());
  delta.back() = {1};
  for (std::size_t l = layers_.size() - 1; l-- > 0;) {
    std::vector<long double> above(layers_[l].units.size(), 0);
    for (std::size_t k = 0; k < delta[l + 1].size(); ++k) {
      const Unit& reader = layers_[l + 1].units[k];
      for (std::size_t i = 0; i < reader.weights.size(); ++i)
        above[reader.first + i] += reader.weights[i] * delta[l + 1][k];
    }
    for (std::size_t j = 0; j < layers_[l].units.size(); ++j) {
      const long double z = sum(layers_[l].units[j], a[l]);
      delta[l].push_back(above[j] * respond(layers_[l].activation, z).slope);
    }
  }
  std::vector<long double> result;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (std::size_t j = 0; j < layers_[l].units.size(); ++j) {
      const Unit& unit = layers_[l].units[j];
      for (std::size_t i = 0; i < unit.weights.size(); ++i)
        result.push_back(delta[l][j] * a[l][unit.first + i]);
    }
    result.insert(result.end(), delta[l].begin(), delta[l].end());
  }
  return result;
}

bool PlainNetwork::is_on_kink(VectorArg x) const {
  constexpr long double width = 1e-18L;  // of its terms: some twenty units of 64 bits
  const std::vector<std::vector<long double>> a = activations(x);
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    if (layers_[l].activation != Activation::relu) continue;
    for (const Unit& unit : layers_[l].units) {
      const long double terms = sum_of_sizes(unit, a[l]);
      if (terms > 0 && std::abs(sum(unit, a[l])) <= width * terms) return true;
    }
  }
  return false;
}

void PlainNetwork::move(const std::vector<long double>& step) {
  std::size_t next = 0;
  for (PlainLayer& layer : layers_) {
    for (Unit& unit : layer.units) {
      for (long double& weight : unit.weights) weight += step[next++];
    }
    for (Unit& unit : layer.units) unit.bias += step[next++];
  }
}

}  // namespace ellice
