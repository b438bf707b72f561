#include "model/softmax_objective.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "ellice/core/error.hpp"
#include "model/network_objective.hpp"
#include "model/network_training.hpp"
#include "solver/cholesky.hpp"
#include "support/class_cases.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

/// The definition, in extended precision and without any care.
double plain_value(const Dataset& data, const Vector& theta, const Penalty& penalty) {
  const Index p = data.raw.cols() + 1;
  const Index classes = theta.size() / p;
  long double sum = 0;
  for (Index i = 0; i < data.rows(); ++i) {
    long double partition = 0;
    long double own = 0;
    for (Index k = 0; k < classes; ++k) {
      long double score = theta(k * p + p - 1);
      for (Index j = 0; j + 1 < p; ++j) score += theta(k * p + j) * data.raw(i, j);
      partition += std::exp(score);
      if (k == data.labels[static_cast<std::size_t>(i)]) own = score;
    }
    sum += std::log(partition) - own;
  }
  sum /= data.rows();
  for (Index k = 0; k < theta.size(); ++k) {
    const bool is_bias = k % p == p - 1;
    if (!is_bias || penalty.penalize_bias) sum += penalty.l2 / 2 * theta(k) * theta(k);
  }
  return static_cast<double>(sum);
}

TEST(SoftmaxObjective, IsThePlainMeanAndHasItsDerivatives) {
  for (const Index classes : {2, 3, 5}) {
    for (const bool penalize_bias : {true, false}) {
      const Dataset data = problem_zoo::class_dataset(90, 3, classes, 4);
      const Penalty penalty{.l2 = 0.03, .penalize_bias = penalize_bias};
      const SoftmaxObjective objective(data.raw, data.labels, classes, penalty);
      const Vector theta = Random(5).normal_vector(objective.parameters());
      Vector gradient;
      Matrix hessian;
      const double value = objective.derivatives(theta, gradient, hessian);
      EXPECT_NEAR(value, plain_value(data, theta, penalty), 1e-14 * std::abs(value));
      EXPECT_EQ(value, objective.value(theta));
      const auto plain = [&](const Vector& x) { return plain_value(data, x, penalty); };
      EXPECT_LT((gradient - oracles::numerical_gradient(plain, theta)).cwiseAbs().maxCoeff(), 1e-9);
      const auto gradients = [&](const Vector& x) {
        Vector g;
        Matrix ignored;
        objective.derivatives(x, g, ignored);
        return g;
      };
      EXPECT_LT((hessian - oracles::numerical_jacobian(gradients, theta)).cwiseAbs().maxCoeff(),
                1e-9);
      EXPECT_EQ(hessian, hessian.transpose());
    }
  }
}

TEST(SoftmaxObjective, SurvivesHugeScores) {
  const Dataset data = problem_zoo::class_dataset(30, 2, 3, 6);
  const SoftmaxObjective objective(data.raw, data.labels, 3, {.l2 = 0});
  const Vector theta = 1e6 * Random(7).normal_vector(objective.parameters());
  Vector gradient;
  Matrix hessian;
  EXPECT_TRUE(std::isfinite(objective.derivatives(theta, gradient, hessian)));
  EXPECT_TRUE(gradient.allFinite());
  EXPECT_TRUE(hessian.allFinite());
}

TEST(SoftmaxObjective, IsTheSameForAnyNumberOfThreads) {
  const Dataset data = problem_zoo::class_dataset(5000, 3, 4, 8);
  const SoftmaxObjective one(data.raw, data.labels, 4, {}, 1);
  const SoftmaxObjective three(data.raw, data.labels, 4, {}, 3);
  const Vector theta = Random(9).normal_vector(one.parameters());
  Vector gradient, other_gradient;
  Matrix hessian, other_hessian;
  EXPECT_EQ(one.derivatives(theta, gradient, hessian),
            three.derivatives(theta, other_gradient, other_hessian));
  EXPECT_EQ(gradient, other_gradient);
  EXPECT_EQ(hessian, other_hessian);
}

TEST(SoftmaxObjective, HasNoCurvatureOfItsOwnAlongTheGauge) {
  const Dataset data = problem_zoo::class_dataset(80, 3, 4, 10);
  const SoftmaxObjective objective(data.raw, data.labels, 4, {.l2 = 0.02});
  const Vector theta = Random(11).normal_vector(16);
  const Matrix hessian = objective.hessian(theta);
  const Vector shift = Random(12).normal_vector(4);
  const Vector same = shift.replicate(4, 1);
  EXPECT_LT((hessian * same - 0.02 * same).norm(), 1e-14);
}

TEST(SoftmaxObjective, RefusesLabelsThatAreNoClasses) {
  const Dataset data = problem_zoo::class_dataset(9, 2, 3, 1);
  EXPECT_THROW(SoftmaxObjective(data.raw, data.labels, 2, {}), Error);
  EXPECT_THROW(SoftmaxObjective(data.raw, data.labels, 1, {}), Error);
}

TEST(WithGauge, ChangesNoContrastOfClassesAndMakesHDefinite) {
  const Dataset data = problem_zoo::class_dataset(120, 3, 3, 13);
  const Vector theta = 0.3 * Random(14).normal_vector(12);
  const SoftmaxObjective penalized(data.raw, data.labels, 3, {.l2 = 0.02});
  const Matrix plain = penalized.hessian(theta).inverse();
  const Matrix gauged = with_gauge(penalized.hessian(theta), 3).inverse();
  const SoftmaxObjective bare(data.raw, data.labels, 3, {.l2 = 0});
  EXPECT_EQ(spectrum(bare.hessian(theta)).rank, 8);
  EXPECT_EQ(spectrum(with_gauge(bare.hessian(theta), 3)).rank, 12);
  for (Index rival = 1; rival < 3; ++rival) {
    Vector contrast = Vector::Zero(12);
    contrast.head(4) = Random(15).normal_vector(4);
    contrast.segment(rival * 4, 4) = -contrast.head(4);
    const Vector expected = plain * contrast;
    EXPECT_LT((gauged * contrast - expected).norm(), 1e-12 * expected.norm());
  }
  EXPECT_EQ(with_gauge(Matrix::Identity(3, 3), 1), Matrix::Identity(3, 3));
}

TEST(NetworkObjective, OfManyClassesHasItsGradient) {
  const Dataset data = problem_zoo::class_dataset(150, 3, 3, 16);  // more than one block of rows
  const LabelledRows rows{.features = &data.raw, .labels = &data.labels, .classes = 3};
  for (const std::vector<int>& hidden : {std::vector<int>{}, {5}, {4, 3}}) {
    NetworkOptions options{.hidden = hidden, .activation = Activation::tanh, .epochs = 3};
    const Network network =
        fit_network(rows, {}, LossKind::softmax, {.l2 = 0.02}, options, Random(17)).network;
    EXPECT_EQ(network.kind, NetworkKind::softmax);
    EXPECT_EQ(network.outputs(), 3);
    NetworkObjective objective(rows, LossKind::softmax, {.l2 = 0.02});
    Vector gradient;
    const double value = objective.gradient(network, gradient);
    if (hidden.empty()) {
      EXPECT_NEAR(value, plain_value(data, network.head(), {.l2 = 0.02}), 1e-14);
    }
    const auto at = [&](const Vector& parameters) {
      return objective.value(with_parameters(network, parameters));
    };
    const Vector expected = oracles::numerical_gradient(at, parameter_vector(network));
    EXPECT_LT((gradient - expected).cwiseAbs().maxCoeff(), 1e-9);
    // A batch of all rows is all rows.
    std::vector<Index> batch;
    for (Index i = 0; i < data.rows(); ++i) batch.push_back(i);
    Vector of_batch;
    EXPECT_NEAR(objective.gradient(network, batch, of_batch), value, 1e-15);
    EXPECT_LT((of_batch - gradient).cwiseAbs().maxCoeff(), 1e-15);
  }
}

}  // namespace
}  // namespace ellice
