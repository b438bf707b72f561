#include "study/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"

namespace ellice {
namespace {

std::vector<double> normal_sample(std::size_t count, double mean, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(mean + random.normal());
  return values;
}

TEST(Summary, HoldsTheTextbookNumbers) {
  const std::vector<double> values = {4, 1, 7, 2};
  const Summary summary = *summarise(values, {}, Random(1));
  EXPECT_EQ(summary.count, 4U);
  EXPECT_DOUBLE_EQ(summary.mean, 3.5);
  EXPECT_DOUBLE_EQ(summary.median, 3);
  // Squares of the deviations: 0.25 + 6.25 + 12.25 + 2.25 = 21; s² = 7; s/√4.
  EXPECT_DOUBLE_EQ(*summary.standard_error, std::sqrt(7.0) / 2);
  EXPECT_GE(summary.interval.low, 1);
  EXPECT_LE(summary.interval.high, 7);
}

TEST(Summary, OfNothingIsNothingAndOfOneValueHasNoError) {
  EXPECT_FALSE(summarise({}, {}, Random(1)).has_value());
  const std::vector<double> one = {2.5};
  const Summary summary = *summarise(one, {}, Random(1));
  EXPECT_EQ(summary.median, 2.5);
  EXPECT_FALSE(summary.standard_error.has_value());
  EXPECT_EQ(summary.interval.low, 2.5);
  EXPECT_EQ(summary.interval.high, 2.5);
}

TEST(Summary, DependsOnItsSeedOnly) {
  const std::vector<double> values = normal_sample(30, 0, 3);
  const Summary a = *summarise(values, {}, Random(1));
  const Summary b = *summarise(values, {}, Random(1));
  const Summary c = *summarise(values, {}, Random(2));
  EXPECT_EQ(a.interval.low, b.interval.low);
  EXPECT_NE(a.interval.low, c.interval.low);
}

TEST(Summary, RefusesAConfidenceThatIsNone) {
  const std::vector<double> values = {1, 2};
  EXPECT_THROW((void)summarise(values, {.confidence = 1}, Random(1)), Error);
}

TEST(BootstrapInterval, CoversAKnownMeanAboutAsOftenAsItSays) {
  constexpr int samples = 600;
  int covered = 0;
  double width = 0;
  for (int k = 0; k < samples; ++k) {
    const Summary summary =
        *summarise(normal_sample(50, 1.5, static_cast<std::uint64_t>(k)),
                   {.confidence = 0.9, .resamples = 400}, Random(static_cast<std::uint64_t>(k)));
    covered += summary.interval.low <= 1.5 && 1.5 <= summary.interval.high ? 1 : 0;
    width += (summary.interval.high - summary.interval.low) / samples;
  }
  // The percentile interval of 50 values is a little too narrow: some 89 %, and ±1.2 % by chance.
  EXPECT_GT(covered, 0.85 * samples);
  EXPECT_LT(covered, 0.94 * samples);
  EXPECT_NEAR(width, 2 * normal_quantile(0.95) / std::sqrt(50.0), 0.03);
}

TEST(WilsonInterval, EndsWhereTheNormalTestStopsRejecting) {
  for (const std::size_t successes : {1U, 17U, 49U}) {
    const Interval interval = wilson_interval(successes, 50, 0.95);
    for (const double p : {interval.low, interval.high}) {
      const double z = (static_cast<double>(successes) / 50 - p) / std::sqrt(p * (1 - p) / 50);
      EXPECT_NEAR(std::abs(z), normal_quantile(0.975), 1e-9);
    }
  }
  EXPECT_EQ(wilson_interval(0, 20, 0.95).low, 0);
  EXPECT_EQ(wilson_interval(20, 20, 0.95).high, 1);
  EXPECT_LT(wilson_interval(20, 20, 0.95).low, 1);
  EXPECT_THROW((void)wilson_interval(1, 0, 0.95), Error);
}

/// P(|Σ ±d| ≥ |Σ d|), every pattern of signs summed afresh.
double brute_force_p(const std::vector<double>& differences) {
  double observed = 0;
  for (const double d : differences) observed += d;
  int extreme = 0;
  const unsigned patterns = 1U << differences.size();
  for (unsigned pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      sum += (pattern >> i & 1U) == 1U ? differences[i] : -differences[i];
    }
    extreme += std::abs(sum) >= std::abs(observed) - 1e-9 ? 1 : 0;
  }
  return static_cast<double>(extreme) / patterns;
}

TEST(PairedDifference, OfFewRowsIsTheBruteForcePermutationTest) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    std::vector<double> a = normal_sample(12, 0.4, seed);
    const std::vector<double> b = normal_sample(12, 0, seed + 10);
    a[3] = b[3];  // an equal pair
    const PairedDifference result = *compare_pairs(a, b, {}, Random(7));
    std::vector<double> differences;
    for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
    EXPECT_TRUE(result.is_exact);
    EXPECT_NEAR(result.permutation_p, brute_force_p(differences), 1e-12);
    EXPECT_EQ(result.positive + result.negative, 11U);
  }
}

TEST(PairedDifference, OfManyRowsAgreesWithTheExactDistributionOfWholeNumbers) {
  Random random(11);
  std::vector<double> a;
  std::vector<double> b;
  std::map<int, double> distribution = {{0, 1}};  // of Σ ±d, by convolution
  int observed = 0;
  for (int i = 0; i < 40; ++i) {
    const int d = static_cast<int>(random.below(9)) - 3;
    a.push_back(d + 5.0);
    b.push_back(5);
    observed += d;
    std::map<int, double> next;
    for (const auto& [sum, p] : distribution) {
      next[sum + d] += p / 2;
      next[sum - d] += p / 2;
    }
    distribution = next;
  }
  double exact = 0;
  for (const auto& [sum, p] : distribution) exact += std::abs(sum) >= std::abs(observed) ? p : 0;
  const PairedDifference result = *compare_pairs(a, b, {}, Random(7));
  EXPECT_FALSE(result.is_exact);
  EXPECT_NEAR(result.permutation_p, exact, 4 * std::sqrt(exact / 20000) + 1.0 / 20000);
  EXPECT_GT(result.permutation_p, 0);
}

TEST(PairedDifference, SignTestIsThatOfACoin) {
  // 9 of 10 rows larger: 2·(1 + 10)/2¹⁰.
  std::vector<double> a(10, 1);
  const std::vector<double> b(10, 0);
  a[4] = -3;
  const PairedDifference result = *compare_pairs(a, b, {}, Random(1));
  EXPECT_NEAR(result.sign_p, 22.0 / 1024, 1e-12);
  EXPECT_EQ(result.positive, 9U);
}

TEST(PairedDifference, OfEqualRowsSaysNothing) {
  const std::vector<double> a = {1, 2, 3};
  const PairedDifference result = *compare_pairs(a, a, {}, Random(1));
  EXPECT_EQ(result.sign_p, 1);
  EXPECT_EQ(result.permutation_p, 1);
  EXPECT_EQ(result.difference.mean, 0);
  EXPECT_FALSE(compare_pairs({}, {}, {}, Random(1)).has_value());
  EXPECT_THROW((void)compare_pairs(a, {}, {}, Random(1)), Error);
}

}  // namespace
}  // namespace ellice
