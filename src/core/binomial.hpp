#pragma once

#include <cstddef>

namespace ellice {

/// The one-sided lower bound of Clopper and Pearson (1934) for the probability behind `successes`
/// of `trials`: the p with P(X ≥ successes) = 1 − confidence for X binomial with p. Never above the
/// true probability more often than 1 − confidence. 60 of 60 at 95 % give 0.951. Throws
/// Error{argument} unless successes ≤ trials, trials > 0 and 0.5 ≤ confidence < 1.
[[nodiscard]] double clopper_pearson_lower(std::size_t successes, std::size_t trials,
                                           double confidence);

}  // namespace ellice
