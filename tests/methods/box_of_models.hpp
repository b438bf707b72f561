#pragma once

#include <algorithm>

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// min f over the box of parameters, by the formulas themselves; at most one hidden layer.
inline double worst_logit(const Network& network, const Vector& x, double delta) {
  const double reach = delta * (1 + x.cwiseAbs().sum());
  if (network.is_linear()) return network.logit(x) - reach;
  const Layer& first = network.layers[0];
  const Layer& head = network.layers[1];
  double value = head.bias[0] - delta;
  for (Index j = 0; j < first.bias.size(); ++j) {
    const double z = first.weights.row(j).dot(x) + first.bias[j];
    const double w = head.weights(0, j) - delta;
    value += w * std::max(0.0, w >= 0 ? z - reach : z + reach);
  }
  return value;
}

}  // namespace ellice
