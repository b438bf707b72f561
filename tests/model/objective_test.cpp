#include "model/objective.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "ellice/core/error.hpp"
#include "support/oracles.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

struct ObjectiveSetting {
  LossKind loss;
  bool penalize_bias;
};
void PrintTo(const ObjectiveSetting& setting,
             std::ostream* out) {  // CTest shows it in the test's name
  *out << enum_name(setting.loss) << (setting.penalize_bias ? "" : ", free bias");
}

class ObjectiveFor : public testing::TestWithParam<ObjectiveSetting> {};

INSTANTIATE_TEST_SUITE_P(All, ObjectiveFor,
                         testing::Values(ObjectiveSetting{LossKind::logistic, true},
                                         ObjectiveSetting{LossKind::logistic, false},
                                         ObjectiveSetting{LossKind::squared, true},
                                         ObjectiveSetting{LossKind::squared, false}),
                         [](const auto& instance) {
                           return std::string(enum_name(instance.param.loss)) +
                                  (instance.param.penalize_bias ? "_penalised_bias" : "_free_bias");
                         });

TEST_P(ObjectiveFor, ValueIsTheDefinitionRowByRow) {
  const auto data = problem_zoo::random_rows(700, 5, 3);
  const double l2 = 0.07;
  const Objective objective(data.features, data.labels, GetParam().loss,
                            {.l2 = l2, .penalize_bias = GetParam().penalize_bias});
  Random random(9);
  const Vector theta = random.normal_vector(6);
  long double sum = 0;
  for (Index i = 0; i < 700; ++i) {
    const double f = data.features.row(i).dot(theta.head(5)) + theta(5);
    const int y = data.labels[static_cast<std::size_t>(i)];
    sum += GetParam().loss == LossKind::logistic ? std::log(1 + std::exp(y == 1 ? -f : f))
                                                 : (f - (2 * y - 1)) * (f - (2 * y - 1)) / 2;
  }
  const double loss = static_cast<double>(sum) / 700;
  const double norm = GetParam().penalize_bias ? theta.squaredNorm() : theta.head(5).squaredNorm();
  EXPECT_NEAR(objective.loss(theta), loss, 1e-13);
  EXPECT_NEAR(objective.value(theta), loss + l2 / 2 * norm, 1e-13);
}

TEST_P(ObjectiveFor, DerivativesAgreeWithFiniteDifferences) {
  const auto data = problem_zoo::random_rows(3000, 6, 4);
  const Objective objective(data.features, data.labels, GetParam().loss,
                            {.l2 = 0.03, .penalize_bias = GetParam().penalize_bias});
  Random random(10);
  const Vector theta = random.normal_vector(7);
  Vector gradient;
  Matrix hessian;
  const double value = objective.derivatives(theta, gradient, hessian);
  Vector alone;
  EXPECT_EQ(objective.gradient(theta, alone), value);
  EXPECT_EQ(alone, gradient);
  EXPECT_NEAR(value, objective.value(theta), 1e-14);
  const Vector expected =
      oracles::numerical_gradient([&](const Vector& t) { return objective.value(t); }, theta);
  EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-9);
  const Matrix expected_hessian = oracles::numerical_jacobian(
      [&](const Vector& t) {
        Vector g;
        Matrix h;
        (void)objective.derivatives(t, g, h);
        return g;
      },
      theta);
  EXPECT_LE((hessian - expected_hessian).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_EQ(hessian, hessian.transpose());
  EXPECT_LE((objective.hessian(theta) - hessian).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(Objective, IsTheSameToTheByteForAnyNumberOfThreads) {
  const auto data = problem_zoo::random_rows(20011, 9, 5);
  Random random(11);
  const Vector theta = random.normal_vector(10);
  Vector first_gradient;
  Matrix first_hessian;
  double first_value = 0;
  for (const int threads : {1, 2, 5}) {
    const Objective objective(data.features, data.labels, LossKind::logistic, {}, threads);
    Vector gradient;
    Matrix hessian;
    const double value = objective.derivatives(theta, gradient, hessian);
    if (threads == 1) {
      first_gradient = gradient;
      first_hessian = hessian;
      first_value = value;
    }
    EXPECT_EQ(value, first_value);
    EXPECT_EQ(gradient, first_gradient);
    EXPECT_EQ(hessian, first_hessian);
  }
}

TEST(Objective, RefusesWhatDoesNotFit) {
  const auto data = problem_zoo::random_rows(10, 3, 6);
  EXPECT_THROW(Objective(data.features, {1, 0}, LossKind::logistic, {}), Error);
  EXPECT_THROW(Objective(data.features, data.labels, LossKind::logistic, {.l2 = -1}), Error);
  const Objective objective(data.features, data.labels, LossKind::logistic, {});
  EXPECT_THROW((void)objective.value(Vector::Zero(3)), Error);
}

}  // namespace
}  // namespace ellice
