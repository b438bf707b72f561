#include "sets/paired_product.hpp"

#include <array>
#include <cmath>

namespace ellice {

namespace {

// Sums of a dot product that run side by side.
constexpr std::size_t lanes = 8;

/// sum += a·b with the errors of product and sum in `errors` (Ogita, Rump and Oishi, 2005).
inline void add_split(double a, double high, double low, double& sum, double& errors) {
  const double product = a * high;
  const double product_error = std::fma(a, high, -product);
  const double total = sum + product;
  const double back = total - sum;
  errors += std::fma(a, low, product_error + ((sum - (total - back)) + (product - back)));
  sum = total;
}

}  // namespace

void add_product(const Eigen::Ref<const Matrix>& m, const PairedVector& b, PairedVector& sum) {
  const Index rows = m.rows();
  double* const __restrict high = sum.high.data();
  double* const __restrict low = sum.low.data();
  // Down the columns, so that the rows run side by side.
  for (Index k = 0; k < m.cols(); ++k) {
    const double leading = b.high[k];
    if (leading == 0) continue;  // three quarters of a deep relu network's derivatives
    const double* const __restrict column = m.col(k).data();
    const double rest = b.low[k];
    for (Index i = 0; i < rows; ++i) add_split(column[i], leading, rest, high[i], low[i]);
  }
}

DoubleDouble row_product(const double* row, const PairedVector& b) {
  std::array<double, lanes> sums = {};
  std::array<double, lanes> errors = {};
  const auto size = static_cast<std::size_t>(b.size());
  const double* const high = b.high.data();
  const double* const low = b.low.data();
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l)
      add_split(row[i + l], high[i + l], low[i + l], sums[l], errors[l]);
  }
  for (std::size_t l = 0; i < size; ++i, ++l)
    add_split(row[i], high[i], low[i], sums[l], errors[l]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) {
      const double total = sums[l] + sums[l + half];
      const double back = total - sums[l];
      errors[l] += errors[l + half] + ((sums[l] - (total - back)) + (sums[l + half] - back));
      sums[l] = total;
    }
  }
  return DoubleDouble::exact_sum(sums[0], errors[0]);
}

}  // namespace ellice
