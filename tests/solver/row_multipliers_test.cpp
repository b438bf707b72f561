#include "solver/row_multipliers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

TEST(RowMultipliers, MeetTheOptimalityConditions) {
  int on_kinks = 0;
  int beyond = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 400)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index rows = 1 + static_cast<Index>(random.below(2));
    const Index count = rows + static_cast<Index>(random.below(5));
    const Index d = count + 2;
    Matrix normals(d, count);
    Vector constants(count);
    std::vector<KinkRow> kinks;
    for (Index k = 0; k < count; ++k) {
      normals.col(k) = random.normal_vector(d);
      constants[k] = k < rows ? -3 * random.uniform() : random.uniform();
      if (k < rows) continue;
      kinks.push_back({.owner = static_cast<Index>(random.below(static_cast<std::size_t>(rows))),
                       .weight = 0.05 + random.uniform()});
    }
    const Matrix products = normals.transpose() * normals;
    RowMultipliers solver;
    Vector y;
    solver.solve(products, constants, kinks, y);
    // A convex problem: what follows is sufficient.
    const Vector slack = constants + products * y;
    const double close = 1e-6 * (1 + y.cwiseAbs().maxCoeff());
    for (Index k = 0; k < rows; ++k) {
      double value = slack[k];
      for (std::size_t j = 0; j < kinks.size(); ++j) {
        if (kinks[j].owner == k)
          value -= kinks[j].weight * std::max(0.0, -slack[rows + static_cast<Index>(j)]);
      }
      EXPECT_GE(y[k], 0);
      EXPECT_GE(value, -close);
      if (y[k] > close) {
        EXPECT_NEAR(value, 0, close);
      }
    }
    for (std::size_t j = 0; j < kinks.size(); ++j) {
      const Index k = rows + static_cast<Index>(j);
      const double most = kinks[j].weight * y[kinks[j].owner];
      EXPECT_GE(y[k], 0);
      EXPECT_LE(y[k], most + close);
      if (most <= close) continue;
      if (y[k] < most - close) {
        EXPECT_GE(slack[k], -close);
      }
      if (y[k] > close) {
        EXPECT_LE(slack[k], close);
      }
      on_kinks += y[k] > close && y[k] < most - close ? 1 : 0;
      beyond += y[k] >= most - close ? 1 : 0;
    }
  }
  EXPECT_GE(on_kinks, 50);
  EXPECT_GE(beyond, 50);
}

TEST(RowMultipliers, ContradictionsStayWithinTheirLimits) {
  // h ≥ 1 and h ≤ −1, and a kink of the first.
  Matrix products(3, 3);
  products << 1, -1, 1, -1, 1, -1, 1, -1, 1;
  const Vector constants = Eigen::Vector3d(-1, -1, 0.5);
  RowMultipliers solver;
  Vector y;
  solver.solve(products, constants, {{.owner = 0, .weight = 0.5}}, y);
  EXPECT_TRUE(y.allFinite());
  EXPECT_GE(y.minCoeff(), 0);
  EXPECT_LE(y[2], 0.5 * y[0]);
}

}  // namespace
}  // namespace ellice
