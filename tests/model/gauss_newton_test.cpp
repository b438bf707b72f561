#include "model/gauss_newton.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>

#include "ellice/core/error.hpp"
#include "support/oracles.hpp"
#include "support/problem_zoo.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

Vector numerical_jacobian_of(const Network& network, VectorArg x) {
  return oracles::numerical_gradient(
      [&](const Vector& theta) { return with_parameters(network, theta).logit(x); },
      parameter_vector(network));
}

/// G from its definition, by finite differences.
Matrix plain_gauss_newton(const Network& network, const RowMatrix& rows, LossKind kind) {
  Matrix g = Matrix::Zero(network.parameters(), network.parameters());
  for (Index i = 0; i < rows.rows(); ++i) {
    const Vector jacobian = numerical_jacobian_of(network, rows.row(i).transpose());
    const double p = 1 / (1 + std::exp(-network.logit(rows.row(i).transpose())));
    const double weight = kind == LossKind::logistic ? p * (1 - p) : 1;
    g += weight / static_cast<double>(rows.rows()) * jacobian * jacobian.transpose();
  }
  return g;
}

/// s² = Jᵀ(G+λI)⁻¹J as theory.md, Result 25 takes it from the pairs.
double squared_length(const GaussNewton& pairs, const Vector& jacobian) {
  double sum = jacobian.squaredNorm() / pairs.damping;
  const Vector c = pairs.vectors.transpose() * jacobian;
  for (Index k = 0; k < c.size(); ++k) {
    const double e = pairs.values(k);
    sum -= e / (pairs.damping * (e + pairs.damping)) * c(k) * c(k);
  }
  return sum;
}

TEST(GaussNewton, WithAllPairsIsTheDampedInverse) {
  // More rows than parameters, then fewer: the p × p and the n × n matrix.
  for (const Index n : {120, 25}) {
    for (const LossKind kind : {LossKind::logistic, LossKind::squared}) {
      const auto data = problem_zoo::random_rows(n, 4, 3);
      const Network network = random_network(4, {6, 3}, Activation::relu, Random(5));
      ASSERT_EQ(network.parameters(), 55);
      const double damping = 0.1;
      const GaussNewton pairs = gauss_newton(network, data.features, kind, damping, 0);
      const Matrix g = plain_gauss_newton(network, data.features, kind);
      const Matrix inverse = (g + damping * Matrix::Identity(55, 55)).inverse();
      const auto probes = problem_zoo::random_rows(20, 4, 4);
      for (Index i = 0; i < 20; ++i) {
        const Vector j = numerical_jacobian_of(network, probes.features.row(i).transpose());
        const double exact = j.dot(inverse * j);
        EXPECT_NEAR(squared_length(pairs, j), exact, 1e-7 * exact);
      }
    }
  }
}

TEST(GaussNewton, TruncationEnlargesTheLengthAndNotByMuch) {
  const auto data = problem_zoo::random_rows(200, 5, 6);
  const Network network = random_network(5, {8}, Activation::relu, Random(7));
  const double damping = 0.1;
  const double share = 0.1;
  const GaussNewton all = gauss_newton(network, data.features, LossKind::logistic, damping, 0);
  const GaussNewton some = gauss_newton(network, data.features, LossKind::logistic, damping, share);
  EXPECT_LT(some.values.size(), all.values.size());
  EXPECT_DOUBLE_EQ(some.cut, share * damping);
  EXPECT_GT(some.values.minCoeff(), some.cut);
  for (Index i = 0; i < 50; ++i) {
    const Vector j = numerical_jacobian_of(network, data.features.row(i).transpose());
    const double exact = squared_length(all, j);
    const double truncated = squared_length(some, j);
    EXPECT_GE(truncated, exact * (1 - 1e-12));
    // What is left out lies in [1/(λ(1+share)), 1/λ] of the exact inverse.
    EXPECT_LE(truncated, exact * (1 + share) * (1 + 1e-12));
  }
}

TEST(GaussNewton, PairsAreOrderedOrthonormalAndFixedInSign) {
  for (const Index n : {150, 30}) {
    const auto data = problem_zoo::random_rows(n, 4, 8);
    const Network network = random_network(4, {7}, Activation::tanh, Random(9));
    const GaussNewton pairs = gauss_newton(network, data.features, LossKind::logistic, 0.1, 1e-3);
    const Index rank = pairs.values.size();
    ASSERT_GT(rank, 3);
    EXPECT_LE((pairs.vectors.transpose() * pairs.vectors - Matrix::Identity(rank, rank))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-10);
    for (Index k = 1; k < rank; ++k) EXPECT_GE(pairs.values(k - 1), pairs.values(k));
    for (Index k = 0; k < rank; ++k) {
      EXPECT_EQ(pairs.vectors.col(k).maxCoeff(), pairs.vectors.col(k).cwiseAbs().maxCoeff());
    }
    const Matrix g = plain_gauss_newton(network, data.features, LossKind::logistic);
    const Vector expected = Eigen::SelfAdjointEigenSolver<Matrix>(g).eigenvalues().reverse();
    EXPECT_LE((pairs.values - expected.head(rank)).cwiseAbs().maxCoeff(), 1e-8);
    const GaussNewton again = gauss_newton(network, data.features, LossKind::logistic, 0.1, 1e-3);
    EXPECT_EQ(again.vectors, pairs.vectors);
  }
}

TEST(GaussNewton, OfADeadNetworkIsThatOfItsBias) {
  const auto data = problem_zoo::random_rows(100, 3, 8);
  Network network = random_network(3, {4}, Activation::relu, Random(1));
  network.layers[0].bias.setConstant(-1000);
  const GaussNewton pairs = gauss_newton(network, data.features, LossKind::logistic);
  ASSERT_EQ(pairs.values.size(), 1);
  EXPECT_EQ(pairs.vectors(pairs.vectors.rows() - 1, 0), 1);
}

TEST(GaussNewton, RefusesADampingThatIsNotPositive) {
  const auto data = problem_zoo::random_rows(10, 3, 8);
  const Network network = random_network(3, {4}, Activation::relu, Random(1));
  EXPECT_THROW((void)gauss_newton(network, data.features, LossKind::logistic, 0), Error);
  EXPECT_THROW((void)gauss_newton(network, data.features, LossKind::logistic, NAN), Error);
}

}  // namespace
}  // namespace ellice
