#include "core/chi_square.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

// The table that every book on statistics has.
TEST(ChiSquareQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(chi_square_quantile(0.95, 1), 3.841458820694124, 1e-12);
  EXPECT_NEAR(chi_square_quantile(0.95, 10), 18.30703805327515, 1e-11);
  EXPECT_NEAR(chi_square_quantile(0.99, 5), 15.08627246938899, 1e-11);
  EXPECT_NEAR(chi_square_quantile(0.05, 100), 77.92946516501726, 1e-10);
}

// With two degrees of freedom it is an exponential distribution.
TEST(ChiSquareQuantile, HasAClosedFormForTwoDegrees) {
  for (const double p : {1e-6, 0.1, 0.5, 0.95, 0.999999}) {
    EXPECT_NEAR(chi_square_quantile(p, 2), -2 * std::log1p(-p), 1e-9) << p;
  }
}

// P(X ≤ q) for an even number of degrees is one minus a sum of Poisson's probabilities.
TEST(ChiSquareQuantile, CutsOffThatProbability) {
  for (const int half : {2, 7, 30, 250}) {
    for (const double p : {0.01, 0.5, 0.95, 0.999}) {
      const double mean = chi_square_quantile(p, 2 * half) / 2;
      double sum = 0;
      for (int k = 0; k < half; ++k)
        sum += std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
      EXPECT_NEAR(1 - sum, p, 1e-10) << half << ' ' << p;
    }
  }
}

TEST(ChiSquareQuantile, RefusesWhatIsNoProbability) {
  EXPECT_THROW(static_cast<void>(chi_square_quantile(0, 3)), Error);
  EXPECT_THROW(static_cast<void>(chi_square_quantile(1, 3)), Error);
  EXPECT_THROW(static_cast<void>(chi_square_quantile(0.5, 0)), Error);
}

}  // namespace
}  // namespace ellice
