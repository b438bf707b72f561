#include "core/blas.hpp"

#include <cblas.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <mutex>
#include <vector>

#include "ellice/core/error.hpp"

// LAPACK, which OpenBLAS contains; its hidden arguments are the lengths of the texts.
extern "C" void dsyevr_(const char* job, const char* range, const char* triangle, const int* n,
                        double* a, const int* leading_a, const double* lower, const double* upper,
                        const int* first, const int* last, const double* tolerance, int* found,
                        double* values, double* vectors, const int* leading_vectors, int* support,
                        double* work, const int* work_size, int* integers, const int* integers_size,
                        int* info, std::size_t, std::size_t, std::size_t);

namespace ellice::blas {

namespace {

// The number of threads is one process-wide setting of OpenBLAS, so the guards are counted: the
// first one saves and sets it, the last one restores it.
std::mutex guard_mutex;
int guards = 0;
int saved_threads = 1;

}  // namespace

SingleThreaded::SingleThreaded() {
  const std::lock_guard lock(guard_mutex);
  if (guards++ == 0) {
    saved_threads = openblas_get_num_threads();
    if (saved_threads != 1) openblas_set_num_threads(1);
  }
}

SingleThreaded::~SingleThreaded() {
  const std::lock_guard lock(guard_mutex);
  if (--guards == 0 && saved_threads != 1) openblas_set_num_threads(saved_threads);
}

void add_gram(RowMatrixArg rows, Matrix& gram) {
  assert(gram.rows() == rows.cols() && gram.cols() == rows.cols());
  if (rows.rows() == 0 || rows.cols() == 0) return;
  // A row-major n x p matrix is, to BLAS, a column-major p x n one.
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, static_cast<int>(rows.cols()),
              static_cast<int>(rows.rows()), 1.0, rows.data(), static_cast<int>(rows.outerStride()),
              1.0, gram.data(), static_cast<int>(gram.outerStride()));
}

void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c) {
  if (m == 0 || n == 0) return;
  const auto transpose = [](Op op) { return op == Op::plain ? CblasNoTrans : CblasTrans; };
  cblas_dgemm(CblasColMajor, transpose(a.op), transpose(b.op), static_cast<int>(m),
              static_cast<int>(n), static_cast<int>(k), 1.0, a.data, static_cast<int>(a.leading),
              b.data, static_cast<int>(b.leading), beta, c, static_cast<int>(leading_c));
}

Eigenpairs eigenpairs_above(double cut, Matrix& lower) {
  assert(lower.rows() == lower.cols());
  const int n = static_cast<int>(lower.rows());
  // No eigenvalue exceeds the largest sum of a row's absolute values; the lower triangle counts for
  // both halves.
  Vector sums = lower.diagonal().cwiseAbs();
  for (Index j = 0; j < n; ++j) {
    for (Index i = j + 1; i < n; ++i) {
      sums(i) += std::abs(lower(i, j));
      sums(j) += std::abs(lower(i, j));
    }
  }
  const double largest = 2 * std::max(sums.maxCoeff(), std::abs(cut)) + 1;
  Eigenpairs result{.values = Vector(n), .vectors = Matrix(n, n)};
  std::vector<int> support(2 * static_cast<std::size_t>(n));
  std::vector<double> work(1);
  std::vector<int> integers(1);
  const double tolerance = 0;  // as exact as it gets
  const int unused = 0;
  int found = 0;
  int info = 0;
  const auto call = [&](int work_size, int integers_size) {
    dsyevr_("V", "V", "L", &n, lower.data(), &n, &cut, &largest, &unused, &unused, &tolerance,
            &found, result.values.data(), result.vectors.data(), &n, support.data(), work.data(),
            &work_size, integers.data(), &integers_size, &info, 1, 1, 1);
  };
  call(-1, -1);  // asks how much room it wants
  work.resize(static_cast<std::size_t>(work[0]));
  integers.resize(static_cast<std::size_t>(integers[0]));
  call(static_cast<int>(work.size()), static_cast<int>(integers.size()));
  if (info != 0) {
    fail(ErrorCode::internal, "the eigenvalues of a {0} x {0} matrix were not found (dsyevr: {1})",
         n, info);
  }
  result.values.conservativeResize(found);
  result.vectors.conservativeResize(n, found);
  return result;
}

}  // namespace ellice::blas
