#pragma once

#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// Rows of numbers are padded with zeros to whole blocks of this many.
inline constexpr Index row_lanes = 8;
using RowLanes = Eigen::Array<double, row_lanes, 1>;
using RowLanesMap = Eigen::Map<const RowLanes>;
[[nodiscard]] inline Index padded(Index size) {
  return (size + row_lanes - 1) / row_lanes * row_lanes;
}

/// to ← Σ_k factors[k]·(row k) for `count` rows that are `stride` numbers apart, `width` numbers
/// each, whole blocks.
void sum_rows(const double* rows, Index stride, const double* factors, Index count, Index width,
              double* to);

/// Rows to be added up, each with a factor. Keeps its storage.
class RowSum {
 public:
  void clear() {
    rows_.clear();
    factors_.clear();
  }
  void add(const double* row, double factor) {
    if (factor == 0) return;
    rows_.push_back(row);
    factors_.push_back(factor);
  }
  /// sum += Σ factor·row, `width` numbers each, whole blocks.
  void add_to(double* sum, Index width) const;

 private:
  std::vector<const double*> rows_;
  std::vector<double> factors_;
};

}  // namespace ellice
