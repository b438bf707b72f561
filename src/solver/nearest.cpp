#include "solver/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/blas.hpp"
#include "ellice/core/error.hpp"
#include "solver/row_tree.hpp"

namespace ellice {

namespace {

// A block of queries against a block of rows: the rows stay in the first-level and the products in
// the second-level cache.
constexpr Index query_block = 128;
constexpr Index row_block = 256;
// Below this many queries the products do not pay for centring the rows.
constexpr Index fewest_for_products = 8;

void check_weights(const Vector& weights, Index columns, std::string_view name) {
  if (weights.size() == 0) return;
  require(weights.size() == columns, "Metric.{} has {} weights, expected {}", name, weights.size(),
          columns);
  for (Index j = 0; j < columns; ++j) {
    require(weights[j] >= 0 && std::isfinite(weights[j]),
            "Metric.{}[{}] = {} must be >= 0 and finite", name, j, weights[j]);
  }
}

void check(const Metric& metric, Index columns) {
  check_weights(metric.square, columns, "square");
  check_weights(metric.absolute, columns, "absolute");
  require(!metric.root || metric.absolute.size() == 0,
          "Metric.root goes with squares only, but absolute weights are given");
  require(metric.group_cost >= 0 && std::isfinite(metric.group_cost),
          "Metric.group_cost = {} must be >= 0 and finite", metric.group_cost);
  if (metric.group_cost == 0 || columns == 0) return;
  require(!metric.groups.empty() && metric.groups.front() == 0 && metric.groups.back() < columns &&
              std::adjacent_find(metric.groups.begin(), metric.groups.end(),
                                 std::greater_equal<>()) == metric.groups.end(),
          "Metric.groups must increase from 0 to below the {} columns", columns);
}

/// From benchmarks/solver/nearest_benchmark.cpp: where a tree beats the products and the scan.
SearchKind choose(Index rows, Index columns) {
  if (columns <= 8 && rows >= 5000) return SearchKind::kdtree;
  if (columns <= 20 && rows >= 100000) return SearchKind::balltree;
  return SearchKind::brute;
}

/// Every row against each query of the block, by the metric itself.
void scan(const RowMatrix& rows, const Metric& metric, RowMatrixArg queries,
          std::vector<NearestSoFar>& nearest) {
  for (Index first = 0; first < rows.rows(); first += row_block) {
    const Index end = std::min(first + row_block, rows.rows());
    for (Index q = 0; q < queries.rows(); ++q) {
      const Eigen::Map<const Vector> query(queries.row(q).data(), queries.cols());
      NearestSoFar& best = nearest[static_cast<std::size_t>(q)];
      for (Index i = first; i < end; ++i) {
        best.offer(i, metric.distance(query, rows.row(i).transpose()));
      }
    }
  }
}

/// Every row against each query of the block by S ≈ ‖y‖² − 2pᵀy + ‖p‖², y and p the centred and
/// scaled row and query. This only excludes rows, with room for its rounding: with u the unit
/// roundoff, centring and scaling move a coordinate by at most 3u of itself, which changes S by at
/// most 6u(‖p‖+‖y‖)², and the sums of d + 1 products err by at most 2(d+2)u(‖p‖+‖y‖)²; the bound
/// below is twice the sum of both. Rows that remain are measured by the metric itself, so the
/// answer does not depend on cancellation; only the number of rows to measure does.
void scan_by_products(const RowMatrix& rows, const Metric& metric, const Vector& mean,
                      RowMatrixArg queries, std::vector<NearestSoFar>& nearest) {
  const Index d = rows.cols();
  const Index count = queries.rows();
  const Eigen::RowVectorXd scale = metric.square.cwiseSqrt().transpose();
  const double rounding =
      static_cast<double>(2 * d + 10) * 2 * std::numeric_limits<double>::epsilon();
  const auto centre = [&](const auto& block, Eigen::Ref<RowMatrix> into) {
    into = (block.rowwise() - mean.transpose()).array().rowwise() * scale.array();
  };

  // [−2p, 1]·[y, ‖y‖²]ᵀ: the square comes with the product.
  RowMatrix left(count, d + 1);
  centre(queries, left.leftCols(d));
  const Vector query_squares = left.leftCols(d).rowwise().squaredNorm();
  left.leftCols(d) *= -2;
  left.col(d).setOnes();
  RowMatrix right(row_block, d + 1);
  RowMatrix products(count, row_block);

  for (Index first = 0; first < rows.rows(); first += row_block) {
    const Index n = std::min(row_block, rows.rows() - first);
    centre(rows.middleRows(first, n), right.topLeftCorner(n, d));
    right.col(d).head(n) = right.topLeftCorner(n, d).rowwise().squaredNorm();
    const double row_norm = std::sqrt(right.col(d).head(n).maxCoeff());
    blas::gemm(n, count, d + 1,
               {.data = right.data(), .leading = d + 1, .op = blas::Op::transposed},
               {.data = left.data(), .leading = d + 1}, 0, products.data(), row_block);
    for (Index q = 0; q < count; ++q) {
      NearestSoFar& best = nearest[static_cast<std::size_t>(q)];
      const Eigen::Map<const Vector> query(queries.row(q).data(), d);
      const double norm = std::sqrt(query_squares[q]) + row_norm;
      const double slack = rounding * norm * norm - query_squares[q];
      const auto limit = [&] {
        const double worst = best.worst();
        return (metric.root ? worst * worst : worst) * (1 + distance_rounding(d)) + slack;
      };
      double current = limit();
      for (Index i = 0; i < n; i += 32) {
        const Index width = std::min<Index>(32, n - i);
        if (products.row(q).segment(i, width).minCoeff() > current) continue;
        for (Index j = i; j < i + width; ++j) {
          if (products(q, j) > current) continue;
          best.offer(first + j, metric.distance(query, rows.row(first + j).transpose()));
          current = limit();
        }
      }
    }
  }
}

}  // namespace

std::vector<Neighbour> NearestSoFar::take() {
  std::sort(heap_.begin(), heap_.end(), before);
  worst_ = std::numeric_limits<double>::infinity();
  return std::exchange(heap_, {});
}

void NearestSoFar::insert(const Neighbour& candidate) {
  if (heap_.size() == k_) {
    std::pop_heap(heap_.begin(), heap_.end(), before);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), before);
  if (heap_.size() == k_) worst_ = heap_.front().distance;
}

NearestRows::NearestRows(RowMatrix rows, Metric metric, SearchKind kind)
    : rows_(std::move(rows)), metric_(std::move(metric)), kind_(kind) {
  check(metric_, rows_.cols());
  require(rows_.allFinite(), "a row has an entry that is not finite");
  if (kind_ == SearchKind::automatic) kind_ = choose(rows_.rows(), rows_.cols());
  if (rows_.size() == 0) kind_ = SearchKind::brute;  // there is nothing to split
  if (kind_ == SearchKind::kdtree) tree_ = make_kd_tree(rows_, metric_);
  if (kind_ == SearchKind::balltree) tree_ = make_bucket_tree(rows_, metric_);
  if (kind_ == SearchKind::brute && rows_.size() > 0) mean_ = rows_.colwise().mean().transpose();
}

NearestRows::~NearestRows() = default;
NearestRows::NearestRows(NearestRows&&) noexcept = default;
NearestRows& NearestRows::operator=(NearestRows&&) noexcept = default;

std::vector<std::vector<Neighbour>> NearestRows::find(RowMatrixArg queries, Index k,
                                                      const RowFilter& filter,
                                                      const Execution& execution) const {
  require(queries.cols() == rows_.cols(), "a query has {} columns, expected {}", queries.cols(),
          rows_.cols());
  require(k >= 1, "the number of neighbours is {}, expected at least 1", k);
  require(queries.allFinite(), "a query has an entry that is not finite");
  std::vector<std::vector<Neighbour>> result(static_cast<std::size_t>(queries.rows()));
  const auto blocks = static_cast<std::size_t>((queries.rows() + query_block - 1) / query_block);
  parallel_for("nearest rows", blocks, execution, [&](std::size_t block) {
    const Index first = static_cast<Index>(block) * query_block;
    const Index count = std::min(query_block, queries.rows() - first);
    const Eigen::Ref<const RowMatrix> part = queries.middleRows(first, count);
    std::vector<NearestSoFar> nearest;
    for (Index q = 0; q < count; ++q)
      nearest.emplace_back(std::min(k, rows_.rows()), filter, first + q);
    if (rows_.rows() == 0) return;
    if (tree_) {
      for (Index q = 0; q < count; ++q) {
        tree_->search(part.row(q).transpose(), nearest[static_cast<std::size_t>(q)]);
      }
    } else if (metric_.square.size() > 0 && metric_.absolute.size() == 0 &&
               count >= fewest_for_products) {
      scan_by_products(rows_, metric_, mean_, part, nearest);
    } else {
      scan(rows_, metric_, part, nearest);
    }
    for (Index q = 0; q < count; ++q) {
      result[static_cast<std::size_t>(first + q)] = nearest[static_cast<std::size_t>(q)].take();
    }
  });
  return result;
}

std::vector<Neighbour> NearestRows::find_one(VectorArg query, Index k,
                                             const std::function<bool(Index row)>& filter) const {
  const Eigen::Map<const RowMatrix> one(query.data(), 1, query.size());
  RowFilter row_filter;
  if (filter) row_filter = [&](Index /*query*/, Index row) { return filter(row); };
  return find(one, k, row_filter)[0];
}

}  // namespace ellice
