#include "solver/cone_projection.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/blas.hpp"
#include "ellice/core/error.hpp"
#include "solver/secular.hpp"

namespace ellice {

namespace {

Index rounded_up(Index count) {
  return (count + SecularSolver::width - 1) / SecularSolver::width * SecularSolver::width;
}

void require_finite(RowMatrixArg queries, Index first) {
  for (Index i = 0; i < queries.rows(); ++i) {
    for (Index j = 0; j < queries.cols(); ++j) {
      require(std::isfinite(queries(i, j)),
              "query {} has {} in column {}; expected a finite number", first + i, queries(i, j),
              j);
    }
  }
}

/// What one thread needs for one block.
struct Workspace {
  Workspace(Index rows, Index outputs, std::size_t scratch_size)
      : e(static_cast<std::size_t>(rows * outputs)),
        c(static_cast<std::size_t>(rows)),
        kappa_squared(static_cast<std::size_t>(rows)),
        scratch(scratch_size) {}
  AlignedArray e;  // outputs × rows, the instances of one output side by side
  AlignedArray c;
  AlignedArray kappa_squared;
  AlignedArray scratch;
};

/// Lends each running block a workspace of its own.
class WorkspacePool {
 public:
  template <class Make>
  WorkspacePool(std::size_t count, const Make& make) {
    items_.reserve(count);
    free_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      items_.push_back(make());
      free_.push_back(i);
    }
  }

  class Loan {
   public:
    explicit Loan(WorkspacePool& pool) : pool_(pool) {
      const std::lock_guard lock(pool_.mutex_);
      index_ = pool_.free_.back();
      pool_.free_.pop_back();
    }
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(index_);
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Loan(Loan&&) = delete;
    Loan& operator=(Loan&&) = delete;
    Workspace& operator*() { return pool_.items_[index_]; }

   private:
    WorkspacePool& pool_;
    std::size_t index_ = 0;
  };

 private:
  std::mutex mutex_;
  std::vector<Workspace> items_;
  std::vector<std::size_t> free_;
};

}  // namespace

Index ConeFactor::block_rows() const {
  return dimension_ <= 32 ? 1024 : 256;
}

ConeProjection ConeFactor::project(VectorArg query, const ConeTarget& target) const {
  ConeProjection result;
  RowMatrix point(1, query.size());
  const RowMatrix queries = query.transpose();
  project_rows_into(queries, target, point, {&result.summary, 1});
  result.point = point.row(0).transpose();
  return result;
}

ConeBatch ConeFactor::project_rows(RowMatrixArg queries, const ConeTarget& target,
                                   const Execution& execution) const {
  ConeBatch result = {
      .points = RowMatrix(queries.rows(), queries.cols()),
      .summaries = std::vector<ConeSummary>(static_cast<std::size_t>(queries.rows()))};
  project_rows_into(queries, target, result.points, result.summaries, execution);
  return result;
}

void ConeFactor::project_rows_into(RowMatrixArg queries, const ConeTarget& target,
                                   Eigen::Ref<RowMatrix> points, std::span<ConeSummary> summaries,
                                   const Execution& execution) const {
  require(queries.cols() == dimension_, "the queries have {} columns; expected {}", queries.cols(),
          dimension_);
  require(points.rows() == queries.rows() && points.cols() == dimension_ &&
              static_cast<Index>(summaries.size()) == queries.rows(),
          "storage for {}x{} points and {} summaries given; expected {}x{}", points.rows(),
          points.cols(), summaries.size(), queries.rows(), dimension_);
  require(target.epsilon >= 0 && std::isfinite(target.epsilon),
          "ConeTarget.epsilon = {} must be >= 0 and finite", target.epsilon);
  require(std::isfinite(target.threshold), "ConeTarget.threshold = {} must be finite",
          target.threshold);
  require(target.margin >= 0 && std::isfinite(target.margin),
          "ConeTarget.margin = {} must be >= 0 and finite", target.margin);
  if (queries.rows() == 0) return;

  const Index m = a_.size();
  const Index outputs = into_.cols();
  const SecularSolver solver(a_, pi_, into_offset_.head(m), target.epsilon, target.margin);
  const Index block = std::min(block_rows(), rounded_up(queries.rows()));
  // Rows whose distance is a power of two would compete for the same few places of the cache.
  const Index stride = block + SecularSolver::width;
  const std::size_t blocks = static_cast<std::size_t>((queries.rows() + block - 1) / block);
  const std::size_t workers =
      std::min(blocks, static_cast<std::size_t>(thread_count(execution.threads)));
  WorkspacePool pool(workers, [&] { return Workspace(stride, outputs, solver.scratch_size()); });

  parallel_for("project", blocks, execution, [&](std::size_t number) {
    const Index first = static_cast<Index>(number) * block;
    const Index rows = std::min(block, queries.rows() - first);
    WorkspacePool::Loan loan(pool);
    Workspace& work = *loan;
    const double* from = queries.data() + first * queries.outerStride();
    double* to = points.data() + first * points.outerStride();

    blas::gemm(rows, outputs, dimension_, {from, queries.outerStride(), blas::Op::transposed},
               {into_.data(), dimension_}, 0.0, work.e.data(), stride);
    const double two_epsilon = 2 * target.epsilon;
    double* c = work.c.data();
    double* kappa_squared = work.kappa_squared.data();
    if (has_fixed_) {
      const double* profile = work.e.data() + m * stride;
      const double constant = into_offset_[m] - target.threshold;
      for (Index i = 0; i < rows; ++i) c[i] = profile[i] + constant;
      std::fill_n(kappa_squared, rows, 0.0);
      for (Index k = m + 1; k < outputs; ++k) {
        const double* row = work.e.data() + k * stride;
        const double offset = into_offset_[k];
        for (Index i = 0; i < rows; ++i) {
          kappa_squared[i] += two_epsilon * (row[i] + offset) * (row[i] + offset);
        }
      }
    } else {
      std::fill_n(c, rows, profile_ - target.threshold);
      std::fill_n(kappa_squared, rows, two_epsilon * kappa_squared_);
    }
    bool finite = true;
    for (Index i = 0; i < rows; i += SecularSolver::width) {
      const int live = static_cast<int>(std::min<Index>(SecularSolver::width, rows - i));
      finite &= solver.solve(work.e.data() + i, stride, c + i, kappa_squared + i, live,
                             work.scratch.data(), &summaries[static_cast<std::size_t>(first + i)]);
    }
    if (!finite) require_finite(queries.middleRows(first, rows), first);
    if (queries.outerStride() == dimension_ && points.outerStride() == dimension_) {
      std::copy_n(from, rows * dimension_, to);  // short rows one by one take several times as long
    } else {
      points.middleRows(first, rows) = queries.middleRows(first, rows);
    }
    blas::gemm(dimension_, rows, m, {out_.data(), dimension_},
               {work.e.data(), stride, blas::Op::transposed}, 1.0, to, points.outerStride());
  });
}

}  // namespace ellice
