#include "core/blas.hpp"

#include <cblas.h>

#include <cassert>
#include <mutex>

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

}  // namespace ellice::blas
