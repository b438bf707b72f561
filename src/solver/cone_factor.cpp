#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "ellice/core/error.hpp"
#include "solver/cone_projection.hpp"

namespace ellice {

namespace {

void check(const ConeProblem& problem) {
  const Index size = problem.theta.size();
  const Index d = size - 1;
  require(size >= 1, "ConeProblem.theta is empty; it needs at least the bias");
  require(problem.hessian.rows() == size && problem.hessian.cols() == size,
          "ConeProblem.hessian is {}x{}; theta has length {}", problem.hessian.rows(),
          problem.hessian.cols(), size);
  require(problem.weights.size() == 0 || problem.weights.size() == d,
          "ConeProblem.weights has length {}; expected {}", problem.weights.size(), d);
  require(problem.movable.empty() || static_cast<Index>(problem.movable.size()) == d,
          "ConeProblem.movable has length {}; expected {}", problem.movable.size(), d);
  require(problem.theta.allFinite(), "ConeProblem.theta must be finite");
  require(problem.hessian.allFinite(), "ConeProblem.hessian must be finite");
  for (Index i = 0; i < problem.weights.size(); ++i) {
    require(problem.weights[i] > 0 && std::isfinite(problem.weights[i]),
            "ConeProblem.weights[{}] = {} must be > 0 and finite", i, problem.weights[i]);
  }
}

Matrix submatrix(const Matrix& matrix, const std::vector<Index>& rows,
                 const std::vector<Index>& columns) {
  return matrix(rows, columns);
}

}  // namespace

ConeFactor::ConeFactor(const ConeProblem& problem) {
  check(problem);
  dimension_ = problem.theta.size() - 1;
  std::vector<Index> movable;
  std::vector<Index> fixed;
  for (Index i = 0; i < dimension_; ++i) {
    const bool moves = problem.movable.empty() || problem.movable[static_cast<std::size_t>(i)];
    (moves ? movable : fixed).push_back(i);
  }
  has_fixed_ = !fixed.empty();
  fixed.push_back(dimension_);  // the constant 1
  factorise(problem, movable, fixed);
}

// theory.md, Result 2. H⁻¹ is never formed: what is needed of it is the Schur complement S of the
// fixed block, S⁻¹ = (H⁻¹)ₘₘ.
void ConeFactor::factorise(const ConeProblem& problem, const std::vector<Index>& movable,
                           const std::vector<Index>& fixed) {
  const Index m = static_cast<Index>(movable.size());
  const Index f = static_cast<Index>(fixed.size());
  const Eigen::LLT<Matrix> fixed_factor(submatrix(problem.hessian, fixed, fixed));
  require(fixed_factor.info() == Eigen::Success, "ConeProblem.hessian is not positive definite");
  Matrix center = Matrix::Zero(m, f);  // C
  if (m > 0) {
    center = fixed_factor.solve(submatrix(problem.hessian, fixed, movable)).transpose();
  }
  Vector root = Vector::Ones(m);  // D^½
  if (problem.weights.size() > 0) root = problem.weights(movable).cwiseSqrt();
  Matrix basis(m, m);  // V
  Vector sigma(m);
  if (m > 0) {
    Matrix schur = submatrix(problem.hessian, movable, movable);
    schur.noalias() -= center * submatrix(problem.hessian, fixed, movable);
    schur = (root.asDiagonal() * (schur + schur.transpose()) * root.asDiagonal()).eval() / 2;
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(schur);
    basis = eigen.eigenvectors();
    sigma = eigen.eigenvalues();
    require(eigen.info() == Eigen::Success && sigma[0] > 0,
            "ConeProblem.hessian is not positive definite: smallest eigenvalue {}", sigma[0]);
  }
  const Vector w = problem.theta(movable);
  const Vector profile = problem.theta(fixed) + center.transpose() * w;  // the model with w = 0
  a_ = basis.transpose() * w.cwiseQuotient(root);
  pi_ = sigma.cwiseInverse();
  max_epsilon_ = 0.5 * a_.cwiseAbs2().dot(sigma);

  const Matrix rotated = basis.transpose() * root.asDiagonal();  // V′D^½
  const Matrix shift = rotated * center;
  const Matrix inverse = fixed_factor.matrixL().solve(Matrix::Identity(f, f));
  const Index outputs = has_fixed_ ? m + 1 + f : m;
  into_ = Matrix::Zero(dimension_, outputs);
  into_offset_ = Vector::Zero(outputs);
  into_(movable, Eigen::seqN(0, m)) = rotated.transpose();
  into_offset_.head(m) = -shift.col(f - 1);
  if (has_fixed_) {
    const std::vector<Index> columns(fixed.begin(), fixed.end() - 1);
    into_(columns, Eigen::seqN(0, m)) = -shift.leftCols(f - 1).transpose();
    into_(columns, m) = profile.head(f - 1);
    into_(columns, Eigen::seqN(m + 1, f)) = inverse.leftCols(f - 1).transpose();
    into_offset_[m] = profile[f - 1];
    into_offset_.tail(f) = inverse.col(f - 1);
  } else {
    profile_ = profile[0];
    kappa_squared_ = inverse(0, 0) * inverse(0, 0);
  }
  out_ = Matrix::Zero(dimension_, m);
  out_(movable, Eigen::all) = root.cwiseInverse().asDiagonal() * basis;
}

double ConeFactor::max_epsilon(VectorArg query, double threshold) const {
  require(query.size() == dimension_, "the query has length {}; expected {}", query.size(),
          dimension_);
  double c = profile_ - threshold;
  double kappa_squared = kappa_squared_;
  if (has_fixed_) {
    const Vector outputs = into_.transpose() * query + into_offset_;
    c = outputs[a_.size()] - threshold;
    kappa_squared = outputs.tail(outputs.size() - a_.size() - 1).squaredNorm();
  }
  return c > 0 ? max_epsilon_ + c * c / (2 * kappa_squared) : max_epsilon_;
}

}  // namespace ellice
