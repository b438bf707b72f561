#include "core/row_sum.hpp"

#include <array>

namespace ellice {

namespace {

/// Four blocks at a time stay in registers while the rows pass by.
template <std::size_t blocks>
void add_blocks(const std::vector<const double*>& rows, const std::vector<double>& factors,
                Index first, double* sum) {
  constexpr auto lane_count = static_cast<std::size_t>(row_lanes);
  std::array<RowLanes, blocks> parts;
  for (std::size_t b = 0; b < blocks; ++b) parts[b] = RowLanesMap(sum + first + b * lane_count);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double* row = rows[k] + first;
    for (std::size_t b = 0; b < blocks; ++b)
      parts[b] += factors[k] * RowLanesMap(row + b * lane_count);
  }
  for (std::size_t b = 0; b < blocks; ++b)
    Eigen::Map<RowLanes>(sum + first + b * lane_count) = parts[b];
}

template <std::size_t blocks>
void sum_blocks(const double* rows, Index stride, const double* factors, Index count, double* to) {
  constexpr auto lane_count = static_cast<std::size_t>(row_lanes);
  std::array<RowLanes, blocks> parts;
  for (RowLanes& part : parts) part.setZero();
  for (Index k = 0; k < count; ++k, rows += stride) {
    for (std::size_t b = 0; b < blocks; ++b)
      parts[b] += factors[k] * RowLanesMap(rows + b * lane_count);
  }
  for (std::size_t b = 0; b < blocks; ++b) Eigen::Map<RowLanes>(to + b * lane_count) = parts[b];
}

}  // namespace

void sum_rows(const double* rows, Index stride, const double* factors, Index count, Index width,
              double* to) {
  Index first = 0;
  for (; first + 4 * row_lanes <= width; first += 4 * row_lanes)
    sum_blocks<4>(rows + first, stride, factors, count, to + first);
  for (; first + 2 * row_lanes <= width; first += 2 * row_lanes)
    sum_blocks<2>(rows + first, stride, factors, count, to + first);
  for (; first < width; first += row_lanes)
    sum_blocks<1>(rows + first, stride, factors, count, to + first);
}

void RowSum::add_to(double* sum, Index width) const {
  Index first = 0;
  for (; first + 4 * row_lanes <= width; first += 4 * row_lanes)
    add_blocks<4>(rows_, factors_, first, sum);
  for (; first < width; first += row_lanes) add_blocks<1>(rows_, factors_, first, sum);
}

}  // namespace ellice
