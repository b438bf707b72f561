#include "model/network_objective.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "ellice/core/error.hpp"
#include "support/oracles.hpp"
#include "support/problem_zoo.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

struct Setting {
  std::vector<Index> hidden;
  Activation activation;
  LossKind loss;
  bool penalize_bias;
  std::vector<InputGroup> groups = {};
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.hidden.size() << " hidden layers, " << enum_name(setting.activation) << ", "
       << enum_name(setting.loss) << (setting.penalize_bias ? "" : ", free biases");
}

class NetworkObjectiveFor : public testing::TestWithParam<Setting> {};

INSTANTIATE_TEST_SUITE_P(
    All, NetworkObjectiveFor,
    testing::Values(
        Setting{{}, Activation::relu, LossKind::logistic, true},
        Setting{{7}, Activation::relu, LossKind::logistic, true},
        Setting{{7}, Activation::relu, LossKind::squared, false},
        Setting{{5, 3}, Activation::relu, LossKind::logistic, false},
        Setting{{4, 6, 3}, Activation::tanh, LossKind::logistic, true},
        Setting{{6, 2}, Activation::sigmoid, LossKind::squared, true},
        Setting{{3, 4}, Activation::identity, LossKind::logistic, true},
        Setting{{4}, Activation::relu, LossKind::logistic, true, {{.columns = 2}, {.columns = 3}}},
        Setting{{4, 3},
                Activation::tanh,
                LossKind::squared,
                false,
                {{.columns = 1}, {.columns = 3}, {.columns = 1}}},
        Setting{
            {3, 2, 4}, Activation::relu, LossKind::logistic, false, std::vector<InputGroup>(5)}));

// More than two blocks of rows, the last one partial.
constexpr Index row_count = 301;

TEST_P(NetworkObjectiveFor, ValueIsTheDefinitionRowByRow) {
  const auto data = problem_zoo::random_rows(row_count, 5, 3);
  const Network network =
      random_network(5, GetParam().hidden, GetParam().activation, Random(11), GetParam().groups);
  const double l2 = 0.07;
  NetworkObjective objective({.features = &data.features, .labels = &data.labels}, GetParam().loss,
                             {.l2 = l2, .penalize_bias = GetParam().penalize_bias});
  long double sum = 0;
  for (Index i = 0; i < row_count; ++i) {
    const double f = network.logit(data.features.row(i).transpose());
    const int y = data.labels[static_cast<std::size_t>(i)];
    sum += GetParam().loss == LossKind::logistic ? std::log(1 + std::exp(y == 1 ? -f : f))
                                                 : (f - (2 * y - 1)) * (f - (2 * y - 1)) / 2;
  }
  const double loss = static_cast<double>(sum) / row_count;
  double norm = 0;
  for (const Layer& layer : network.layers) {
    norm += layer.weights.squaredNorm();
    if (GetParam().penalize_bias) norm += layer.bias.squaredNorm();
  }
  EXPECT_NEAR(objective.loss(network), loss, 1e-13);
  EXPECT_NEAR(objective.value(network), loss + l2 / 2 * norm, 1e-13);
  Vector gradient;
  EXPECT_NEAR(objective.gradient(network, gradient), loss + l2 / 2 * norm, 1e-13);
}

TEST_P(NetworkObjectiveFor, GradientAgreesWithFiniteDifferences) {
  const auto data = problem_zoo::random_rows(row_count, 5, 4);
  const Network network =
      random_network(5, GetParam().hidden, GetParam().activation, Random(12), GetParam().groups);
  NetworkObjective objective({.features = &data.features, .labels = &data.labels}, GetParam().loss,
                             {.l2 = 0.03, .penalize_bias = GetParam().penalize_bias});
  Vector gradient;
  objective.gradient(network, gradient);
  const Vector expected = oracles::numerical_gradient(
      [&](const Vector& theta) { return objective.value(with_parameters(network, theta)); },
      parameter_vector(network));
  EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-8);
}

TEST_P(NetworkObjectiveFor, ABatchIsTheObjectiveOfItsRowsAlone) {
  const auto data = problem_zoo::random_rows(row_count, 5, 5);
  const Network network =
      random_network(5, GetParam().hidden, GetParam().activation, Random(13), GetParam().groups);
  const Penalty penalty{.l2 = 0.02, .penalize_bias = GetParam().penalize_bias};
  NetworkObjective whole({.features = &data.features, .labels = &data.labels}, GetParam().loss,
                         penalty);
  Random random(3);
  for (const std::size_t size : {1UL, 40UL, 150UL}) {
    std::vector<Index> batch(size);
    problem_zoo::Labelled part{.features = RowMatrix(static_cast<Index>(size), 5)};
    for (std::size_t i = 0; i < size; ++i) {
      batch[i] = static_cast<Index>(random.below(row_count));
      part.features.row(static_cast<Index>(i)) = data.features.row(batch[i]);
      part.labels.push_back(data.labels[static_cast<std::size_t>(batch[i])]);
    }
    NetworkObjective alone({.features = &part.features, .labels = &part.labels}, GetParam().loss,
                           penalty);
    Vector expected;
    const double value = alone.gradient(network, expected);
    Vector gradient;
    EXPECT_DOUBLE_EQ(whole.gradient(network, batch, gradient), value);
    EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-15);
  }
}

TEST(NetworkObjective, IsTheHeadsObjectiveWithoutHiddenLayers) {
  const auto data = problem_zoo::random_rows(500, 6, 6);
  Random random(2);
  const Vector theta = random.normal_vector(7);
  const Penalty penalty{.l2 = 0.01, .penalize_bias = false};
  NetworkObjective objective({.features = &data.features, .labels = &data.labels},
                             LossKind::logistic, penalty);
  const Objective head(data.features, data.labels, LossKind::logistic, penalty);
  Vector expected;
  Matrix hessian;
  Vector gradient;
  const double value = head.derivatives(theta, expected, hessian);
  EXPECT_NEAR(objective.gradient(linear_network(theta), gradient), value, 1e-14);
  EXPECT_LE((gradient - expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(NetworkObjective, ServesNetworksOfDifferentShapesInTurn) {
  const auto data = problem_zoo::random_rows(200, 4, 7);
  NetworkObjective shared({.features = &data.features, .labels = &data.labels}, LossKind::logistic,
                          {});
  for (const std::vector<Index>& hidden :
       {std::vector<Index>{8}, std::vector<Index>{2, 9}, std::vector<Index>{}}) {
    const Network network = random_network(4, hidden, Activation::relu, Random(1));
    NetworkObjective own({.features = &data.features, .labels = &data.labels}, LossKind::logistic,
                         {});
    EXPECT_EQ(shared.value(network), own.value(network));
  }
}

TEST(NetworkObjective, ADeadNetworkHasTheGradientOfItsBiasAlone) {
  const auto data = problem_zoo::random_rows(100, 3, 8);
  Network network = random_network(3, {4}, Activation::relu, Random(1));
  network.layers[0].bias.setConstant(-1000);
  NetworkObjective objective({.features = &data.features, .labels = &data.labels},
                             LossKind::logistic, {.l2 = 0});
  Vector gradient;
  objective.gradient(network, gradient);
  EXPECT_TRUE(gradient.head(gradient.size() - 1).isZero(0));
  EXPECT_NE(gradient(gradient.size() - 1), 0);
}

TEST(NetworkObjective, RejectsRowsThatDoNotFit) {
  const auto data = problem_zoo::random_rows(20, 3, 9);
  const std::vector<int> few = {1, 0};
  EXPECT_THROW(
      NetworkObjective({.features = &data.features, .labels = &few}, LossKind::logistic, {}),
      Error);
  NetworkObjective objective({.features = &data.features, .labels = &data.labels},
                             LossKind::logistic, {});
  Vector gradient;
  EXPECT_THROW((void)objective.value(random_network(4, {2}, Activation::relu, Random(1))), Error);
  EXPECT_THROW((void)objective.gradient(random_network(3, {2}, Activation::relu, Random(1)),
                                        std::vector<Index>{}, gradient),
               Error);
}

}  // namespace
}  // namespace ellice
