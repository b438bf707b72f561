#include "solver/cholesky.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// Eigenvalues below this share of the largest are taken for 0.
constexpr double singularity = 1e-12;

/// Rounding leaves pivots of the size p·u·max Hᵢᵢ in a singular matrix, so "positive" is not
/// enough.
double noise_of(MatrixArg h) {
  return static_cast<double>(h.rows()) * std::numeric_limits<double>::epsilon() *
         std::abs(h.diagonal().maxCoeff());
}

}  // namespace

CholeskyFactor::CholeskyFactor(MatrixArg h) {
  require(h.rows() == h.cols(), "H has {} rows and {} columns, it must be square", h.rows(),
          h.cols());
  require(h.allFinite(), "H has an entry that is not finite");
  const double asymmetry = (h - h.transpose()).cwiseAbs().maxCoeff();
  require(asymmetry <= 1e-12 * h.cwiseAbs().maxCoeff(),
          "H is not symmetric: entries across the diagonal differ by up to {}", asymmetry);
  llt_.compute(Matrix(h));  // of a matrix Eigen's code is there already (core/eigen_kernels.hpp)
  const double smallest_pivot =
      llt_.info() == Eigen::Success ? llt_.matrixLLT().diagonal().cwiseAbs2().minCoeff() : 0.0;
  require(smallest_pivot > noise_of(h),
          "H is not positive definite: smallest pivot {:.3g}, largest diagonal entry {:.3g}",
          smallest_pivot, h.diagonal().maxCoeff());
}

Vector CholeskyFactor::solve(VectorArg b) const {
  return llt_.solve(b);
}

Vector CholeskyFactor::solve_transposed(VectorArg b) const {
  return llt_.matrixU().solve(b);
}

double CholeskyFactor::inverse_norm(VectorArg b) const {
  return llt_.matrixL().solve(b).norm();
}

void CholeskyFactor::whiten(Eigen::Ref<Matrix> columns) const {
  llt_.matrixL().solveInPlace(columns);
}

bool CholeskyFactor::whiten(MatrixArg h, Eigen::Ref<Matrix> columns) {
  const Eigen::LLT<Matrix> factor = Eigen::LLT<Matrix>(Matrix(h));
  const Vector pivots = factor.matrixLLT().diagonal().cwiseAbs2();
  if (factor.info() != Eigen::Success || !(pivots.minCoeff() > noise_of(h))) return false;
  factor.matrixL().solveInPlace(columns);
  return true;
}

Spectrum spectrum(MatrixArg h) {
  const Vector values =
      Eigen::SelfAdjointEigenSolver<Matrix>(Matrix(h), Eigen::EigenvaluesOnly).eigenvalues();
  const double largest = values.maxCoeff();
  return {.smallest = values.minCoeff(),
          .largest = largest,
          .rank = (values.array() > singularity * largest).count()};
}

double needed_shift(MatrixArg h) {
  const Spectrum s = spectrum(h);
  if (s.largest <= 0) return 1e-8;
  return s.rank == h.rows() ? 0.0 : 1e-8 * s.largest;
}

}  // namespace ellice
