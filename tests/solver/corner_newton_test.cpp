// Convex functions with corners against every pattern of signs.

#include "solver/corner_newton.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "core/random.hpp"

namespace ellice {
namespace {

struct Cornered {
  Matrix q;
  Vector c;
  Vector l;
  [[nodiscard]] double value(const Vector& x) const {
    return x.dot(q * x) / 2 + c.dot(x) + l.dot(x.cwiseAbs());
  }
};

Cornered draw(Index n, std::uint64_t seed) {
  Random random(seed);
  Matrix root(n + 1, n);
  for (Index j = 0; j < n; ++j) root.col(j) = random.normal_vector(n + 1);
  Cornered result{.q = root.transpose() * root / 4, .c = random.normal_vector(n), .l = Vector(n)};
  for (double& l : result.l) l = random.below(4) == 0 ? 0 : random.uniform();
  return result;
}

/// The least value over all 3ⁿ patterns of signs, at minimisers that keep them.
double by_enumeration(const Cornered& f) {
  const Index n = f.c.size();
  double best = INFINITY;
  for (int code = 0; code < std::pow(3, n); ++code) {
    std::vector<Index> free;
    Vector signs = Vector::Zero(n);
    int rest = code;
    for (Index j = 0; j < n; ++j, rest /= 3) {
      signs(j) = rest % 3 - 1;
      if (signs(j) != 0) free.push_back(j);
    }
    Vector x = Vector::Zero(n);
    const Vector slopes = f.c(free) + f.l(free).cwiseProduct(signs(free));
    if (!free.empty()) x(free) = Matrix(f.q(free, free)).fullPivLu().solve(-slopes);
    best = std::min(best, f.value(x));  // any point is no lower than the least
  }
  return best;
}

TEST(CornerNewton, QuadraticsAreMinimisedOverAllPatternsOfSigns) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Cornered f = draw(static_cast<Index>(1 + seed % 6), seed);
    Random random(seed + 500);
    const double least = by_enumeration(f);
    for (const bool from_zero : {true, false}) {
      const Index n = f.c.size();
      const Vector start = from_zero ? Vector::Zero(n) : random.normal_vector(n);
      const Vector found = corner_minimum(f.q, f.c, f.l, start);
      EXPECT_NEAR(f.value(found), least, 1e-12 * (1 + std::abs(least))) << seed;
    }
  }
}

TEST(CornerNewton, EntriesAtZeroAreExactlySo) {
  Cornered f = draw(6, 3);
  f.l.setConstant(1e3);
  EXPECT_EQ(corner_minimum(f.q, f.c, f.l, Vector::Ones(6)), Vector::Zero(6));
}

TEST(CornerNewton, FlatDirectionsAreHeldByTheCorners) {
  // x₁ + x₂ alone counts; the corners say how it is shared.
  const Matrix q = Matrix::Ones(2, 2) + 1e-11 * Matrix::Identity(2, 2);
  const Vector found =
      corner_minimum(q, Vector::Constant(2, -1), Vector{{0.5, 0.2}}, Vector::Zero(2));
  EXPECT_EQ(found(0), 0);
  EXPECT_NEAR(found(1), 0.8, 1e-9);
}

TEST(CornerNewton, ConvexFunctionsAreMinimised) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Cornered f = draw(5, seed);
    // The quadratic and Σ cosh x.
    const SmoothFunction whole{
        .value = [&](VectorArg x) { return f.value(x) + x.array().cosh().sum(); },
        .derivatives =
            [&](VectorArg x, Vector& gradient, Matrix& hessian) {
              gradient = f.q * x + f.c + Vector(x.array().sinh());
              hessian = f.q;
              hessian.diagonal() += Vector(x.array().cosh());
              return f.value(x) + x.array().cosh().sum();
            }};
    const NewtonResult found = minimize_with_corners(whole, f.l, Vector::Constant(5, 4.0));
    EXPECT_EQ(found.status, NewtonStatus::converged);
    EXPECT_LE(found.gradient_norm, 1e-10);
    Random random(seed);
    for (int k = 0; k < 200; ++k) {
      const double size = std::pow(10, -random.uniform() * 6);
      const Vector other = found.point + size * random.normal_vector(5);
      EXPECT_GE(whole.value(other), found.value - 1e-14 * std::abs(found.value));
    }
  }
}

}  // namespace
}  // namespace ellice
