#include "core/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

// The expected words come from an implementation of SplitMix64 and xoshiro256++ in Python integers.
TEST(Random, GivesTheBytesOfXoshiro256PlusPlus) {
  Random random(42);
  for (const std::uint64_t expected :
       {0xd0764d4f4476689fULL, 0x519e4174576f3791ULL, 0xfbe07cfb0c24ed8cULL, 0xb37d9f600cd835b8ULL,
        0xcb231c3874846a73ULL})
    EXPECT_EQ(random.bits(), expected);
}

TEST(Random, ChildStreamsDoNotDependOnWhatTheParentHasDrawn) {
  Random parent(42);
  (void)parent.bits();
  (void)parent.normal();
  Random child = parent.split(3);
  for (const std::uint64_t expected :
       {0x638abd2869f7ee7aULL, 0x022a65b40df30aa9ULL, 0xd38f49999f413a7aULL})
    EXPECT_EQ(child.bits(), expected);
  EXPECT_NE(parent.split(3).bits(), parent.split(4).bits());
}

TEST(Random, UniformHasTheRightMomentsAndBounds) {
  Random random(1);
  constexpr int n = 200000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
}

TEST(Random, BelowIsUniform) {
  Random random(2);
  constexpr std::uint64_t bound = 7;
  constexpr int n = 140000;
  std::array<int, bound> counts{};
  for (int i = 0; i < n; ++i) ++counts.at(random.below(bound));
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - n / 7.0, 2) / (n / 7.0);
  EXPECT_LT(chi_square, 27.9) << "99.99 % quantile of chi-square with 6 degrees of freedom";
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_THROW((void)random.below(0), Error);
}

TEST(Random, NormalHasTheNormalDistribution) {
  Random random(3);
  constexpr int n = 200000;
  std::vector<double> values(n);
  for (double& v : values) v = random.normal();
  std::sort(values.begin(), values.end());
  double distance = 0;  // Kolmogorov–Smirnov
  for (int i = 0; i < n; ++i) {
    const double expected = 0.5 * std::erfc(-values[static_cast<std::size_t>(i)] / std::sqrt(2.0));
    distance = std::max({distance, std::abs(expected - static_cast<double>(i) / n),
                         std::abs(expected - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(distance * std::sqrt(n), 2.23) << "99.99 % quantile of Kolmogorov's distribution";
}

TEST(Random, ShuffleGivesEveryPermutationEquallyOften) {
  Random random(4);
  std::array<int, 6> counts{};
  constexpr int n = 60000;
  for (int i = 0; i < n; ++i) {
    std::vector<int> items = {0, 1, 2};
    random.shuffle(items);
    ++counts.at(static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0)));
  }
  for (const int count : counts) EXPECT_NEAR(count, n / 6.0, 5 * std::sqrt(n / 6.0));
}

}  // namespace
}  // namespace ellice
