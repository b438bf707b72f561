#include "core/binomial.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/types.hpp"

namespace ellice {
namespace {

/// P(X ≥ s) by the recursion over trials that defines the binomial distribution.
double tail_by_recursion(std::size_t s, std::size_t n, double p) {
  Vector probability = Vector::Zero(static_cast<Index>(n) + 1);
  probability(0) = 1;
  for (std::size_t trial = 0; trial < n; ++trial) {
    for (Index k = static_cast<Index>(n); k > 0; --k) {
      probability(k) = p * probability(k - 1) + (1 - p) * probability(k);
    }
    probability(0) *= 1 - p;
  }
  return probability.tail(static_cast<Index>(n - s) + 1).sum();
}

TEST(ClopperPearsonLower, HasItsClosedForms) {
  EXPECT_NEAR(clopper_pearson_lower(60, 60, 0.95), 0.9513, 5e-5);
  EXPECT_NEAR(clopper_pearson_lower(1, 1, 0.9), 0.1, 1e-15);
  EXPECT_EQ(clopper_pearson_lower(0, 7, 0.95), 0);
  // P(X ≥ 1) = 1 − (1−p)ⁿ.
  EXPECT_NEAR(clopper_pearson_lower(1, 12, 0.99), 1 - std::pow(0.99, 1.0 / 12), 1e-14);
}

TEST(ClopperPearsonLower, PutsTheDoubtIntoTheUpperTail) {
  for (const std::size_t n : {2U, 9U, 60U, 240U}) {
    for (std::size_t s = 1; s <= n; s += 1 + n / 7) {
      for (const double confidence : {0.5, 0.95, 0.999}) {
        const double p = clopper_pearson_lower(s, n, confidence);
        EXPECT_NEAR(tail_by_recursion(s, n, p), 1 - confidence, 1e-11) << s << " of " << n;
      }
    }
  }
}

TEST(ClopperPearsonLower, GrowsWithSuccessesAndShrinksWithConfidence) {
  for (std::size_t s = 1; s <= 50; ++s) {
    EXPECT_GT(clopper_pearson_lower(s, 50, 0.95), clopper_pearson_lower(s - 1, 50, 0.95));
    EXPECT_LT(clopper_pearson_lower(s, 50, 0.99), clopper_pearson_lower(s, 50, 0.95));
    EXPECT_LE(clopper_pearson_lower(s, 50, 0.5), static_cast<double>(s) / 50);
  }
}

TEST(ClopperPearsonLower, TellsMillionsOfTrialsFromFew) {
  // There the bound is the normal one, s/n − 1.6449·√(pq/n), to a part in n.
  const double n = 4e6;
  EXPECT_NEAR(clopper_pearson_lower(1'000'000, 4'000'000, 0.95),
              0.25 - 1.6448536 * std::sqrt(0.25 * 0.75 / n), 2e-6);
}

TEST(ClopperPearsonLower, RefusesWhatHasNoProbability) {
  EXPECT_THROW((void)clopper_pearson_lower(1, 0, 0.95), Error);
  EXPECT_THROW((void)clopper_pearson_lower(3, 2, 0.95), Error);
  for (const double confidence : {0.49, 1.0, std::nan("")}) {
    EXPECT_THROW((void)clopper_pearson_lower(1, 2, confidence), Error);
  }
}

}  // namespace
}  // namespace ellice
