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

}  // namespace ellice::blas
