#pragma once

// A network in extended precision, for the few numbers that go into certificates: they sit on the
// threshold by construction, and a checker with other rounding must agree with them.

#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

using LongRowMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct ExtendedPass {
  std::vector<LongVector> inputs = {};  // a_0 … a_{L−1}
  long double logit = 0;
  long double scale = 0;  // Σ|wᵢaᵢ| + |b| of the head: what the logit's rounding is measured by
  /// The same through all layers, as if nothing cancelled: what rounding of the units below is
  /// measured by (theory.md, Result 25); A_0 … A_{L−1}, and that of the logit.
  std::vector<LongVector> sizes = {};
  long double size = 0;
  /// A relu unit is so near to its kink that rounding decides whether it is on. The logit is
  /// continuous there, its derivatives are not.
  bool on_kink = false;
};

/// The network's shape with other parameters, in the order of parameter_vector().
[[nodiscard]] ExtendedPass extended_pass(const Network& network, const LongVector& parameters,
                                         VectorArg x);

/// J, the derivative of the logit in all parameters, at the point of the pass.
[[nodiscard]] LongVector extended_jacobian(const Network& network, const LongVector& parameters,
                                           const ExtendedPass& pass);

/// A bound of ‖J‖ as if nothing cancelled: what rounding of J is measured by.
[[nodiscard]] long double jacobian_size(const Network& network, const LongVector& parameters,
                                        const ExtendedPass& pass);

}  // namespace ellice
