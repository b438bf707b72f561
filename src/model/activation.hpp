#pragma once

#include <Eigen/Core>
#include <cmath>

#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// values ← φ(values), for a vector or a matrix.
template <class Dense>
void activate(Activation kind, Dense& values) {
  switch (kind) {
    case Activation::relu:
      values = values.cwiseMax(0.0);
      return;
    case Activation::tanh:
      values = values.array().tanh().matrix();
      return;
    case Activation::sigmoid:
      values = values.unaryExpr([](double z) { return sigmoid(z); });
      return;
    case Activation::identity:
      return;
  }
}

/// φ′ as a function of a = φ(z): every activation here allows that. 0 for relu at its kink.
[[nodiscard]] inline double activation_slope(Activation kind, double a) {
  switch (kind) {
    case Activation::relu:
      return a > 0 ? 1 : 0;
    case Activation::tanh:
      return 1 - a * a;
    case Activation::sigmoid:
      return a * (1 - a);
    case Activation::identity:
      break;
  }
  return 1;
}

/// φ″ as a function of a = φ(z); 0 for relu, away from its kink.
[[nodiscard]] inline double activation_curvature(Activation kind, double a) {
  switch (kind) {
    case Activation::tanh:
      return -2 * a * (1 - a * a);
    case Activation::sigmoid:
      return a * (1 - a) * (1 - 2 * a);
    case Activation::relu:
    case Activation::identity:
      break;
  }
  return 0;
}

}  // namespace ellice
