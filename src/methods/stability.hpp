#pragma once

#include "core/random.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// The stability of Hamman et al. (2023) at a point, m = sigmoid(f − t) and xᵢ = x + noise:
///
///   R(x) = mean of m(xᵢ) − |m(x) − m(xᵢ)| = mean of min(m(x), 2m(xᵢ) − m(x))  ≤ m(x).
///
/// const, so that threads may share it.
class Stability {
 public:
  static constexpr double sigma = 0.1;  // of the noise, on every column

  /// For fixed noise, one draw per row: R is then a function like any other.
  Stability(const Network& network, double threshold, RowMatrixArg noise);
  /// For normal noise in the limit of all draws; linear models (theory.md, Result 43).
  Stability(const Network& network, double threshold);

  [[nodiscard]] double value(VectorArg x) const;
  /// The same, and ∇R: at a tie m(xᵢ) = m(x) the side on which m(x) counts.
  double gradient(VectorArg x, Vector& gradient) const;
  /// In closed form: R as a function of the logit less the threshold, and its derivative.
  struct AtLogit {
    double value = 0;
    double slope = 0;
  };
  [[nodiscard]] AtLogit at_logit(double logit) const;

 private:
  double evaluate(VectorArg x, Vector* gradient) const;

  Network network_;      // the threshold taken off its last bias
  RowMatrix projected_;  // noise through the first layer's weights, and a last row without noise
  double spread_ = 0;    // closed form: σ·‖w‖₂
};

/// `count` draws of σ·N(0, I). Antithetic: the second half is the first with its signs turned.
[[nodiscard]] RowMatrix stability_noise(Index count, Index columns, bool antithetic, Random random);

}  // namespace ellice
