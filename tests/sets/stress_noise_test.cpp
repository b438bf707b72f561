#include <gtest/gtest.h>

#include <cmath>

#include "sets/stress.hpp"
#include "support/stress_cases.hpp"

namespace ellice {
namespace {

using stress_cases::expect_inside;
using stress_cases::plain_objective;
using stress_cases::Trained;

/// The base with each parameter times 1 + σ·normal, by draws that are not those of the factory.
double plain_share_inside(const Trained& trained, double sigma, double bound) {
  Random random(987);
  constexpr int draws = 1500;
  int inside = 0;
  const Vector parameters = parameter_vector(trained.base);
  for (int k = 0; k < draws; ++k) {
    Vector noisy = parameters;
    for (double& value : noisy) value *= 1 + sigma * random.normal();
    if (plain_objective(with_parameters(trained.base, noisy), trained.train, 1e-3) <= bound) {
      ++inside;
    }
  }
  return inside / static_cast<double>(draws);
}

TEST(WeightNoise, IsBisectedToTheShareThatIsAskedFor) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}}) {
    const Trained trained(hidden);
    const double bound = trained.objective + 0.02;
    for (const double share : {0.1, 0.5}) {
      const StressSet set =
          noise_set(trained.source, bound, {.count = 100, .noise_share = share}, Random(3));
      EXPECT_EQ(set.models.size(), 100U);
      EXPECT_NEAR(plain_share_inside(trained, set.noise, bound), share, 0.06);
      EXPECT_NEAR(100 / static_cast<double>(set.tried), share, 0.12);
      expect_inside(set, trained);
    }
  }
}

TEST(WeightNoise, StopsAtTheCapOfItsAttempts) {
  const Trained trained({6});
  const StressSet set = noise_set(trained.source, trained.objective + 0.02,
                                  {.count = 200, .noise_attempts = 1}, Random(3));
  EXPECT_EQ(set.tried, 200U);
  EXPECT_GT(set.models.size(), 5U);
  EXPECT_LT(set.models.size(), 60U);
}

TEST(WeightNoise, CannotMoveWhatIsZero) {
  Trained trained({6});
  trained.base.layers[0].weights(2, 1) = 0;
  trained.base.layers[1].bias(0) = 0;
  const StressSet set =
      noise_set(trained.source, base_objective(trained.source) + 0.02, {.count = 5}, Random(3));
  ASSERT_EQ(set.models.size(), 5U);
  for (const StressModel& model : set.models) {
    EXPECT_EQ(model.network.layers[0].weights(2, 1), 0);
    EXPECT_EQ(model.network.layers[1].bias(0), 0);
    EXPECT_NE(model.network.layers[0].weights(0, 0), trained.base.layers[0].weights(0, 0));
  }
}

TEST(WeightNoise, PublishedTakesTheLargestGridValueAndRedrawsOnce) {
  const Trained trained({12});
  const double bound = trained.objective + 0.002;
  constexpr std::size_t count = 150;
  const StressSet set =
      noise_set(trained.source, bound, {.variant = Variant::published, .count = count}, Random(4));
  const double ratio = std::pow(8000.0, 1 / 19.0);
  const double step = std::log(set.noise / 1e-4) / std::log(ratio);
  EXPECT_NEAR(step, std::round(step), 1e-9);
  ASSERT_LT(set.noise, 0.79) << "the case must not be at the end of the grid";
  EXPECT_GT(plain_share_inside(trained, set.noise, bound), 0.03);
  EXPECT_LT(plain_share_inside(trained, set.noise * ratio, bound), 0.07);

  expect_inside(set, trained);
  ASSERT_GE(set.tried, count);
  const std::size_t redrawn = set.tried - count;
  EXPECT_GT(redrawn, 0U);
  EXPECT_LE(redrawn, count);
  // A model's own σ shows in its factors: 12·4 + 12 + 12 + 1 of them.
  std::size_t first_draws = 0;
  const Vector parameters = parameter_vector(trained.base);
  for (const StressModel& model : set.models) {
    const Vector factors = parameter_vector(model.network).cwiseQuotient(parameters);
    const double deviation = std::sqrt((factors.array() - 1).square().mean());
    if (deviation > 0.75 * set.noise) ++first_draws;
  }
  EXPECT_NEAR(static_cast<double>(first_draws), static_cast<double>(count - redrawn), 3);
}

}  // namespace
}  // namespace ellice
