#include "support/problem_zoo.hpp"

#include <Eigen/QR>

namespace ellice::problem_zoo {

Matrix random_hessian(Index size, double condition, Random random) {
  Matrix gaussian(size, size);
  for (Index j = 0; j < size; ++j) gaussian.col(j) = random.normal_vector(size);
  const Matrix basis = Eigen::HouseholderQR<Matrix>(gaussian).householderQ();
  Vector values(size);
  for (Index i = 0; i < size; ++i) {
    const double share = size > 1 ? static_cast<double>(i) / static_cast<double>(size - 1) : 0;
    values(i) = std::pow(condition, -share);
  }
  const Matrix h = basis * values.asDiagonal() * basis.transpose();
  return (h + h.transpose()) / 2;
}

EllipsoidProblem random_ellipsoid(const EllipsoidSpec& spec) {
  const Random random(spec.seed);
  Random center = random.split(1);
  Random point = random.split(2);
  Vector x_tilde = point.normal_vector(spec.dimension);
  x_tilde(spec.dimension - 1) = 1;
  return {.set = Ellipsoid(center.normal_vector(spec.dimension),
                           random_hessian(spec.dimension, spec.condition, random.split(3)),
                           spec.epsilon),
          .x_tilde = x_tilde};
}

Labelled random_rows(Index rows, Index columns, std::uint64_t seed) {
  const Random random(seed);
  Random truth = random.split(1);
  const Vector w = truth.normal_vector(columns);
  const Vector shared = truth.normal_vector(columns) / 2;
  Labelled result{.features = RowMatrix(rows, columns)};
  for (Index i = 0; i < rows; ++i) {
    Random stream = random.split(1000 + static_cast<std::uint64_t>(i));
    result.features.row(i) = (stream.normal_vector(columns) + stream.normal() * shared).transpose();
    const double p =
        sigmoid(result.features.row(i).dot(w) / std::sqrt(static_cast<double>(columns)) + 0.3);
    result.labels.push_back(stream.uniform() < p ? 1 : 0);
  }
  return result;
}

}  // namespace ellice::problem_zoo
