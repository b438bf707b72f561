#include "search/stated_gap.hpp"

#include <algorithm>

#include "search/tolerances.hpp"

namespace ellice {

namespace {

// Of the cost: how far rounding may lift a bound above it, which is what a verifier admits, too.
constexpr double bound_rounding = 1e-8;

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
  if (saved <= optimal_gap) {
    result.status = Status::optimal;
    result.gap = 0;
    return;
  }
  result.gap = saved;
  if (lost > 0 && result.message.empty()) {
    result.message = fmt::format(
        "the Hessian is so ill-conditioned that double precision knows the set of models to {:.1g} "
        "of epsilon; cheaper answers are ruled out but for that",
        lost);
  }
}

}  // namespace ellice
