#include "sets/paired_inverse.hpp"

#include <cmath>

#include "core/infinity.hpp"
#include "sets/paired_product.hpp"

namespace ellice {

namespace {

// A thirtieth of what a double resolves.
constexpr double resolution = 0x1p-58;
constexpr double unit = 0x1p-53;

}  // namespace

DoubleDouble paired_dot(const PairedVector& a, const PairedVector& b) {
  double sum = 0;
  double errors = 0;
  for (Index i = 0; i < a.size(); ++i) {
    const double product = a.high[i] * b.high[i];
    const double product_error = std::fma(a.high[i], b.high[i], -product);
    const double total = sum + product;
    const double back = total - sum;
    errors += ((sum - (total - back)) + (product - back)) + product_error +
              (a.high[i] * b.low[i] + a.low[i] * b.high[i]);
    sum = total;
  }
  return DoubleDouble::exact_sum(sum, errors);
}

DoubleDouble paired_dot(const Vector& a, const PairedVector& b) {
  return row_product(a.data(), b);
}

// Each column by iterative refinement (Higham, Accuracy and Stability, 12.1); what is left of I −
// HX in the end is what X is judged by.
PairedInverse::PairedInverse(const Matrix& hessian, const Matrix& rest,
                             const CholeskyFactor& factor)
    : high_(hessian.rows(), hessian.rows()), low_(hessian.rows(), hessian.rows()) {
  const Index n = hessian.rows();
  const Matrix negative = -hessian;
  Vector left = Vector::Zero(n);  // row sums of |I − HX|
  for (Index j = 0; j < n; ++j) {
    PairedVector x(n);
    Vector remainder = Vector::Unit(n, j);
    double last = infinity;
    for (int step = 0; step < 10; ++step) {
      const Vector correction = factor.solve(remainder);
      const double size = correction.norm();
      if (!(size < last)) break;  // as exact as it gets
      last = size;
      for (Index i = 0; i < n; ++i) {
        const DoubleDouble sum = DoubleDouble::exact_sum(x.high[i], x.low[i]) + correction[i];
        x.high[i] = sum.high();
        x.low[i] = sum.low();
      }
      PairedVector residual(n);
      residual.high[j] = 1;
      add_product(negative, x, residual);
      if (rest.size() > 0) residual.low.noalias() -= rest * x.high;
      remainder = residual.high + residual.low;
    }
    left += remainder.cwiseAbs();
    high_.col(j) = x.high;
    low_.col(j) = x.low;
  }
  const double size = static_cast<double>(n);
  const double h_norm = hessian.cwiseAbs().rowwise().sum().maxCoeff();
  const double x_norm = high_.cwiseAbs().rowwise().sum().maxCoeff();
  const double condition = 2 * h_norm * x_norm;
  // The residual's own rounding counts as a part of it.
  const double rounding = 8 * (size + 2) * (size + 2) * unit * unit;
  const double residual = 2 * left.maxCoeff() + rounding * condition;
  is_exact_ = residual < 0.5 && std::sqrt(size) * condition * (residual + rounding) <= resolution;
}

PairedVector PairedInverse::solve(const PairedVector& a) const {
  PairedVector result(a.size());
  result.low.noalias() = low_ * a.high;
  add_product(high_, a, result);
  for (Index i = 0; i < a.size(); ++i) {  // high parts again as near as a double comes
    const DoubleDouble whole = result[i];
    result.high[i] = whole.high();
    result.low[i] = whole.low();
  }
  return result;
}

}  // namespace ellice
