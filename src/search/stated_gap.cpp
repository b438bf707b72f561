#include "search/stated_gap.hpp"

#include <algorithm>
#include <limits>

#include "search/tolerances.hpp"

namespace ellice {

namespace {

// Of the cost: how far rounding may lift a bound above it, which is what a verifier admits, too.
constexpr double bound_rounding = 1e-8;

// Where one change is from very far away its cost hides that of all others: nothing is optimal that
// may cost this much too much, in squares of standard deviations.
constexpr double most_hidden = 1e-6;
// Of the cost: what a sum of doubles cannot tell.
constexpr double sum_rounding = 4 * std::numeric_limits<double>::epsilon();

}  // namespace

void state_gap(Answer& result, double lower_bound, double lost) {
  const double cost = result.distance.weighted;
  if (!(lower_bound <= cost * (1 + bound_rounding))) {
    result.gap.reset();
    result.status = Status::certified;
    result.message = fmt::format("{} answers, {}, exceeds that of this one, {}; please report it",
                                 contradicted, lower_bound, cost);
    return;
  }
  const double saved = cost > 0 ? 1 - std::max(0.0, lower_bound) / cost : 0;
  const double hidden = cost * std::max(saved, sum_rounding);
  if (saved <= optimal_gap && hidden <= most_hidden) {
    result.status = Status::optimal;
    result.gap = 0;
    return;
  }
  result.gap = std::max(saved, sum_rounding);
  if (saved <= optimal_gap && result.message.empty()) {
    result.message = fmt::format(
        "a value is so far from all training rows that its cost, {:.3g}, hides what other changes "
        "cost: up to {:.1g} could be saved",
        cost, hidden);
  }
  if (lost > 0 && result.message.empty()) {
    result.message = fmt::format(
        "the Hessian is so ill-conditioned that double precision knows the set of models to {:.1g} "
        "of epsilon; cheaper answers are ruled out but for that",
        lost);
  }
}

}  // namespace ellice
