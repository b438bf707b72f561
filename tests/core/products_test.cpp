#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <utility>

#include "core/blas.hpp"
#include "core/product_tiles.hpp"
#include "core/random.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

constexpr Index depth_block = 256;
constexpr double untouched = 1234.5;

Matrix random_matrix(Index rows, Index columns, Random& random) {
  Matrix result(rows, columns);
  for (double& value : result.reshaped()) value = random.normal();
  return result;
}

/// What an entry is by definition: sums in the order of k, one for each 256 of them.
double entry(const Matrix& a, const Matrix& b, Index i, Index j, double result, bool is_added) {
  for (Index first = 0; first < a.cols(); first += depth_block) {
    double sum = 0;
    for (Index k = first; k < std::min(a.cols(), first + depth_block); ++k) {
      sum = std::fma(a(i, k), b(k, j), sum);
    }
    result = is_added || first > 0 ? result + sum : sum;
  }
  return result;
}

Index random_size(Random& random, std::uint64_t most) {
  return 1 + static_cast<Index>(random.below(random.below(3) == 0 ? most : 30));
}

TEST(Products, GiveTheBytesOfTheirDefinitionByEveryKernel) {
  ASSERT_GE(blas::tile_kernels().size(), 1U);
  for (const std::uint64_t seed : testing_support::seeds(1, 20)) {
    Random random(seed);
    const Index m = random_size(random, 130);
    const Index n = random_size(random, 60);
    const Index k = random_size(random, 600);
    const Matrix a = random_matrix(m, k, random);
    const Matrix b = random_matrix(k, n, random);
    const bool is_added = random.below(2) == 1;
    const auto stored = [&](const Matrix& plain, bool transposed) {
      Matrix wide = Matrix::Constant((transposed ? plain.cols() : plain.rows()) + 3,
                                     transposed ? plain.rows() : plain.cols(), untouched);
      if (transposed) {
        wide.topRows(plain.cols()) = plain.transpose();
      } else {
        wide.topRows(plain.rows()) = plain;
      }
      return wide;
    };
    const bool a_transposed = random.below(2) == 1;
    const bool b_transposed = random.below(2) == 1;
    const Matrix left = stored(a, a_transposed);
    const Matrix right = stored(b, b_transposed);
    const Matrix start = random_matrix(m, n, random);
    for (const blas::TileKernel* kernel : blas::tile_kernels()) {
      Matrix c = Matrix::Constant(m + 2, n + 1, untouched);
      if (is_added) c.topLeftCorner(m, n) = start;
      const auto op = [](bool transposed) {
        return transposed ? blas::Op::transposed : blas::Op::plain;
      };
      blas::gemm(m, n, k, {left.data(), left.rows(), op(a_transposed)},
                 {right.data(), right.rows(), op(b_transposed)}, is_added ? 1 : 0, c.data(),
                 c.rows(), *kernel);
      for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m; ++i) {
          ASSERT_EQ(c(i, j), entry(a, b, i, j, start(i, j), is_added))
              << kernel->name << " (" << i << ", " << j << ") of " << m << " x " << n << " x " << k
              << ", seed " << seed;
        }
      }
      EXPECT_TRUE((c.bottomRows(2).array() == untouched).all());
      EXPECT_TRUE((c.col(n).array() == untouched).all());
    }
  }
}

TEST(Products, OfNothingAreZero) {
  Matrix c = Matrix::Constant(2, 3, untouched);
  blas::gemm(2, 3, 0, {c.data(), 2}, {c.data(), 1}, 0, c.data(), 2);
  EXPECT_EQ(c, Matrix::Zero(2, 3));
  blas::gemm(0, 3, 2, {c.data(), 1}, {c.data(), 2}, 0, c.data(), 2);
  blas::gemm(2, 0, 2, {c.data(), 2}, {c.data(), 2}, 0, c.data(), 2);
  EXPECT_EQ(c, Matrix::Zero(2, 3));
}

TEST(Products, OfRowsWithThemselvesFillTheLowerTriangle) {
  for (const std::uint64_t seed : testing_support::seeds(101, 10)) {
    Random random(seed);
    const Index n = random_size(random, 600);
    const Index p = random_size(random, 130);
    const RowMatrix rows = random_matrix(n, p, random);
    const Matrix start = random_matrix(p, p, random);
    for (const blas::TileKernel* kernel : blas::tile_kernels()) {
      Matrix gram = start;
      blas::add_gram(rows, gram, *kernel);
      for (Index j = 0; j < p; ++j) {
        for (Index i = 0; i < p; ++i) {
          const double expected =
              i < j ? start(i, j) : entry(rows.transpose(), rows, i, j, start(i, j), true);
          ASSERT_EQ(gram(i, j), expected)
              << kernel->name << " (" << i << ", " << j << ") of " << p << ", seed " << seed;
        }
      }
    }
  }
}

TEST(Products, KeepWhatIsNotANumberInItsRowAndColumn) {
  Matrix a = Matrix::Ones(30, 20);
  Matrix b = Matrix::Ones(20, 30);
  a(29, 3) = std::numeric_limits<double>::infinity();
  b(5, 29) = std::numeric_limits<double>::quiet_NaN();
  for (const blas::TileKernel* kernel : blas::tile_kernels()) {
    Matrix c(30, 30);
    blas::gemm(30, 30, 20, {a.data(), 30}, {b.data(), 20}, 0, c.data(), 30, *kernel);
    EXPECT_EQ(c.topLeftCorner(29, 29), Matrix::Constant(29, 29, 20)) << kernel->name;
    EXPECT_TRUE((c.row(29).head(29).array() == std::numeric_limits<double>::infinity()).all());
    EXPECT_TRUE(c.col(29).array().isNaN().all());
  }
}

// Eigen orders the sums of its own large products by these.
TEST(Products, OfEigenAreBlockedForOneProcessor) {
  EXPECT_EQ(Eigen::l1CacheSize(), Eigen::internal::defaultL1CacheSize);
  EXPECT_EQ(Eigen::l2CacheSize(), Eigen::internal::defaultL2CacheSize);
  EXPECT_EQ(Eigen::l3CacheSize(), Eigen::internal::defaultL3CacheSize);
}

TEST(Eigenpairs, AreThoseAboveTheCut) {
  for (const std::uint64_t seed : testing_support::seeds(201, 10)) {
    Random random(seed);
    const Index n = 1 + static_cast<Index>(random.below(60));
    const Matrix factor = random_matrix(n, n, random);
    const Matrix whole = factor * factor.transpose();
    Matrix lower = whole;
    lower.triangularView<Eigen::StrictlyUpper>().setConstant(untouched);
    const double scale = whole.trace();
    const blas::Eigenpairs all = blas::eigenpairs_above(-scale, lower);
    ASSERT_EQ(all.values.size(), n);
    EXPECT_LE((whole * all.vectors - all.vectors * all.values.asDiagonal()).norm(), 1e-13 * scale);
    EXPECT_LE((all.vectors.transpose() * all.vectors - Matrix::Identity(n, n)).norm(), 1e-12);
    for (Index k = 1; k < n; ++k) EXPECT_LE(all.values(k - 1), all.values(k));
    const double cut = all.values(n / 2);
    const blas::Eigenpairs some = blas::eigenpairs_above(cut, lower);
    EXPECT_EQ(some.values, all.values.tail(n - n / 2 - 1));
    EXPECT_EQ(some.vectors, all.vectors.rightCols(n - n / 2 - 1));
  }
}

}  // namespace
}  // namespace ellice
