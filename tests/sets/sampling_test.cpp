#include "sets/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

/// Kolmogorov–Smirnov distance of values in [0, 1] from the uniform distribution, times √n.
double uniform_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, values[i] - rank / n, (rank + 1) / n - values[i]});
  }
  return distance * std::sqrt(n);
}

constexpr double quantile = 2.23;  // 99.99 %

TEST(SampleInside, IsUniformByVolume) {
  const auto [set, x] =
      problem_zoo::random_ellipsoid({.dimension = 5, .condition = 1e3, .seed = 1});
  const RowMatrix models = sample_inside(set, 20000, Random(2));
  std::vector<double> radius_rank;  // share of the volume inside the sample's level
  std::vector<double>
      angle_rank;  // whitened directions are uniform: so is the sign of a coordinate
  for (Index i = 0; i < models.rows(); ++i) {
    const Vector theta = models.row(i).transpose();
    ASSERT_TRUE(contains(set, theta));
    radius_rank.push_back(std::pow(excess_objective(set, theta) / set.epsilon(), 5.0 / 2));
    // u = Lᵀ(θ−c); the angle of (u₀, u₁) is uniform on the circle.
    const Eigen::LLT<Matrix> llt(set.hessian());
    const Vector u = llt.matrixU() * (theta - set.center());
    angle_rank.push_back((std::atan2(u(0), u(1)) / M_PI + 1) / 2);
  }
  EXPECT_LT(uniform_distance(radius_rank), quantile);
  EXPECT_LT(uniform_distance(angle_rank), quantile);
}

TEST(SampleBoundary, LiesOnTheBoundary) {
  const auto [set, x] =
      problem_zoo::random_ellipsoid({.dimension = 7, .condition = 1e6, .seed = 3});
  const RowMatrix models = sample_boundary(set, 1000, Random(4));
  for (Index i = 0; i < models.rows(); ++i) {
    EXPECT_NEAR(excess_objective(set, models.row(i).transpose()), set.epsilon(),
                1e-9 * set.epsilon());
  }
}

TEST(Sampling, GivesTheSameModelsForTheSameSeedAndPrefixesForFewer) {
  const auto [set, x] = problem_zoo::random_ellipsoid({.seed = 5});
  const RowMatrix many = sample_inside(set, 100, Random(6));
  EXPECT_EQ(sample_inside(set, 100, Random(6)), many);
  EXPECT_EQ(sample_inside(set, 10, Random(6)), many.topRows(10));
  EXPECT_NE(sample_inside(set, 10, Random(7)), many.topRows(10));
}

TEST(Sampling, OfASinglePointIsThePoint) {
  const auto [set, x] = problem_zoo::random_ellipsoid({.epsilon = 0});
  EXPECT_EQ(sample_inside(set, 1, Random(1)).row(0).transpose(), set.center());
}

}  // namespace
}  // namespace ellice
