#include <algorithm>
#include <numeric>

#include "solver/row_tree.hpp"

namespace ellice {

namespace {

// Below this many rows the bound of another box costs as much as looking at the rows.
constexpr Index bucket_rows = 32;

/// Median splits along the widest column of the metric, a bounding box at every node. The distance
/// from the query to its nearest point in a box bounds the distances of all rows inside, whatever
/// the terms of the metric; in floating point, too, since rounding is monotone, up to how a
/// compiler fuses the operations.
class BucketTree final : public RowTree {
 public:
  BucketTree(const RowMatrix& rows, const Metric& metric)
      : metric_(metric), order_(static_cast<std::size_t>(rows.rows())) {
    std::iota(order_.begin(), order_.end(), Index{0});
    if (!order_.empty()) build(rows, 0, rows.rows());
    lower_.conservativeResize(static_cast<Index>(nodes_.size()), rows.cols());
    upper_.conservativeResize(static_cast<Index>(nodes_.size()), rows.cols());
    rows_.resize(rows.rows(), rows.cols());  // each bucket contiguous
    for (Index i = 0; i < rows.rows(); ++i) rows_.row(i) = rows.row(row_at(i));
  }

  void search(VectorArg query, NearestSoFar& nearest) const override {
    if (nodes_.empty()) return;
    Vector clamped(query.size());
    visit(0, bound(0, query, clamped), query, clamped, nearest);
  }

 private:
  struct Node {
    Index begin = 0;  // rows, in the order of the tree
    Index end = 0;
    std::size_t left = 0;  // 0: a bucket
    std::size_t right = 0;
  };

  [[nodiscard]] Index row_at(Index place) const { return order_[static_cast<std::size_t>(place)]; }

  std::size_t build(const RowMatrix& rows, Index begin, Index end) {
    const std::size_t node = nodes_.size();
    nodes_.push_back({.begin = begin, .end = end});
    const auto at = static_cast<Index>(node);
    if (at >= lower_.rows()) {
      lower_.conservativeResize(std::max<Index>(2 * lower_.rows(), 64), rows.cols());
      upper_.conservativeResize(lower_.rows(), rows.cols());
    }
    lower_.row(at) = upper_.row(at) = rows.row(row_at(begin));
    for (Index i = begin + 1; i < end; ++i) {
      lower_.row(at) = lower_.row(at).cwiseMin(rows.row(row_at(i)));
      upper_.row(at) = upper_.row(at).cwiseMax(rows.row(row_at(i)));
    }
    const Index column = widest(lower_.row(at), upper_.row(at));
    if (end - begin <= bucket_rows || lower_(at, column) == upper_(at, column)) return node;

    const Index middle = begin + (end - begin) / 2;
    const auto place = [&](Index i) { return order_.begin() + i; };
    std::nth_element(place(begin), place(middle), place(end), [&](Index a, Index b) {
      return rows(a, column) < rows(b, column) || (rows(a, column) == rows(b, column) && a < b);
    });
    const std::size_t left = build(rows, begin, middle);
    const std::size_t right = build(rows, middle, end);
    nodes_[node].left = left;
    nodes_[node].right = right;
    return node;
  }

  [[nodiscard]] Index widest(const Eigen::Ref<const Eigen::RowVectorXd>& lower,
                             const Eigen::Ref<const Eigen::RowVectorXd>& upper) const {
    const Eigen::RowVectorXd width = upper - lower;
    Eigen::RowVectorXd size = Eigen::RowVectorXd::Zero(width.size());
    if (metric_.square.size() > 0) {
      size.array() += metric_.square.transpose().array() * width.array().square();
    }
    if (metric_.absolute.size() > 0) {
      size.array() += metric_.absolute.transpose().array() * width.array();
    }
    Index column = 0;
    if (size.size() > 0) size.maxCoeff(&column);
    return column;
  }

  [[nodiscard]] double bound(std::size_t node, VectorArg query, Vector& clamped) const {
    const auto at = static_cast<Index>(node);
    clamped = query.cwiseMax(lower_.row(at).transpose()).cwiseMin(upper_.row(at).transpose());
    return metric_.distance(query, clamped) * (1 - distance_rounding(query.size()));
  }

  void visit(std::size_t node, double lower_bound, VectorArg query, Vector& clamped,
             NearestSoFar& nearest) const {
    if (lower_bound > nearest.worst()) return;
    const Node& here = nodes_[node];
    if (here.left == 0) {
      for (Index i = here.begin; i < here.end; ++i) {
        nearest.offer(row_at(i), metric_.distance(query, rows_.row(i).transpose()));
      }
      return;
    }
    const double left = bound(here.left, query, clamped);
    const double right = bound(here.right, query, clamped);
    const bool left_first = left <= right;
    visit(left_first ? here.left : here.right, std::min(left, right), query, clamped, nearest);
    visit(left_first ? here.right : here.left, std::max(left, right), query, clamped, nearest);
  }

  Metric metric_;
  RowMatrix rows_;
  std::vector<Index> order_;
  std::vector<Node> nodes_;
  RowMatrix lower_, upper_;  // boxes, by node
};

}  // namespace

std::unique_ptr<RowTree> make_bucket_tree(const RowMatrix& rows, const Metric& metric) {
  return std::make_unique<BucketTree>(rows, metric);
}

}  // namespace ellice
