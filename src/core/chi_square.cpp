#include "core/chi_square.hpp"

#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// P(a, x) = γ(a, x)/Γ(a) by its power series, whose terms are positive: nothing cancels. It needs
/// some x + 10·√x of them.
double lower_gamma(double a, double x) {
  double term = std::exp(a * std::log(x) - x - std::lgamma(a + 1));
  double sum = term;
  for (double k = 1; term > 1e-17 * sum || k < x; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum;
}

}  // namespace

double chi_square_quantile(double p, double degrees) {
  require(p > 0 && p < 1, "p = {} must be in (0, 1)", p);
  require(degrees >= 1, "there are {} degrees of freedom, but there must be at least 1", degrees);
  const double a = degrees / 2;
  double lower = 0;
  double upper = degrees;
  while (lower_gamma(a, upper / 2) < p) upper *= 2;
  for (;;) {
    const double middle = (lower + upper) / 2;
    if (!(middle > lower && middle < upper)) return upper;
    (lower_gamma(a, middle / 2) < p ? lower : upper) = middle;
  }
}

}  // namespace ellice
