#include "methods/interval_robustness.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "methods/delta_rows.hpp"
#include "solver/mixed_integer.hpp"
#include "support/random_network.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

Network relu_network(Index inputs, const std::vector<Index>& hidden, std::uint64_t seed) {
  return random_network(inputs, hidden, Activation::relu, Random(seed));
}

/// The least logit over all corners of the box of parameters.
double least_corner(const Network& network, const Vector& x, double delta) {
  const Vector centre = parameter_vector(network);
  double least = infinity;
  for (std::size_t corner = 0; corner < (std::size_t{1} << centre.size()); ++corner) {
    Vector theta = centre;
    for (Index i = 0; i < theta.size(); ++i) theta[i] += (corner >> i & 1) != 0 ? delta : -delta;
    least = std::min(least, with_parameters(network, theta).logit(x));
  }
  return least;
}

TEST(IntervalRobustness, OneHiddenLayerIsTheLeastOfAllCorners) {
  for (const std::uint64_t seed : testing_support::seeds(1, 12)) {
    SCOPED_TRACE(seed);
    const Network network = relu_network(2, {3}, seed);  // 13 parameters
    Random random(seed + 100);
    const Vector x = random.normal_vector(2);
    const IntervalRobustness check(network);
    for (const double delta : {0.0, 0.05, 0.4}) {
      const double least = least_corner(network, x, delta);
      EXPECT_NEAR(check.interval_bound(x, delta), least, 1e-12) << "seed " << seed;
      EXPECT_EQ(check.is_robust(x, delta), least > 0);
    }
  }
}

TEST(IntervalRobustness, LinearModelsAreTheLeastOfAllCorners) {
  for (const std::uint64_t seed : testing_support::seeds(1, 10)) {
    SCOPED_TRACE(seed);
    const Network network = relu_network(5, {}, seed);
    const Vector x = Random(seed).normal_vector(5);
    const double bound = IntervalRobustness(network, 0.3).interval_bound(x, 0.2);
    EXPECT_NEAR(bound, least_corner(network, x, 0.2) - 0.3, 1e-12);
  }
}

/// The check as a textbook would write it: a binary for every unit, one big M, no thinking.
double plain_program(const Network& network, const Vector& x, double delta) {
  constexpr double big = 200;
  MixedInteger problem;
  const auto relu = [&](Index z) {
    const Index a = problem.add_variable({.upper = big});
    const Index off = problem.add_binary();
    problem.add_row({.terms = {{a, 1}, {z, -1}}, .lower = 0});
    problem.add_row({.terms = {{a, 1}, {z, -1}, {off, -big}}, .upper = 0});
    problem.add_row({.terms = {{a, 1}, {off, big}}, .upper = big});
    return a;
  };
  std::vector<Index> activations;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const bool is_last = l + 1 == network.layers.size();
    std::vector<Index> next;
    for (Index k = 0; k < layer.bias.size(); ++k) {
      double lower = layer.bias[k] - delta;
      double upper = layer.bias[k] + delta;
      MixedInteger::Row above;
      MixedInteger::Row below;
      if (l == 0) {
        for (Index j = 0; j < x.size(); ++j) {
          const double ends[] = {(layer.weights(k, j) - delta) * x[j],
                                 (layer.weights(k, j) + delta) * x[j]};
          lower += std::min(ends[0], ends[1]);
          upper += std::max(ends[0], ends[1]);
        }
      } else {
        for (std::size_t j = 0; j < activations.size(); ++j) {
          above.terms.push_back(
              {activations[j], -(layer.weights(k, static_cast<Index>(j)) - delta)});
          below.terms.push_back(
              {activations[j], -(layer.weights(k, static_cast<Index>(j)) + delta)});
        }
      }
      const Index z =
          problem.add_variable({.lower = -big, .upper = big, .cost = is_last ? 1.0 : 0.0});
      above.terms.push_back({z, 1});
      above.lower = lower;
      below.terms.push_back({z, 1});
      below.upper = upper;
      problem.add_row(above);
      problem.add_row(below);
      next.push_back(is_last ? z : relu(z));
    }
    activations = next;
  }
  const MixedIntegerSolution solution = solve(problem, 60);
  EXPECT_EQ(solution.status, MixedIntegerStatus::optimal);
  return solution.objective;
}

#define SKIP_WITHOUT_CBC() \
  if (!has_mixed_integer()) GTEST_SKIP() << "skipped: built without CBC"

TEST(IntervalRobustness, AgreesWithAPlainMixedIntegerProgram) {
  SKIP_WITHOUT_CBC();
  int robust = 0;
  int missed = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 60)) {
    SCOPED_TRACE(seed);
    const bool deep = seed % 4 != 0;
    const Network network =
        relu_network(3, deep ? std::vector<Index>{5, 4} : std::vector<Index>{5}, seed);
    Random random(seed + 7);
    const Vector x = 1.5 * random.normal_vector(3);
    const double delta = 0.01 + 0.05 * random.uniform();
    // A threshold near the worst logit, so that the question is not an easy one.
    const double exact = plain_program(network, x, delta);
    const std::optional<WorstInBox> worst = IntervalRobustness(network).worst(x, delta);
    ASSERT_TRUE(worst);
    EXPECT_NEAR(worst->logit, exact, 1e-6) << "seed " << seed;
    const double bound = IntervalRobustness(network).interval_bound(x, delta);
    EXPECT_LE(bound, exact + 1e-6);
    for (const double shift : {-1e-3, 1e-3}) {
      const bool found = IntervalRobustness(network, exact + shift).is_robust(x, delta);
      EXPECT_EQ(found, shift < 0) << "seed " << seed;
      robust += found ? 1 : 0;
      missed += found && bound - (exact + shift) <= 0 ? 1 : 0;
    }
  }
  EXPECT_GE(robust, 60);
  EXPECT_GE(missed, 5);  // interval arithmetic alone would have said no
}

TEST(IntervalRobustness, TheWorstNetworkIsInTheBoxAndNoRandomOneIsWorse) {
  for (const std::vector<Index>& hidden : {std::vector<Index>{}, {6}, {6, 5}}) {
    if (hidden.size() == 2 && !has_mixed_integer()) continue;
    for (const std::uint64_t seed : testing_support::seeds(1, 8)) {
      SCOPED_TRACE(seed);
      const Network network = relu_network(4, hidden, seed);
      Random random(seed + 20);
      Vector x = random.normal_vector(4);
      x[1] = 0;
      const double delta = 0.07;
      const std::optional<WorstInBox> worst = IntervalRobustness(network).worst(x, delta);
      ASSERT_TRUE(worst);
      const Vector centre = parameter_vector(network);
      const Vector moved = parameter_vector(worst->network) - centre;
      EXPECT_LE(moved.lpNorm<Eigen::Infinity>(), delta + 1e-12);
      EXPECT_NEAR(worst->network.logit(x), worst->logit, 1e-12);
      for (int draw = 0; draw < 2000; ++draw) {
        Vector theta = centre;
        for (double& value : theta)
          value += delta * (draw % 2 == 0            ? 2 * random.uniform() - 1
                            : random.uniform() < 0.5 ? -1
                                                     : 1);
        EXPECT_GE(with_parameters(network, theta).logit(x), worst->logit - 1e-9);
      }
    }
  }
}

TEST(IntervalRobustness, TheLargestDeltaIsWhereAnIndependentCheckTurns) {
  SKIP_WITHOUT_CBC();
  int positive = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 36)) {
    SCOPED_TRACE(seed);
    const std::vector<Index> hidden = seed % 3 == 0   ? std::vector<Index>{}
                                      : seed % 3 == 1 ? std::vector<Index>{4}
                                                      : std::vector<Index>{4, 4};
    const Network network = relu_network(3, hidden, seed);
    Random random(seed + 50);
    const Vector x = random.normal_vector(3);
    const double largest = IntervalRobustness(network).largest_delta(x);
    if (network.logit(x) <= 0) {
      EXPECT_EQ(largest, 0);
      continue;
    }
    ++positive;
    // Bisection on the plain program.
    double lower = 0;
    double upper = 2 * network.logit(x);
    while (upper - lower > 1e-6 * upper) {
      const double middle = (lower + upper) / 2;
      (plain_program(network, x, middle) > 0 ? lower : upper) = middle;
    }
    EXPECT_NEAR(largest, lower, 2e-5 * (lower + 1e-3)) << "seed " << seed;
  }
  EXPECT_GE(positive, 10);
}

TEST(IntervalRobustness, TheLastLayerBoundsTheLargestDelta) {
  for (const std::uint64_t seed : testing_support::seeds(1, 20)) {
    SCOPED_TRACE(seed);
    const Network network = relu_network(4, {8}, seed);
    const Vector x = Random(seed).normal_vector(4);
    const double largest = IntervalRobustness(network).largest_delta(x);
    EXPECT_LE(largest, std::max(0.0, network.logit(x)) / (1 + network.features(x).sum()) + 1e-15);
  }
}

TEST(IntervalRobustness, PublishedTakesTheSumForTheNorm) {
  // Linear: f − δ(1 + Σx), and no where that sum is negative.
  Network network = linear_network(Vector{{1.0, -2.0, 0.5}});
  const IntervalRobustness published(network, 0, Variant::published);
  EXPECT_NEAR(published.largest_delta(Vector{{0.0, -0.5}}), 1.5 / 0.5, 1e-7);
  EXPECT_NEAR(IntervalRobustness(network).largest_delta(Vector{{0.0, -0.5}}), 1.5 / 1.5, 1e-7);
  EXPECT_EQ(published.largest_delta(Vector{{0.0, -3.0}}), 0);
  EXPECT_FALSE(published.is_robust(Vector{{0.0, -3.0}}, 0.01));
  // One hidden layer that is off at a point with a negative sum: the bias of the head decides.
  Network hidden = relu_network(2, {3}, 4);
  hidden.layers[0].weights.setOnes();
  hidden.layers[0].bias.setZero();
  hidden.layers[1].bias[0] = 0.4;
  const Vector x{{-2.0, -1.0}};
  const IntervalRobustness check(hidden, 0, Variant::published);
  EXPECT_TRUE(check.is_robust(x, 0.39));
  EXPECT_FALSE(check.is_robust(x, 0.41));
  // At a point with a positive sum and entries of both signs it accepts more than it should.
  const Network other = relu_network(2, {3}, 9);
  for (const std::uint64_t seed : testing_support::seeds(0, 50)) {
    SCOPED_TRACE(seed);
    const Vector y = Random(seed).normal_vector(2);
    const double wrong = IntervalRobustness(other, 0, Variant::published).largest_delta(y);
    if (1 + y.sum() <= 0) continue;
    EXPECT_GE(wrong, IntervalRobustness(other).largest_delta(y));
  }
}

TEST(IntervalRobustness, IsTheSameForAnyNumberOfThreads) {
  SKIP_WITHOUT_CBC();
  const Network network = relu_network(4, {6, 6}, 3);
  RowMatrix rows(40, 4);
  Random random(8);
  for (Index i = 0; i < rows.rows(); ++i) rows.row(i) = random.normal_vector(4).transpose();
  const IntervalRobustness check(network);
  EXPECT_EQ(check.largest_deltas(rows, {.threads = 1}), check.largest_deltas(rows, {.threads = 4}));
}

TEST(IntervalRobustness, RefusesWhatItCannotDecide) {
  EXPECT_THROW(IntervalRobustness(random_network(3, {4}, Activation::tanh, Random(1))), Error);
  EXPECT_THROW(IntervalRobustness(relu_network(3, {4, 4, 4}, 1)), Error);
}

TEST(DeltaGrid, IsLogSpacedUpToTheLargest) {
  const Vector grid = delta_grid(Vector{{0.0, 0.5, 0.2}});
  ASSERT_EQ(grid.size(), 25);
  EXPECT_DOUBLE_EQ(grid[24], 0.5);
  EXPECT_DOUBLE_EQ(grid[0], 0.005);
  EXPECT_NEAR(grid[13] / grid[12], grid[3] / grid[2], 1e-12);
  EXPECT_EQ(delta_grid(Vector::Zero(3)).size(), 0);
}

}  // namespace
}  // namespace ellice
