#include "model/attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ellice/core/error.hpp"
#include "model/network_pass.hpp"

namespace ellice {

namespace {

// The quadrature ends where the contributions add up to this, relative to their sizes …
constexpr double completeness = 1e-13;
// … or with so many panels.
constexpr int most_panels = 1024;

bool is_smooth(const Layer& layer) {
  return layer.activation == Activation::tanh || layer.activation == Activation::sigmoid;
}

/// 0, 1 and where the path crosses a kink, in order. Up to the first smooth layer every unit is
/// affine between the kinks of the layers below it, so that its own are found by interpolation.
std::vector<double> kinks(NetworkPass& pass, VectorArg from, const Vector& step) {
  const std::vector<Layer>& layers = pass.network().layers;
  std::vector<double> ends = {0, 1};
  for (std::size_t l = 0; l + 1 < layers.size() && !is_smooth(layers[l]); ++l) {
    if (layers[l].activation != Activation::relu) continue;
    Matrix units(layers[l].bias.size(), static_cast<Index>(ends.size()));
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const Vector point = from + ends[k] * step;
      (void)pass.forward(point);
      units.col(static_cast<Index>(k)) = layers[l].weights * pass.input_of(l) + layers[l].bias;
    }
    const std::vector<double> known = ends;
    for (Index k = 0; k + 1 < units.cols(); ++k) {
      const double begin = known[static_cast<std::size_t>(k)];
      const double width = known[static_cast<std::size_t>(k) + 1] - begin;
      for (Index i = 0; i < units.rows(); ++i) {
        const double before = units(i, k), after = units(i, k + 1);
        if ((before < 0) != (after < 0)) ends.push_back(begin + width * before / (before - after));
      }
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  return ends;
}

struct Node {
  double place = 0;  // in [0, 1]
  double weight = 0;
};

/// Gauss and Legendre's five points, exact for polynomials up to degree nine.
const std::array<Node, 5>& gauss_legendre() {
  static const std::array<Node, 5> nodes = [] {
    const double near = std::sqrt(5 - 2 * std::sqrt(10.0 / 7)) / 3;
    const double far = std::sqrt(5 + 2 * std::sqrt(10.0 / 7)) / 3;
    const double heavy = (322 + 13 * std::sqrt(70.0)) / 1800;
    const double light = (322 - 13 * std::sqrt(70.0)) / 1800;
    return std::array<Node, 5>{{{(1 - far) / 2, light},
                                {(1 - near) / 2, heavy},
                                {0.5, 64.0 / 225},
                                {(1 + near) / 2, heavy},
                                {(1 + far) / 2, light}}};
  }();
  return nodes;
}

/// ∫₀¹ ∇f(from + s·step) ds, each piece between kinks in `panels` parts.
Vector mean_gradient(NetworkPass& pass, VectorArg from, const Vector& step,
                     const std::vector<double>& ends, int panels) {
  Vector sum = Vector::Zero(step.size());
  Vector gradient;
  const auto add = [&](double place, double weight) {
    const Vector point = from + place * step;
    (void)pass.forward(point);
    pass.backward();
    pass.input_gradient(gradient);
    sum += weight * gradient;
  };
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
    const double width = (ends[k + 1] - ends[k]) / std::max(panels, 1);
    if (panels == 0) {  // the gradient is constant on the piece
      add((ends[k] + ends[k + 1]) / 2, width);
      continue;
    }
    for (int panel = 0; panel < panels; ++panel) {
      for (const Node& node : gauss_legendre()) {
        add(ends[k] + (panel + node.place) * width, width * node.weight);
      }
    }
  }
  return sum;
}

/// The gradient of a linear model is its weights, wherever the path leads.
Attribution attribute_linear(const Layer& layer, VectorArg from, VectorArg to) {
  const auto weights = layer.weights.row(0);
  Attribution result{.contributions = (to - from).cwiseProduct(weights.transpose()),
                     .from_logit = weights.dot(from) + layer.bias(0),
                     .to_logit = weights.dot(to) + layer.bias(0)};
  result.residual = result.to_logit - result.from_logit - result.contributions.sum();
  return result;
}

}  // namespace

Attribution attribute(const Network& network, VectorArg from, VectorArg to) {
  require(from.size() == network.inputs() && to.size() == network.inputs(),
          "points of {} and {} numbers, expected {}, the network's inputs", from.size(), to.size(),
          network.inputs());
  require(network.layers.back().weights.rows() == 1,
          "contributions to one logit, but the network has {}",
          network.layers.back().weights.rows());
  if (network.layers.size() == 1) return attribute_linear(network.layers.front(), from, to);
  NetworkPass pass(network);
  const Vector step = to - from;
  Attribution result{.from_logit = pass.forward(from), .to_logit = pass.forward(to)};
  const std::vector<double> ends = kinks(pass, from, step);
  const auto with_panels = [&](int panels) {
    result.contributions = step.cwiseProduct(mean_gradient(pass, from, step, ends, panels));
    result.residual = result.to_logit - result.from_logit - result.contributions.sum();
    return std::abs(result.residual) <=
           completeness * (result.contributions.lpNorm<1>() + std::abs(result.to_logit) +
                           std::abs(result.from_logit));
  };
  if (std::none_of(network.layers.begin(), network.layers.end(), is_smooth)) {
    (void)with_panels(0);
    return result;
  }
  for (int panels = 8; !with_panels(panels) && panels < most_panels;) panels *= 2;
  return result;
}

}  // namespace ellice
