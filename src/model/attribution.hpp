#pragma once

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// What each input adds to the difference of two logits: integrated gradients along the straight
/// path between the points,
///
///   c_j = (to_j − from_j)·∫₀¹ ∂f/∂x_j(from + s·(to − from)) ds,   Σ c_j = f(to) − f(from)
///
/// (theory.md, Result 36). For a linear model c_j = w_j·(to_j − from_j).
struct Attribution {
  Vector contributions = {};  // by input
  double from_logit = 0;
  double to_logit = 0;
  /// f(to) − f(from) − Σ c_j: rounding for linear models and networks of relu units, whose integral
  /// is a finite sum; elsewhere also the error of the quadrature.
  double residual = 0;
};

[[nodiscard]] Attribution attribute(const Network& network, VectorArg from, VectorArg to);

}  // namespace ellice
