#include "certificate/eliminated_hessian.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/double_double.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

// What is said of rounding in certificates and their verification counts on this.
static_assert(std::numeric_limits<long double>::digits >= 64,
              "long double must have 64 bits: x87 has them, 64-bit Arm has 113 under Linux");

EliminatedHessian::EliminatedHessian(LongMatrix hessian, LongMatrix rest, long double lost)
    : hessian_(std::move(hessian)),
      sizes_(hessian_.cwiseAbs()),
      row_sizes_(sizes_.rowwise().sum()),
      rest_(std::move(rest)),
      lost_(lost),
      lu_(hessian_) {
  for (const long double entry : hessian_.reshaped()) entries_.emplace_back(entry);
  for (const long double entry : rest_.reshaped()) rest_entries_.emplace_back(entry);
  const Index p = lu_.rows();
  row_order_.resize(static_cast<std::size_t>(p));
  std::iota(row_order_.begin(), row_order_.end(), Index{0});
  column_order_ = row_order_;
  for (Index k = 0; k < p; ++k) {
    Index pivot_row = k;
    Index pivot_column = k;
    for (Index i = k; i < p; ++i) {
      for (Index j = k; j < p; ++j) {
        if (std::abs(lu_(i, j)) > std::abs(lu_(pivot_row, pivot_column))) {
          pivot_row = i;
          pivot_column = j;
        }
      }
    }
    require_input(lu_(pivot_row, pivot_column) != 0, "curvature.hessian is singular");
    lu_.row(k).swap(lu_.row(pivot_row));
    lu_.col(k).swap(lu_.col(pivot_column));
    std::swap(row_order_[static_cast<std::size_t>(k)],
              row_order_[static_cast<std::size_t>(pivot_row)]);
    std::swap(column_order_[static_cast<std::size_t>(k)],
              column_order_[static_cast<std::size_t>(pivot_column)]);
    for (Index i = k + 1; i < p; ++i) {
      lu_(i, k) /= lu_(k, k);
      for (Index j = k + 1; j < p; ++j) lu_(i, j) -= lu_(i, k) * lu_(k, j);
    }
  }
}

EliminatedHessian::LongVector EliminatedHessian::eliminate(const LongVector& b) const {
  const Index p = b.size();
  LongVector y(p);
  for (Index i = 0; i < p; ++i) {
    y(i) = b(row_order_[static_cast<std::size_t>(i)]);
    for (Index j = 0; j < i; ++j) y(i) -= lu_(i, j) * y(j);
  }
  for (Index i = p - 1; i >= 0; --i) {
    for (Index j = i + 1; j < p; ++j) y(i) -= lu_(i, j) * y(j);
    y(i) /= lu_(i, i);
  }
  LongVector x(p);
  for (Index i = 0; i < p; ++i) x(column_order_[static_cast<std::size_t>(i)]) = y(i);
  return x;
}

EliminatedHessian::LongVector EliminatedHessian::residual(const LongVector& b,
                                                          const LongVector& x) const {
  const auto p = static_cast<std::size_t>(b.size());
  std::vector<DoubleDouble> sums;
  sums.reserve(p);
  for (const long double entry : b) sums.emplace_back(entry);
  // Column by column, so that no sum waits for itself; each has its terms in order.
  for (std::size_t j = 0; j < p; ++j) {
    const DoubleDouble factor(x(static_cast<Index>(j)));
    const DoubleDouble* const column = entries_.data() + j * p;
    if (rest_entries_.empty()) {
      for (std::size_t i = 0; i < p; ++i) sums[i] -= column[i] * factor;
      continue;
    }
    const DoubleDouble* const rest = rest_entries_.data() + j * p;
    for (std::size_t i = 0; i < p; ++i) {
      sums[i] -= column[i] * factor;
      sums[i] -= rest[i] * factor;
    }
  }
  LongVector result(b.size());
  for (std::size_t i = 0; i < p; ++i)
    result(static_cast<Index>(i)) = static_cast<long double>(sums[i]);
  return result;
}

EliminatedHessian::LongVector EliminatedHessian::solve(const LongVector& b) const {
  LongVector x = eliminate(b);
  // Elimination alone loses as many of its 19 digits as the condition number has; each step gains
  // back those that are left, since the residual has 31 (docs/theory.md, Result 50).
  for (int step = 0; step < 4; ++step) {
    const LongVector correction = eliminate(residual(b, x));
    x += correction;
    if (correction.norm() <= 1e-16L * x.norm()) break;
  }
  return x;
}

}  // namespace ellice
