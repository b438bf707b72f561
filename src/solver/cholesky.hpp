#pragma once

#include <Eigen/Cholesky>

#include "ellice/core/types.hpp"

namespace ellice {

/// H = LLᵀ for a symmetric positive definite H, and what is asked of H⁻¹, which is never formed.
class CholeskyFactor {
 public:
  CholeskyFactor() = default;
  /// Throws Error{argument} when H is not square, not symmetric (to 1e-12 of its largest entry),
  /// not finite or not numerically positive definite.
  explicit CholeskyFactor(MatrixArg h);

  [[nodiscard]] Index size() const { return llt_.rows(); }
  [[nodiscard]] Vector solve(VectorArg b) const;             // H⁻¹b
  [[nodiscard]] Vector solve_transposed(VectorArg b) const;  // L⁻ᵀb
  [[nodiscard]] double inverse_norm(VectorArg b) const;      // ‖L⁻¹b‖₂ = √(bᵀH⁻¹b)
  /// columns ← L⁻¹ columns: the norm of each is its inverse_norm.
  void whiten(Eigen::Ref<Matrix> columns) const;
  /// The same by the factor of a matrix that may have none: then nothing changes, and it says so.
  /// Curvature dies out far away, where every row's slope has.
  [[nodiscard]] static bool whiten(MatrixArg h, Eigen::Ref<Matrix> columns);

 private:
  Eigen::LLT<Matrix> llt_;
};

/// The eigenvalues of a symmetric positive semidefinite matrix in three numbers.
struct Spectrum {
  double smallest = 0;
  double largest = 0;
  Index rank = 0;  // how many exceed 1e-12 of the largest
  [[nodiscard]] double condition() const { return largest / smallest; }
};
[[nodiscard]] Spectrum spectrum(MatrixArg h);

/// What must be added to the diagonal of a positive semidefinite H before it can be factored: 0 for
/// full rank (see Spectrum), else 1e-8·λ_max (1e-8 when H = 0). A shift shrinks the set of models
/// that H describes, so whoever applies one reports it (theory.md, Proposition 3).
[[nodiscard]] double needed_shift(MatrixArg h);

}  // namespace ellice
