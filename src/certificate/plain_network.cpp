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
    for (Index j = 0; j < layer.weights.rows(); ++j) {
      Unit unit{.bias = layer.bias(j)};
      for (Index i = 0; i < layer.weights.cols(); ++i) unit.weights.push_back(layer.weights(j, i));
      plain.units.push_back(std::move(unit));
    }
    layers_.push_back(std::move(plain));
  }
}

std::vector<std::vector<long double>> PlainNetwork::activations(VectorArg x) const {
  std::vector<std::vector<long double>> result;
  result.emplace_back(x.begin(), x.end());
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    std::vector<long double> outputs;
    for (const Unit& unit : layers_[l].units) {
      long double z = unit.bias;
      for (std::size_t i = 0; i < unit.weights.size(); ++i) z += unit.weights[i] * result[l][i];
      outputs.push_back(respond(layers_[l].activation, z).value);
    }
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
  const std::vector<long double> h = features_and_one(x);
  const Unit& head = layers_.back().units.front();
  long double sum = head.bias;
  for (std::size_t i = 0; i < head.weights.size(); ++i) sum += head.weights[i] * h[i];
  return sum;
}

long double PlainNetwork::logit_scale(VectorArg x) const {
  const std::vector<long double> h = features_and_one(x);
  const Unit& head = layers_.back().units.front();
  long double sum = std::abs(head.bias);
  for (std::size_t i = 0; i < head.weights.size(); ++i) sum += std::abs(head.weights[i] * h[i]);
  return sum;
}

std::vector<long double> PlainNetwork::jacobian(VectorArg x) const {
  const std::vector<std::vector<long double>> a = activations(x);
  // By layer: ∂f/∂z of its units, from the head down.
  std::vector<std::vector<long double>> delta(layers_.size());
  delta.back() = {1};
  for (std::size_t l = layers_.size() - 1; l-- > 0;) {
    for (std::size_t j = 0; j < layers_[l].units.size(); ++j) {
      const Unit& unit = layers_[l].units[j];
      long double z = unit.bias;
      for (std::size_t i = 0; i < unit.weights.size(); ++i) z += unit.weights[i] * a[l][i];
      long double above = 0;
      for (std::size_t k = 0; k < delta[l + 1].size(); ++k) {
        above += layers_[l + 1].units[k].weights[j] * delta[l + 1][k];
      }
      delta[l].push_back(above * respond(layers_[l].activation, z).slope);
    }
  }
  std::vector<long double> result;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    for (const long double d : delta[l]) {
      for (const long double input : a[l]) result.push_back(d * input);
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
      long double z = unit.bias;
      long double terms = std::abs(unit.bias);
      for (std::size_t i = 0; i < unit.weights.size(); ++i) {
        z += unit.weights[i] * a[l][i];
        terms += std::abs(unit.weights[i] * a[l][i]);
      }
      if (terms > 0 && std::abs(z) <= width * terms) return true;
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
