#include "core/double_double.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

// 113 bits: what is compared with here has 104.
#if __LDBL_MANT_DIG__ == 113
using Quadruple = long double;
#else
__extension__ using Quadruple = __float128;
#endif

constexpr double u = 0x1p-53;

Quadruple wide(const DoubleDouble& value) {
  return static_cast<Quadruple>(value.high()) + static_cast<Quadruple>(value.low());
}

Quadruple size(Quadruple value) {
  return value < 0 ? -value : value;
}

/// Of many magnitudes, and often nearly the negative of `other`.
DoubleDouble random_value(Random& random, const DoubleDouble& other = {}) {
  const double high = std::ldexp(random.normal(), static_cast<int>(random.below(80)) - 40);
  const DoubleDouble fresh = DoubleDouble(high) + DoubleDouble(high * u * random.uniform());
  if (random.below(3) > 0) return fresh;
  return DoubleDouble(std::ldexp(fresh.high(), -static_cast<int>(random.below(120)))) - other;
}

// The oracle's own rounding is 2⁻¹¹³ of each operation: small beside u².
TEST(DoubleDouble, SumsAndProductsKeepTheirBounds) {
  int cancelled = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 20)) {
    Random random(seed);
    for (int round = 0; round < 2000; ++round) {
      const DoubleDouble a = random_value(random);
      const DoubleDouble b = random_value(random, a);
      const Quadruple sizes = size(wide(a)) + size(wide(b));
      const DoubleDouble sum = a + b;
      ASSERT_LE(static_cast<double>(size(wide(sum) - (wide(a) + wide(b))) / sizes), 4 * u * u);
      cancelled += size(wide(sum)) < sizes * 1e-6 ? 1 : 0;
      const Quadruple product = wide(a) * wide(b);
      if (product == 0) continue;
      ASSERT_LE(static_cast<double>(size(wide(a * b) - product) / size(product)), 9 * u * u);
      for (const DoubleDouble& result : {sum, a * b}) {
        EXPECT_EQ(result.high() + result.low(), result.high());  // as a next operand needs
      }
    }
  }
  EXPECT_GT(cancelled, 1000);
}

TEST(DoubleDouble, SumsOfProductsKeepTheirBound) {
  for (const std::uint64_t seed : testing_support::seeds(101, 50)) {
    Random random(seed);
    const std::size_t n = 1 + random.below(60);
    DoubleDouble found = random_value(random);
    Quadruple expected = wide(found);
    Quadruple sizes = size(expected);
    for (std::size_t i = 0; i < n; ++i) {
      const DoubleDouble a = random_value(random);
      const DoubleDouble b = random_value(random);
      found -= a * b;
      expected -= wide(a) * wide(b);
      sizes += size(wide(a) * wide(b));
    }
    const double bound = (4 * static_cast<double>(n) + 14) * u * u;
    EXPECT_LE(static_cast<double>(size(wide(found) - expected) / sizes), bound) << seed;
  }
}

TEST(DoubleDouble, HoldsSixtyFourBits) {
  for (const long double value :
       {1 + 0x1p-63L, -1 - 0x1p-63L - 0x1p-30L, 0x1p-40L, 0x1.fffffffffffffffep9L}) {
    EXPECT_EQ(static_cast<long double>(DoubleDouble(value)), value);
  }
}

}  // namespace
}  // namespace ellice
