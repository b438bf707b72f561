#include "study/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// Streams of a comparison's seed.
constexpr std::uint64_t interval_stream = 0;
constexpr std::uint64_t sign_stream = 1;

constexpr std::size_t most_enumerated = 20;  // rows: a million sums
constexpr int sign_draws = 20000;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Interval bootstrap_interval(std::span<const double> values, const IntervalOptions& options,
                            const Random& random) {
  std::vector<double> means(static_cast<std::size_t>(options.resamples));
  for (std::size_t r = 0; r < means.size(); ++r) {
    Random draws = random.split(r);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[draws.below(values.size())];
    means[r] = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  const double tail = (1 - options.confidence) / 2 * static_cast<double>(means.size());
  const auto cut = static_cast<std::size_t>(tail);
  return {.low = means[cut], .high = means[means.size() - 1 - cut]};
}

/// P(at most k heads of n tosses of a coin).
double coin_tail(std::size_t k, std::size_t n) {
  const auto total = static_cast<double>(n);
  double sum = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    const auto heads = static_cast<double>(i);
    sum += std::exp(std::lgamma(total + 1) - std::lgamma(heads + 1) -
                    std::lgamma(total - heads + 1) - total * std::log(2.0));
  }
  return sum;
}

/// The share of all sign patterns whose sum is at least as far from 0 as `limit`. One sign changes
/// from one pattern to the next (Gray code).
double share_of_all_signs(std::vector<double> terms, double limit) {
  double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
  const std::uint64_t patterns = std::uint64_t{1} << terms.size();
  std::uint64_t extreme = std::abs(sum) >= limit ? 1 : 0;
  for (std::uint64_t pattern = 1; pattern < patterns; ++pattern) {
    double& term = terms[static_cast<std::size_t>(std::countr_zero(pattern))];
    sum -= 2 * term;
    term = -term;
    extreme += std::abs(sum) >= limit ? 1 : 0;
  }
  return static_cast<double>(extreme) / static_cast<double>(patterns);
}

double share_of_drawn_signs(const std::vector<double>& terms, double limit, const Random& random) {
  int extreme = 1;  // what was observed
  for (int draw = 0; draw < sign_draws; ++draw) {
    Random stream = random.split(static_cast<std::uint64_t>(draw));
    double sum = 0;
    std::uint64_t signs = 0;
    for (std::size_t i = 0; i < terms.size(); ++i, signs >>= 1) {
      if (i % 64 == 0) signs = stream.bits();
      sum += (signs & 1) == 1 ? terms[i] : -terms[i];
    }
    extreme += std::abs(sum) >= limit ? 1 : 0;
  }
  return static_cast<double>(extreme) / (1.0 + sign_draws);
}

}  // namespace

std::optional<Summary> summarise(std::span<const double> values, const IntervalOptions& options,
                                 const Random& random) {
  validate(options, "IntervalOptions");
  if (values.empty()) return std::nullopt;
  Summary result{.count = values.size(), .mean = mean_of(values), .median = median_of(values)};
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    const auto count = static_cast<double>(values.size());
    result.standard_error = std::sqrt(squares / (count * (count - 1)));
  }
  result.interval = bootstrap_interval(values, options, random);
  return result;
}

Interval wilson_interval(std::size_t successes, std::size_t trials, double confidence) {
  require(trials > 0 && successes <= trials, "{} successes of {} trials", successes, trials);
  const double z = normal_quantile((1 + confidence) / 2);
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double scale = 1 / (1 + z * z / n);
  const double centre = scale * (share + z * z / (2 * n));
  const double half = scale * z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // At the ends the bound is the end itself; rounding would miss it.
  return {.low = successes == 0 ? 0 : std::max(0.0, centre - half),
          .high = successes == trials ? 1 : std::min(1.0, centre + half)};
}

std::optional<PairedDifference> compare_pairs(std::span<const double> a, std::span<const double> b,
                                              const IntervalOptions& options,
                                              const Random& random) {
  require(a.size() == b.size(), "{} values are paired with {}", a.size(), b.size());
  std::vector<double> differences(a.size());
  std::transform(a.begin(), a.end(), b.begin(), differences.begin(), std::minus<>());
  const std::optional<Summary> summary =
      summarise(differences, options, random.split(interval_stream));
  if (!summary) return std::nullopt;
  PairedDifference result{.difference = *summary};
  std::erase(differences, 0.0);  // an equal pair has no sign
  for (const double d : differences) ++(d > 0 ? result.positive : result.negative);
  if (differences.empty()) return result;
  result.sign_p =
      std::min(1.0, 2 * coin_tail(std::min(result.positive, result.negative), differences.size()));
  double sum = 0;
  double magnitude = 0;
  for (const double d : differences) {
    sum += d;
    magnitude += std::abs(d);
  }
  // Sums that are equal but for rounding count as equal.
  const double limit = std::abs(sum) - 1e-12 * magnitude;
  result.is_exact = differences.size() <= most_enumerated;
  result.permutation_p = result.is_exact
                             ? share_of_all_signs(differences, limit)
                             : share_of_drawn_signs(differences, limit, random.split(sign_stream));
  return result;
}

}  // namespace ellice
