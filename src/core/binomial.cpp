#include "core/binomial.hpp"

#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// P(X ≥ s) for 0 < s < n and 0 < p ≤ s/n. There the terms decrease from the first one on: the sum
/// neither cancels nor starts from a term that is too small to be a number.
double upper_tail(double s, double n, double p) {
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(s + 1) - std::lgamma(n - s + 1) +
                         s * std::log(p) + (n - s) * std::log1p(-p));
  double sum = term;
  for (double k = s; k < n && term > 1e-17 * sum; ++k) {
    term *= (n - k) / (k + 1) * (p / (1 - p));
    sum += term;
  }
  return sum;
}

}  // namespace

double clopper_pearson_lower(std::size_t successes, std::size_t trials, double confidence) {
  require(trials > 0 && successes <= trials, "{} successes of {} trials have no probability",
          successes, trials);
  require(confidence >= 0.5 && confidence < 1, "confidence = {} must be in [0.5, 1)", confidence);
  const double doubt = 1 - confidence;
  const auto n = static_cast<double>(trials);
  const auto s = static_cast<double>(successes);
  if (successes == 0) return 0;
  if (successes == trials) return std::pow(doubt, 1 / n);
  // The median of X at p = s/n is s, so P(X ≥ s) ≥ 1/2 ≥ doubt there: the bound lies below.
  double lower = 0;
  double upper = s / n;
  for (;;) {
    const double middle = (lower + upper) / 2;
    if (!(middle > lower && middle < upper)) return lower;
    (upper_tail(s, n, middle) <= doubt ? lower : upper) = middle;
  }
}

}  // namespace ellice
