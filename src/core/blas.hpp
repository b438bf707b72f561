#pragma once

// The few large products, on one thread, to the same bytes on every processor: each entry is summed
// in the order of k, whatever the instruction set (docs/decisions/0022-bytes-and-processors.md).
// Eigen's own products serve everywhere else.

#include "ellice/core/types.hpp"

namespace ellice::blas {

struct TileKernel;

/// lower(gram) += rowsᵀ rows. Only the lower triangle is read or written.
void add_gram(RowMatrixArg rows, Matrix& gram);
void add_gram(RowMatrixArg rows, Matrix& gram, const TileKernel& kernel);

enum class Op { plain, transposed };

/// C ← op(A)·op(B) + β·C for column-major storage: op(A) is m×k, op(B) k×n and C m×n, each with its
/// leading dimension. β is 0 or 1; for 0, C need not be initialised.
struct Operand {
  const double* data = nullptr;
  Index leading = 0;
  Op op = Op::plain;
};
void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c);
void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c, const TileKernel& kernel);

/// The eigenpairs of a symmetric matrix with values above `cut`, the smallest first; reads the
/// lower triangle.
struct Eigenpairs {
  Vector values = {};
  Matrix vectors = {};  // one column per value
};
[[nodiscard]] Eigenpairs eigenpairs_above(double cut, const Matrix& lower);

}  // namespace ellice::blas
