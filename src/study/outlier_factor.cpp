#include "study/outlier_factor.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr double same_point = 1e-12;
constexpr double smallest_sum = 1e-12;

Metric euclidean(Index columns) {
  Metric metric = weighted_squares(Vector::Ones(columns));
  metric.root = true;
  return metric;
}

}  // namespace

OutlierFactor::OutlierFactor(RowMatrixArg reference, int neighbours, const Execution& execution)
    : nearest_(reference, euclidean(reference.cols())),
      neighbours_(static_cast<int>(std::min<Index>(neighbours, nearest_.rows().rows() - 1))) {
  require(neighbours >= 1, "an outlier factor of {} neighbours needs at least one", neighbours);
  require(rows() >= 2, "an outlier factor needs at least two reference rows, found {}", rows());
  // One more than k: a row is among its own neighbours, unless k others are the same.
  std::vector<std::vector<Neighbour>> found =
      nearest_.find(nearest_.rows(), neighbours_ + 1, {}, execution);
  distances_.resize(rows());
  for (Index i = 0; i < rows(); ++i) {
    std::vector<Neighbour>& list = found[static_cast<std::size_t>(i)];
    const auto self =
        std::find_if(list.begin(), list.end(), [&](const Neighbour& n) { return n.row == i; });
    list.erase(self != list.end() ? self : list.end() - 1);
    distances_(i) = list.back().distance;
  }
  densities_.resize(rows());
  for (Index i = 0; i < rows(); ++i) densities_(i) = density(found[static_cast<std::size_t>(i)]);
}

double OutlierFactor::density(const std::vector<Neighbour>& neighbours) const {
  double sum = 0;
  for (const Neighbour& n : neighbours) sum += std::max(distances_(n.row), n.distance);
  return neighbours_ / std::max(sum, smallest_sum);
}

Vector OutlierFactor::factors(RowMatrixArg points, const Execution& execution) const {
  std::vector<std::vector<Neighbour>> found = nearest_.find(points, neighbours_ + 1, {}, execution);
  Vector result(points.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    std::vector<Neighbour>& list = found[static_cast<std::size_t>(i)];
    list.erase(list.front().distance < same_point ? list.begin() : list.end() - 1);
    double sum = 0;
    for (const Neighbour& n : list) sum += densities_(n.row);
    result(i) = sum / neighbours_ / density(list);
  }
  return result;
}

}  // namespace ellice
