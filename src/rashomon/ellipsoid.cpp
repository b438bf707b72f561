#include "ellice/rashomon/ellipsoid.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

RashomonEllipsoid::RashomonEllipsoid(Vector center, Matrix hessian, double epsilon)
    : center_(std::move(center)),
      hessian_(std::move(hessian)),
      factor_(hessian_),
      epsilon_(epsilon) {
  require(center_.size() == hessian_.rows(), "the centre has {} entries but H has {} rows",
          center_.size(), hessian_.rows());
  require(center_.allFinite(), "the centre has an entry that is not finite");
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
}

RashomonEllipsoid last_layer_set(const Model& model, double epsilon) {
  return {model.network.head(), model.curvature.hessian, epsilon};
}

Vector with_one(VectorArg x) {
  Vector result(x.size() + 1);
  result << x, 1.0;
  return result;
}

double robustness_penalty(const RashomonEllipsoid& set, VectorArg x_tilde) {
  return std::sqrt(2 * set.epsilon()) * set.factor().inverse_norm(x_tilde);
}

double robust_logit(const RashomonEllipsoid& set, VectorArg x_tilde) {
  return set.center().dot(x_tilde) - robustness_penalty(set, x_tilde);
}

Vector robust_logits(const RashomonEllipsoid& set, RowMatrixArg rows, const Execution& execution) {
  require(rows.cols() + 1 == set.parameters(), "rows have {} columns, expected {}", rows.cols(),
          set.parameters() - 1);
  // Blocks of fixed size, so that what a row gets does not depend on the number of threads; one
  // triangular solve with many right-hand sides runs at the speed of a matrix product.
  constexpr Index block_rows = 256;
  const Index d = rows.cols();
  const double radius = std::sqrt(2 * set.epsilon());
  Vector result(rows.rows());
  const auto blocks = static_cast<std::size_t>((rows.rows() + block_rows - 1) / block_rows);
  parallel_for("robust logits", blocks, execution, [&](std::size_t block) {
    const Index first = static_cast<Index>(block) * block_rows;
    const Index n = std::min(block_rows, rows.rows() - first);
    Matrix columns(d + 1, n);
    columns.topRows(d) = rows.middleRows(first, n).transpose();
    columns.row(d).setOnes();
    result.segment(first, n).noalias() = columns.transpose() * set.center();
    set.factor().whiten(columns);
    result.segment(first, n) -= radius * columns.colwise().norm().transpose();
  });
  return result;
}

Vector worst_model(const RashomonEllipsoid& set, VectorArg x_tilde) {
  const double norm = set.factor().inverse_norm(x_tilde);
  if (norm == 0) return set.center();
  return set.center() - (std::sqrt(2 * set.epsilon()) / norm) * set.factor().solve(x_tilde);
}

double excess_objective(const RashomonEllipsoid& set, VectorArg theta) {
  const Vector step = theta - set.center();
  return step.dot(set.hessian() * step) / 2;
}

bool contains(const RashomonEllipsoid& set, VectorArg theta) {
  return excess_objective(set, theta) <= set.epsilon();
}

double robustness_radius(const RashomonEllipsoid& set, VectorArg x_tilde, double threshold) {
  const double margin = set.center().dot(x_tilde) - threshold;
  if (!(margin > 0)) return 0;
  const double ratio = margin / set.factor().inverse_norm(x_tilde);
  return ratio * ratio / 2;
}

double epsilon_limit(VectorArg center, MatrixArg hessian, const std::vector<bool>& movable) {
  require(static_cast<Index>(movable.size()) + 1 == center.size(),
          "{} columns are marked, expected {}", movable.size(), center.size() - 1);
  std::vector<Index> moved;
  std::vector<Index> fixed;
  for (std::size_t i = 0; i < movable.size(); ++i) {
    (movable[i] ? moved : fixed).push_back(static_cast<Index>(i));
  }
  fixed.push_back(center.size() - 1);  // the bias
  const Vector w = center(moved);
  const Matrix fixed_block = hessian(fixed, fixed);
  const Vector cross = hessian(fixed, moved) * w;
  const CholeskyFactor factor(fixed_block);
  const double schur = w.dot(hessian(moved, moved) * w) - cross.dot(factor.solve(cross));
  return std::max(0.0, schur) / 2;
}

}  // namespace ellice
