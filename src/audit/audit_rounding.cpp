#include "audit/audit_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "certificate/verification_check.hpp"

namespace ellice::audit {

namespace {

using verification::unit_roundoff;

/// The steepest slope of φ, the width of its range, and what evaluating it may lose, relatively.
struct Steepness {
  long double slope = 1;
  long double width = std::numeric_limits<long double>::infinity();
  long double own = 0;
};

Steepness steepness(Activation kind) {
  switch (kind) {
    case Activation::tanh:
      return {.width = 2, .own = 4 * unit_roundoff};
    case Activation::sigmoid:
      return {.slope = 0.25L, .width = 1, .own = 4 * unit_roundoff};
    case Activation::relu:
    case Activation::identity:
      break;
  }
  return {};
}

}  // namespace

LongVector feature_rounding(const Network& network, VectorArg z, const LongVector& z_rounding) {
  LongVector a = z.cast<long double>().cwiseAbs();  // no less than the sizes of the inputs
  LongVector lost = z_rounding;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const LongMatrix weights = layer.weights.cast<long double>().cwiseAbs();
    const LongVector bias = layer.bias.cast<long double>().cwiseAbs();
    const auto terms = static_cast<long double>(a.size() + 2);
    const LongVector sizes = weights * (a + lost) + bias;
    const Steepness steep = steepness(layer.activation);
    const LongVector sums = weights * lost + terms * unit_roundoff * sizes;
    a = sizes.cwiseMin(steep.width);
    lost = (steep.slope * sums + steep.own * a).cwiseMin(steep.width);
  }
  LongVector result(lost.size() + 1);
  result << lost, 0.0L;
  return result;
}

LongVector move_rounding(const Encoder& from, const Encoder& to, VectorArg z) {
  LongVector result(z.size());
  for (Index i = 0; i < z.size(); ++i) {
    const long double terms = std::abs(static_cast<long double>(z(i)) * from.scale()(i)) +
                              std::abs(from.mean()(i)) + std::abs(to.mean()(i));
    result(i) = 4 * unit_roundoff * terms / to.scale()(i);
  }
  return result;
}

}  // namespace ellice::audit
