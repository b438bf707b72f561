#pragma once

// Numbers about samples: what is reported of a metric, and whether two methods differ.

#include <cstddef>
#include <optional>
#include <span>

#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/sets/retraining.hpp"

namespace ellice {

struct IntervalOptions {
  double confidence = 0.95;
  int resamples = 2000;

  static void fields(auto& self, auto&& visit) {
    visit("confidence", self.confidence, between(0.5, 0.999), "of the intervals");
    visit("resamples", self.resamples, at_least(100), "bootstrap samples behind an interval");
  }
  bool operator==(const IntervalOptions&) const = default;
};

/// Of a sample that has at least one value.
struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;                          // the mean of the two in the middle
  std::optional<double> standard_error = {};  // of the mean; from two values on
  Interval interval = {};                     // of the mean
};

/// Nothing for an empty sample. The interval is the percentile bootstrap's: quantiles of the means
/// of samples drawn with replacement, sample r from random.split(r).
[[nodiscard]] std::optional<Summary> summarise(std::span<const double> values,
                                               const IntervalOptions& options,
                                               const Random& random);

/// A share of successes, 0 or 1 each, for which the bootstrap is of no use near 0 and 1: Wilson's
/// (1927) interval, the p with |share − p| ≤ z·√(p(1−p)/trials).
[[nodiscard]] Interval wilson_interval(std::size_t successes, std::size_t trials,
                                       double confidence);

/// Two samples of the same rows, a − b by row.
struct PairedDifference {
  Summary difference = {};
  std::size_t positive = 0;  // rows with a > b
  std::size_t negative = 0;
  /// Two-sided: P(as many of one sign or more) if each row that differs were a toss of a coin.
  double sign_p = 1;
  /// Two-sided: P(|Σ ±dᵢ| ≥ |Σ dᵢ|) over random signs, that is, if a and b were exchangeable in
  /// each row.
  double permutation_p = 1;
  bool is_exact = true;  // all signs were tried, not a sample of them
};

/// Nothing for samples without rows. Up to 20 rows that differ all signs are tried; beyond that
/// 20 000 draws, with the observed signs counted among them, so that p is never 0.
[[nodiscard]] std::optional<PairedDifference> compare_pairs(std::span<const double> a,
                                                            std::span<const double> b,
                                                            const IntervalOptions& options,
                                                            const Random& random);

}  // namespace ellice
