#include "ellice/model/network.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/network_pass.hpp"
#include "support/oracles.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

struct Shape {
  std::vector<Index> hidden;
  Activation activation;
  std::vector<InputGroup> groups = {};
};

/// Every depth and every activation, also of additive models; away from kinks, as random points
/// almost surely are.
std::vector<Shape> shapes() {
  std::vector<Shape> result = {{{}, Activation::identity}};
  for (const Activation kind : {Activation::relu, Activation::tanh, Activation::sigmoid}) {
    result.push_back({{5}, kind});
    result.push_back({{7, 4}, kind});
    result.push_back({{3, 6, 2}, kind});
    result.push_back({{3}, kind, {{.columns = 1}, {.columns = 2}, {.columns = 1}}});
    result.push_back({{3, 2}, kind, {{.columns = 1}, {.columns = 1}, {.columns = 2}}});
  }
  return result;
}

class NetworkDerivatives : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr Index inputs = 4;
  Shape shape = shapes()[GetParam()];
  Network network =
      random_network(inputs, shape.hidden, shape.activation, Random(GetParam() + 1), shape.groups);
  Vector x = Random(100 + GetParam()).normal_vector(inputs);
};

/// Component by component in plain loops.
double plain_logit(const Network& network, const Vector& x) {
  std::vector<double> a(x.data(), x.data() + x.size());
  for (const Layer& layer : network.layers) {
    std::vector<double> z;
    for (Index j = 0; j < layer.weights.rows(); ++j) {
      double sum = layer.bias(j);
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += layer.weights(j, static_cast<Index>(i)) * a[i];
      }
      switch (layer.activation) {
        case Activation::relu:
          sum = sum > 0 ? sum : 0;
          break;
        case Activation::tanh:
          sum = (std::exp(sum) - std::exp(-sum)) / (std::exp(sum) + std::exp(-sum));
          break;
        case Activation::sigmoid:
          sum = 1 / (1 + std::exp(-sum));
          break;
        case Activation::identity:
          break;
      }
      z.push_back(sum);
    }
    a = z;
  }
  return a.front();
}

void expect_close(const Vector& found, const Vector& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LE((found - expected).lpNorm<Eigen::Infinity>(),
            tolerance * (1 + expected.lpNorm<Eigen::Infinity>()));
}

TEST_P(NetworkDerivatives, LogitIsThatOfPlainLoops) {
  const double expected = plain_logit(network, x);
  NetworkPass pass(network);
  EXPECT_NEAR(network.logit(x), expected, 1e-13 * (1 + std::abs(expected)));
  EXPECT_NEAR(pass.forward(x), expected, 1e-13 * (1 + std::abs(expected)));
  EXPECT_NEAR(network.logits(x.transpose())(0), expected, 1e-13 * (1 + std::abs(expected)));
  EXPECT_NEAR(network.head().dot((Vector(network.head().size()) << pass.features(), 1).finished()),
              expected, 1e-13 * (1 + std::abs(expected)));
}

TEST_P(NetworkDerivatives, InputGradientAgreesWithDifferences) {
  NetworkPass pass(network);
  (void)pass.forward(x);
  pass.backward();
  Vector gradient;
  pass.input_gradient(gradient);
  const Vector expected =
      oracles::numerical_gradient([&](const Vector& at) { return plain_logit(network, at); }, x);
  expect_close(gradient, expected, 1e-8);
  pass.feature_gradient(network.head().head(network.head().size() - 1), gradient);
  expect_close(gradient, expected, 1e-8);
}

TEST_P(NetworkDerivatives, FeatureJacobianAgreesWithDifferences) {
  NetworkPass pass(network);
  (void)pass.forward(x);
  Matrix jacobian;
  pass.feature_jacobian(jacobian);
  const Matrix expected = oracles::numerical_jacobian(
      [&](const Vector& at) -> Vector { return network.features(at); }, x);
  ASSERT_EQ(jacobian.rows(), expected.rows());
  EXPECT_LE((jacobian - expected).lpNorm<Eigen::Infinity>(), 1e-8);
  if (network.is_linear() || !network.groups.empty()) return;
  std::vector<Index> live;
  RowMatrix rows;
  pass.live_jacobian(live, rows);
  Matrix whole = Matrix::Zero(jacobian.rows(), jacobian.cols());
  for (std::size_t a = 0; a < live.size(); ++a)
    whole.row(live[a]) = rows.row(static_cast<Index>(a)).head(jacobian.cols());
  EXPECT_LE((whole - expected).lpNorm<Eigen::Infinity>(), 1e-8);
}

TEST_P(NetworkDerivatives, ParameterGradientAgreesWithDifferences) {
  NetworkPass pass(network);
  (void)pass.forward(x);
  pass.backward();
  Vector jacobian;
  pass.parameter_gradient(jacobian);
  const Vector expected = oracles::numerical_gradient(
      [&](const Vector& theta) { return plain_logit(with_parameters(network, theta), x); },
      parameter_vector(network));
  expect_close(jacobian, expected, 1e-8);
  EXPECT_NEAR(pass.parameter_norm_squared(), expected.squaredNorm(),
              1e-7 * (1 + expected.squaredNorm()));
}

TEST_P(NetworkDerivatives, DirectionalGradientAgreesWithDifferences) {
  const Vector v = Random(7).normal_vector(network.parameters());
  NetworkPass pass(network);
  (void)pass.forward(x);
  pass.backward();
  Vector gradient;
  pass.directional_gradient(v, gradient);
  const Vector expected = oracles::numerical_gradient(
      [&](const Vector& at) {
        NetworkPass other(network);
        (void)other.forward(at);
        other.backward();
        Vector jacobian;
        other.parameter_gradient(jacobian);
        return v.dot(jacobian);
      },
      x);
  expect_close(gradient, expected, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetworkDerivatives,
                         testing::Range(std::size_t{0}, shapes().size()));

TEST(Network, ParametersComeBackInTheirOrder) {
  const Network network = random_network(3, {4, 2}, Activation::relu, Random(3));
  const Vector theta = parameter_vector(network);
  ASSERT_EQ(theta.size(), 3 * 4 + 4 + 4 * 2 + 2 + 2 + 1);
  EXPECT_EQ(theta(1), network.layers[0].weights(0, 1));
  EXPECT_EQ(theta(3), network.layers[0].weights(1, 0));
  EXPECT_EQ(theta(12), network.layers[0].bias(0));
  EXPECT_EQ(theta.tail(3), network.head());
  EXPECT_EQ(parameter_vector(with_parameters(network, theta)), theta);
}

TEST(AdditiveNetwork, HasNoParametersBetweenFeatures) {
  const std::vector<InputGroup> groups = {{.columns = 2}, {.columns = 1}, {.columns = 1}};
  const Network network = random_network(4, {3, 2}, Activation::tanh, Random(3), groups);
  // Of three units each 2, 1 and 1 weights and a bias, of two units three and a bias; the head.
  EXPECT_EQ(network.parameters(), 3 * (2 + 1 + 1) + 9 + 3 * 2 * 3 + 6 + 7);
  const Vector theta = parameter_vector(network);
  EXPECT_EQ(theta(1), network.layers[0].weights(0, 1));
  EXPECT_EQ(theta(2), network.layers[0].weights(1, 0));
  EXPECT_EQ(theta(6), network.layers[0].weights(3, 2));
  EXPECT_EQ(theta(21 + 6), network.layers[1].weights(2, 3));
  // All parameters may change, and every other weight stays 0.
  const Network other = with_parameters(network, Vector::Ones(theta.size()));
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_EQ((other.layers[l].weights.array() != 0).count(),
              (network.layers[l].weights.array() != 0).count());
    EXPECT_EQ((other.layers[l].weights.array() == 0).count(),
              (network.layers[l].weights.array() == 0).count());
  }
  EXPECT_EQ(parameter_vector(other), Vector::Ones(theta.size()));
}

TEST(AdditiveNetwork, IsTheSumOfFunctionsOfOneFeatureEach) {
  const std::vector<InputGroup> groups = {{.columns = 2}, {.columns = 1}, {.columns = 3}};
  for (const Activation kind : {Activation::relu, Activation::tanh}) {
    const Network network = random_network(6, {5, 4}, kind, Random(9), groups);
    for (std::uint64_t k = 0; k < 100; ++k) {
      const Vector x = 2 * Random(k).normal_vector(6);
      // fⱼ by plain loops: the network at a row that has only the columns of feature j.
      const double nothing = plain_logit(network, Vector::Zero(6));
      double sum = nothing;
      Index first = 0;
      for (const InputGroup& group : groups) {
        Vector alone = Vector::Zero(6);
        alone.segment(first, group.columns) = x.segment(first, group.columns);
        sum += plain_logit(network, alone) - nothing;
        first += group.columns;
      }
      EXPECT_NEAR(network.logit(x), sum, 1e-12);
    }
  }
}

TEST(AdditiveNetwork, IsMonotoneWhereItsParametersHaveTheirSigns) {
  const std::vector<InputGroup> groups = {{.monotone = Monotone::increase},
                                          {.monotone = Monotone::any},
                                          {.monotone = Monotone::decrease}};
  for (const Activation kind : {Activation::relu, Activation::tanh, Activation::sigmoid}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Network network = random_network(3, {4, 5}, kind, Random(seed), groups);
      const Vector signs = parameter_signs(network);
      Vector theta = parameter_vector(network);
      ASSERT_EQ(signs.size(), theta.size());
      for (Index i = 0; i < theta.size(); ++i)
        if (signs(i) != 0) theta(i) = signs(i) * std::abs(theta(i));
      set_parameters(network, theta);
      Vector x = Random(100 + seed).normal_vector(3);
      double before[2] = {-1e300, 1e300};
      bool moves[2] = {false, false};
      for (int k = -60; k <= 60; ++k) {
        for (const int j : {0, 2}) {
          Vector at = x;
          at(j) = 0.1 * k;
          const double f = plain_logit(network, at);
          const double slack = kind == Activation::relu ? 0 : 1e-13;  // exp is not monotone to bits
          if (k > -60) {
            EXPECT_GE(j == 0 ? f - before[0] : before[1] - f, -slack);
            moves[j / 2] = moves[j / 2] || f != before[j / 2];
          }
          before[j / 2] = f;
        }
      }
      EXPECT_TRUE(moves[0] && moves[1]);
    }
  }
  EXPECT_EQ(parameter_signs(random_network(3, {4}, Activation::relu, Random(1))).size(), 0);
}

TEST(Network, HeadCanBeReplaced) {
  Network network = random_network(3, {4}, Activation::tanh, Random(5));
  const Vector head = Random(6).normal_vector(5);
  network.set_head(head);
  EXPECT_EQ(network.head(), head);
  EXPECT_THROW(network.set_head(Vector::Zero(4)), Error);
}

}  // namespace
}  // namespace ellice
