#include "search/level_cones.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>

namespace ellice {

namespace {

// How much of what keeps the form positive is used, and what rounding may change of it at most.
constexpr double sure_share = 0.98;
constexpr double most_rounding = 1e-8;
// Weights of Σxᵢ = 1 that are tried, as multiples of the largest entry.
constexpr double heaviest = 1e6;

struct Group {
  Index column = 0;
  Index width = 0;
};

std::vector<Group> groups_of(const Encoder& encoder) {
  std::vector<Group> groups;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    if (encoder.column_count(j) > 1)
      groups.push_back({.column = encoder.first_column(j), .width = encoder.column_count(j)});
  }
  return groups;
}

/// Columns span [x; c] in which the entries of every category add up to c.
Matrix spanning(const std::vector<Group>& groups, Index size) {
  std::vector<bool> is_first(static_cast<std::size_t>(size), false);
  Matrix result = Matrix::Identity(size, size);
  for (const Group& group : groups) {
    is_first[static_cast<std::size_t>(group.column)] = true;
    for (Index i = 1; i < group.width; ++i) result(group.column, group.column + i) = -1;
    result(group.column, size - 1) = 1;
  }
  std::vector<Index> kept;
  for (Index i = 0; i < size; ++i) {
    if (!is_first[static_cast<std::size_t>(i)]) kept.push_back(i);
  }
  return result(Eigen::all, kept);
}

/// Of Σ dᵢxᵢ(c − xᵢ), which is 0 wherever one of the xᵢ is c and the others are 0: dᵢ is the
/// curvature that is left of a column when all others are held.
Matrix between_levels(const std::vector<Group>& groups, const Matrix& hessian) {
  const Index last = hessian.rows() - 1;
  Matrix result = Matrix::Zero(last + 1, last + 1);
  for (const Group& group : groups) {
    for (Index i = group.column; i < group.column + group.width; ++i) {
      const double weight = 1 / hessian(i, i);
      result(i, i) = -weight;
      result(i, last) = result(last, i) = weight / 2;
    }
  }
  return result;
}

/// The largest multiple of `added` that keeps the form on these columns positive.
double largest_multiple(const Matrix& form, const Matrix& added, const Matrix& columns) {
  const Eigen::LLT<Matrix> factor(columns.transpose() * form * columns);
  if (factor.info() != Eigen::Success) return 0;
  Matrix image = columns.transpose() * added * columns;
  factor.matrixL().solveInPlace(image);
  image.transposeInPlace();
  factor.matrixL().solveInPlace(image);
  const Matrix whole = 0.5 * (image + image.transpose());
  const double least =
      Eigen::SelfAdjointEigenSolver<Matrix>(whole, Eigen::EigenvaluesOnly).eigenvalues()(0);
  return least < 0 ? -1 / least : 0;
}

BoxFactor level_cone(const BoxFactor& cone, const std::vector<Group>& groups) {
  const Matrix& form = cone.inverse();
  const Index size = form.rows();
  const Matrix hessian = Eigen::LLT<Matrix>(form).solve(Matrix::Identity(size, size));
  if (!hessian.allFinite() || !(hessian.diagonal().minCoeff() > 0)) return cone;
  const Matrix added = between_levels(groups, hessian);
  const double multiple = largest_multiple(form, added, spanning(groups, size));
  Matrix levels = form + sure_share * multiple * added;
  Matrix sums = Matrix::Zero(size, size);
  for (const Group& group : groups) {
    Vector sum = Vector::Zero(size);
    sum.segment(group.column, group.width).setOnes();
    sum(size - 1) = -1;
    sums += sum * sum.transpose();
  }
  const double largest = levels.cwiseAbs().maxCoeff();
  for (double weight = 1; weight <= heaviest; weight *= 10) {
    Matrix whole = levels + weight * largest * sums;
    if (Eigen::LLT<Matrix>(whole).info() != Eigen::Success) continue;
    // What rounding may change of the form at a row, relatively, is taken off it.
    const double rounding = 8 * static_cast<double>(size) * std::numeric_limits<double>::epsilon() *
                            whole.norm() * hessian.norm();
    if (!(rounding < most_rounding)) return cone;
    return BoxFactor::of_inverse(cone.theta(), (1 - rounding) * whole);
  }
  return cone;
}

}  // namespace

std::vector<BoxFactor> level_cones(const std::vector<BoxFactor>& cones, const Encoder& encoder) {
  const std::vector<Group> groups = groups_of(encoder);
  if (groups.empty()) return cones;
  std::vector<BoxFactor> result;
  for (const BoxFactor& cone : cones) result.push_back(level_cone(cone, groups));
  return result;
}

}  // namespace ellice
