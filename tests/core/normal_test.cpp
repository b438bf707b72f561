#include "core/normal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

/// ∫₀ᶻ of the density by Simpson's rule.
double cdf_by_quadrature(double z) {
  constexpr int panels = 2000;
  const double h = z / panels;
  const auto density = [](double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  };
  double sum = density(0) + density(z);
  for (int i = 1; i < panels; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * h);
  return 0.5 + sum * h / 3;
}

TEST(NormalCdf, IsTheIntegralOfTheDensity) {
  for (const double z : {-4.0, -1.0, 0.0, 0.3, 1.5, 3.7})
    EXPECT_NEAR(normal_cdf(z), cdf_by_quadrature(z), 1e-13) << z;
}

TEST(NormalQuantile, HasTheValuesOfTheTables) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.9), 1.2815515655446004, 1e-14);
  EXPECT_NEAR(normal_quantile(0.95), 1.6448536269514722, 1e-14);
  EXPECT_NEAR(normal_quantile(0.99), 2.3263478740408408, 1e-14);
  EXPECT_NEAR(normal_quantile(0.975), 1.9599639845400545, 1e-14);
}

TEST(NormalQuantile, InvertsTheDistributionInBothTails) {
  for (double p = 1e-300; p < 0.5; p *= 7) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-11) << p;
  }
  for (double z = -8; z <= 5; z += 0.37) EXPECT_NEAR(normal_quantile(normal_cdf(z)), z, 1e-9) << z;
}

TEST(NormalQuantile, RefusesWhatIsNoProbability) {
  for (const double p : {0.0, 1.0, -0.1, 1.1, std::nan("")})
    EXPECT_THROW((void)normal_quantile(p), Error) << p;
}

}  // namespace
}  // namespace ellice
