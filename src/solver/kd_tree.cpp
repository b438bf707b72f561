#include <cmath>
#include <cstdint>
#include <limits>
#include <nanoflann.hpp>

#include "ellice/core/error.hpp"
#include "solver/row_tree.hpp"

namespace ellice {

namespace {

/// The rows as nanoflann asks for them, and the additive terms of the metric: Σ squareⱼ·Δⱼ² +
/// Σ absoluteⱼ·|Δⱼ|.
struct Points {
  const double* data = nullptr;
  std::size_t count = 0;
  std::size_t columns = 0;
  Vector square = {};
  Vector absolute = {};

  [[nodiscard]] std::size_t kdtree_get_point_count() const { return count; }
  [[nodiscard]] double kdtree_get_pt(std::size_t row, std::size_t column) const {
    return data[row * columns + column];
  }
  template <class Box>
  bool kdtree_get_bbox(Box& /*box*/) const {
    return false;
  }
};

class AdditiveTerms {
 public:
  using ElementType = double;
  using DistanceType = double;

  explicit AdditiveTerms(const Points& points) : points_(&points) {}

  // Names that nanoflann expects.
  [[nodiscard]] double evalMetric(  // NOLINT(readability-identifier-naming)
      const double* query, std::size_t row, std::size_t columns) const {
    const double* x = points_->data + row * columns;
    double result = 0;
    for (std::size_t j = 0; j < columns; ++j) result += accum_dist(query[j], x[j], j);
    return result;
  }
  [[nodiscard]] double accum_dist(double a, double b, std::size_t column) const {
    const double move = std::abs(a - b);
    const auto j = static_cast<Index>(column);
    return move * (points_->square[j] * move + points_->absolute[j]);
  }

 private:
  const Points* points_;
};

/// Lets through what could be among the nearest, ties included, and leaves the decision to the
/// metric itself.
class Receiver {
 public:
  Receiver(const Eigen::Map<const RowMatrix>& rows, const Metric& metric, VectorArg query,
           NearestSoFar& nearest)
      : rows_(&rows),
        metric_(&metric),
        query_(&query),
        nearest_(&nearest),
        relax_(1 + 2 * distance_rounding(rows.cols())) {}

  [[nodiscard]] double worstDist() const {  // NOLINT(readability-identifier-naming)
    const double worst = nearest_->worst();
    // The additive terms of a row alone are at most its distance, or that distance squared.
    // nanoflann keeps what is strictly below this; hence the smallest number on top.
    return (metric_->root ? worst * worst : worst) * relax_ +
           std::numeric_limits<double>::denorm_min();
  }
  bool addPoint(double /*additive*/, std::size_t row) {  // NOLINT(readability-identifier-naming)
    const auto i = static_cast<Index>(row);
    nearest_->offer(i, metric_->distance(*query_, rows_->row(i).transpose()));
    return true;
  }
  [[nodiscard]] bool full() const { return false; }

 private:
  const Eigen::Map<const RowMatrix>* rows_;
  const Metric* metric_;
  const Eigen::Ref<const Vector>* query_;
  NearestSoFar* nearest_;
  double relax_;
};

class KdTree final : public RowTree {
 public:
  KdTree(const RowMatrix& rows, const Metric& metric)
      : rows_(rows.data(), rows.rows(), rows.cols()),
        metric_(metric),
        points_{
            .data = rows.data(),
            .count = static_cast<std::size_t>(rows.rows()),
            .columns = static_cast<std::size_t>(rows.cols()),
            .square = metric.square.size() > 0 ? metric.square : Vector::Zero(rows.cols()),
            .absolute = metric.absolute.size() > 0 ? metric.absolute : Vector::Zero(rows.cols())},
        index_(static_cast<int>(rows.cols()), points_) {}

  void search(VectorArg query, NearestSoFar& nearest) const override {
    Receiver receiver(rows_, metric_, query, nearest);
    index_.findNeighbors(receiver, query.data(), {});
  }

 private:
  Eigen::Map<const RowMatrix> rows_;
  Metric metric_;
  Points points_;
  nanoflann::KDTreeSingleIndexAdaptor<AdditiveTerms, Points, -1, std::uint32_t> index_;
};

}  // namespace

std::unique_ptr<RowTree> make_kd_tree(const RowMatrix& rows, const Metric& metric) {
  require(rows.rows() <= std::numeric_limits<std::uint32_t>::max(),
          "a k-d tree holds at most {} rows, not {}", std::numeric_limits<std::uint32_t>::max(),
          rows.rows());
  return std::make_unique<KdTree>(rows, metric);
}

}  // namespace ellice
