#pragma once

// The few BLAS calls that we make by name. Eigen's own products serve everywhere else: switching
// Eigen itself to BLAS would change the meaning of its templates between the library and its users.

#include "ellice/core/types.hpp"

namespace ellice::blas {

/// While one lives, OpenBLAS uses one thread: parallelism has one owner, core/parallel, and a
/// reduction split by BLAS would make results depend on the number of cores.
class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;
  SingleThreaded(SingleThreaded&&) = delete;
  SingleThreaded& operator=(SingleThreaded&&) = delete;
};

/// lower(gram) += rowsᵀ rows. Only the lower triangle is read or written.
void add_gram(RowMatrixArg rows, Matrix& gram);

enum class Op { plain, transposed };

/// C ← op(A)·op(B) + β·C for column-major storage: op(A) is m×k, op(B) k×n and C m×n, each with its
/// leading dimension. For β = 0, C need not be initialised.
struct Operand {
  const double* data = nullptr;
  Index leading = 0;
  Op op = Op::plain;
};
void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c);

/// The eigenpairs of a symmetric matrix with values above `cut`, the smallest first; reads the
/// lower triangle and overwrites it.
struct Eigenpairs {
  Vector values = {};
  Matrix vectors = {};  // one column per value
};
[[nodiscard]] Eigenpairs eigenpairs_above(double cut, Matrix& lower);

}  // namespace ellice::blas
