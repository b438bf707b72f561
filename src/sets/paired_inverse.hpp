#pragma once

#include "core/double_double.hpp"
#include "ellice/core/types.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

/// Numbers as sums of two doubles each, side by side.
struct PairedVector {
  Vector high = {};
  Vector low = {};

  PairedVector() = default;
  explicit PairedVector(Index size) : high(Vector::Zero(size)), low(Vector::Zero(size)) {}
  /// Exact for 64 bits.
  explicit PairedVector(const LongVector& values)
      : high(values.cast<double>()), low((values - high.cast<long double>()).cast<double>()) {}

  [[nodiscard]] Index size() const { return high.size(); }
  [[nodiscard]] DoubleDouble operator[](Index i) const {
    return DoubleDouble::exact_sum(high[i], low[i]);
  }
};

/// aᵀb, with the error of about twice the precision of double (theory.md, Result 54).
[[nodiscard]] DoubleDouble paired_dot(const PairedVector& a, const PairedVector& b);
[[nodiscard]] DoubleDouble paired_dot(const Vector& a, const PairedVector& b);

/// H⁻¹ as a sum of two matrices, so that one product gives H⁻¹a as exactly as refining a solve
/// would, at a tenth of its price.
class PairedInverse {
 public:
  /// H = hessian + rest, the latter at most the rounding of the former, or empty for 0.
  PairedInverse(const Matrix& hessian, const Matrix& rest, const CholeskyFactor& factor);

  /// Whether aᵀH⁻¹a comes out of it to 58 bits at least, whatever a is: proved from a residual
  /// (Result 54). Not so for ill-conditioned H.
  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] PairedVector solve(const PairedVector& a) const;

 private:
  Matrix high_;
  Matrix low_;
  bool is_exact_ = false;
};

}  // namespace ellice
