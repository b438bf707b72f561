#pragma once

#include <cmath>

#include "core/row_sum.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// Cholesky's factor of the first `pivots` columns of a symmetric matrix, by its lower triangle, in
/// place: these columns become those of the factor, and what is left of the others is the matrix of
/// the rest once the first are eliminated. Columns are `stride` numbers apart and hold whole blocks
/// of numbers (row_lanes), of which those above the diagonal do not count. False where a pivot is
/// not positive. For matrices of a few dozen rows, which a general routine is slow with.
[[nodiscard]] inline bool eliminate_columns(double* matrix, Index stride, Index pivots,
                                            Index size) {
  const Index width = padded(size);
  for (Index j = 0; j < pivots; ++j) {
    double* const pivot = matrix + j * stride;
    if (!(pivot[j] > 0)) return false;
    const double factor = 1 / std::sqrt(pivot[j]);
    for (Index c = j / row_lanes * row_lanes; c < width; c += row_lanes)
      Eigen::Map<RowLanes>(pivot + c) *= factor;
    for (Index a = j + 1; a < size; ++a) {
      double* const column = matrix + a * stride;
      const double share = pivot[a];
      for (Index c = a / row_lanes * row_lanes; c < width; c += row_lanes)
        Eigen::Map<RowLanes>(column + c) -= share * RowLanesMap(pivot + c);
    }
  }
  return true;
}

}  // namespace ellice
