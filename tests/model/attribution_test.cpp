#include "model/attribution.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/messages.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::message_of;

Layer layer(std::initializer_list<std::initializer_list<double>> weights,
            std::initializer_list<double> bias, Activation activation) {
  Layer result{.weights = Matrix(static_cast<Index>(weights.size()),
                                 static_cast<Index>(weights.begin()->size())),
               .bias = Vector(static_cast<Index>(bias.size())),
               .activation = activation};
  Index row = 0;
  for (const auto& line : weights) {
    Index column = 0;
    for (const double weight : line) result.weights(row, column++) = weight;
    ++row;
  }
  std::copy(bias.begin(), bias.end(), result.bias.begin());
  return result;
}

TEST(Attribution, OfALinearModelIsWeightTimesStep) {
  const Network network = linear_network(Vector{{2, -1, 0.5, 3}});  // the last is the bias
  const Attribution found = attribute(network, Vector{{1, 1, 1}}, Vector{{3, 0, 1}});
  EXPECT_EQ(found.contributions, (Vector{{4, 1, 0}}));
  EXPECT_EQ(found.from_logit, 4.5);
  EXPECT_EQ(found.to_logit, 9.5);
  EXPECT_EQ(found.residual, 0);
}

TEST(Attribution, OfAReluUnitCountsTheWayOnWhichItIsOn) {
  // f = relu(x + y − 1): on the way from (0, 0) to (2, 1) it is off up to a third of it.
  const Network network{
      .kind = NetworkKind::mlp,
      .layers = {layer({{1, 1}}, {-1}, Activation::relu), layer({{1}}, {0}, Activation::identity)}};
  const Attribution found = attribute(network, Vector{{0, 0}}, Vector{{2, 1}});
  EXPECT_NEAR(found.contributions(0), 4.0 / 3, 1e-15);
  EXPECT_NEAR(found.contributions(1), 2.0 / 3, 1e-15);
  EXPECT_NEAR(found.residual, 0, 1e-15);
}

TEST(Attribution, FindsAUnitThatIsOnAtBothEndsAndOffBetween) {
  // |s − ½| from two units below; the unit above, relu(|s − ½| − ¼), is off for half of the way.
  const Network network{.kind = NetworkKind::mlp,
                        .layers = {layer({{1}, {-1}}, {-0.5, 0.5}, Activation::relu),
                                   layer({{1, 1}}, {-0.25}, Activation::relu),
                                   layer({{1}}, {0}, Activation::identity)}};
  const Attribution whole = attribute(network, Vector{{0}}, Vector{{1}});
  EXPECT_NEAR(whole.contributions(0), 0, 1e-15);
  const Attribution half = attribute(network, Vector{{0}}, Vector{{0.5}});
  EXPECT_NEAR(half.contributions(0), -0.25, 1e-15);
}

TEST(Attribution, AddsUpToTheDifferenceOfTheLogits) {
  Random random(5);
  for (const Activation kind : {Activation::relu, Activation::tanh, Activation::sigmoid}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Network network = random_network(7, {16, 9}, kind, Random(seed));
      const Vector from = random.normal_vector(7), to = random.normal_vector(7);
      const Attribution found = attribute(network, from, to);
      EXPECT_NEAR(found.contributions.sum(), network.logit(to) - network.logit(from), 1e-12);
      EXPECT_NEAR(found.residual, 0, 1e-12) << enum_name(kind);
    }
  }
}

TEST(Attribution, AgreesWithASumOverFiniteDifferences) {
  Random random(6);
  constexpr int steps = 4000;
  constexpr double h = 1e-6;
  for (const Activation kind : {Activation::relu, Activation::tanh, Activation::sigmoid}) {
    const Network network = random_network(4, {8, 6}, kind, Random(17));
    const Vector from = random.normal_vector(4), to = random.normal_vector(4);
    Vector expected = Vector::Zero(4);
    for (int k = 0; k < steps; ++k) {
      const Vector point = from + (k + 0.5) / steps * (to - from);
      for (Index j = 0; j < 4; ++j) {
        Vector above = point, below = point;
        above(j) += h;
        below(j) -= h;
        const double slope = (network.logit(above) - network.logit(below)) / (2 * h);
        expected(j) += slope * (to(j) - from(j)) / steps;
      }
    }
    const Vector found = attribute(network, from, to).contributions;
    EXPECT_LT((found - expected).cwiseAbs().maxCoeff(), 2e-3) << enum_name(kind);
  }
}

TEST(Attribution, StatesWhatTheQuadratureLeavesOver) {
  // Kinks of relu units above smooth ones are not looked for.
  Network network = random_network(3, {6, 6}, Activation::tanh, Random(3));
  network.layers[1].activation = Activation::relu;
  const Vector from{{-1, 0.5, 2}}, to{{1, -1, 0}};
  const Attribution found = attribute(network, from, to);
  EXPECT_NEAR(found.contributions.sum() + found.residual, network.logit(to) - network.logit(from),
              1e-13);
  EXPECT_LT(std::abs(found.residual), 1e-4);
}

TEST(Attribution, RefusesPointsAndNetworksThatDoNotFit) {
  const Network network = linear_network(Vector{{1, 2, 0}});
  expect_words(message_of(ErrorCode::argument,
                          [&] {
                            return attribute(network, Vector{{1}}, Vector{{1, 2}});
                          }),
               {"1 and 2 numbers", "expected 2"});
  Network several = network;
  several.layers[0].weights = Matrix::Ones(3, 2);
  several.layers[0].bias = Vector::Zero(3);
  expect_words(message_of(ErrorCode::argument,
                          [&] {
                            return attribute(several, Vector{{1, 1}}, Vector{{1, 2}});
                          }),
               {"one logit", "3"});
}

}  // namespace
}  // namespace ellice
