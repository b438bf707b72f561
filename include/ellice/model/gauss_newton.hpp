#pragma once

#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// The largest eigenpairs of G = (1/n) Σᵢ φ″(f(xᵢ))·J(xᵢ)J(xᵢ)ᵀ, J the derivative of the logit in
/// all parameters of a network: the Gauss–Newton part of the objective's Hessian. With a damping λ
/// it stands for G + λI (theory.md, Result 25). Pairs with e_k ≤ cut are left out, which makes the
/// set of models larger, never smaller.
struct GaussNewton {
  double damping = 0.1;    // λ, the default for those who use it
  double cut = 0;          // eigenvalues up to this were left out
  Vector values = {};      // e_1 ≥ e_2 ≥ …
  RowMatrix vectors = {};  // one column per value, one row per parameter, orthonormal columns
};

/// Eigenvalues above share·damping are kept: 0.3 makes the spread some 1 % larger than it would be
/// with all of them, for half the work of 0.1. Works with the smaller of the p × p and n × n
/// matrices. `row_weights`, if any, are those of the rows, with a mean of 1.
[[nodiscard]] GaussNewton gauss_newton(const Network& network, RowMatrixArg rows, LossKind kind,
                                       double damping = 0.1, double share = 0.3,
                                       const Vector& row_weights = {});

}  // namespace ellice
