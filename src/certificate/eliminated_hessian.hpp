#pragma once

#include <vector>

#include "core/double_double.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// H⁻¹b by Gaussian elimination with full pivoting in extended precision: the verifier's way, which
/// shares nothing with the Cholesky factor that certificates are issued with.
class EliminatedHessian {
 public:
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

  /// Where H is a sum that has more than 64 bits, `rest` has what rounding left out of `hessian`;
  /// `lost` is what was cut off its entries before, when a larger penalty gave way to a smaller
  /// one.
  explicit EliminatedHessian(LongMatrix hessian, LongMatrix rest = {}, long double lost = 0);

  [[nodiscard]] const LongMatrix& hessian() const { return hessian_; }      // rounded
  [[nodiscard]] const LongMatrix& sizes() const { return sizes_; }          // of its entries
  [[nodiscard]] const LongVector& row_sizes() const { return row_sizes_; }  // their sums by row
  [[nodiscard]] long double lost() const { return lost_; }
  [[nodiscard]] LongVector solve(const LongVector& b) const;  // refined by residuals

 private:
  [[nodiscard]] LongVector eliminate(const LongVector& b) const;  // with the factors alone

  /// b − Hx, in pairs of doubles.
  [[nodiscard]] LongVector residual(const LongVector& b, const LongVector& x) const;

  LongMatrix hessian_;
  LongMatrix sizes_;
  LongVector row_sizes_;
  LongMatrix rest_;  // H − hessian_; empty for 0
  long double lost_;
  std::vector<DoubleDouble> entries_;       // of hessian_, column by column
  std::vector<DoubleDouble> rest_entries_;  // of rest_
  LongMatrix lu_;                           // of the row- and column-permuted H
  std::vector<Index> row_order_;
  std::vector<Index> column_order_;
};

}  // namespace ellice
