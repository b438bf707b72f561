#pragma once

#include "ellice/model/model.hpp"

namespace ellice {

/// Eigenvalues above share·damping are kept: 0.3 makes the spread some 1 % larger than it would be
/// with all of them, for half the work of 0.1. Works with the smaller of the p × p and n × n
/// matrices. `row_weights`, if any, are those of the rows, with a mean of 1.
[[nodiscard]] GaussNewton gauss_newton(const Network& network, RowMatrixArg rows, LossKind kind,
                                       double damping = 0.1, double share = 0.3,
                                       const Vector& row_weights = {});

}  // namespace ellice
