#pragma once

#include <functional>

#include "ellice/recourse/feasible_set.hpp"
#include "ellice/recourse/recourse.hpp"

namespace ellice {

/// The best of the answers in the branches of a feasible set (theory.md, Result 19): the cheapest
/// certified one, else that with the largest reduced ε. It is optimal, or has a gap, as far as all
/// branches together prove it, and infeasible where all of them are, with a proof for each.
[[nodiscard]] Recourse best_over_branches(
    const FeasibleSet& feasible, const std::function<Recourse(const FeasibleSet&)>& answer);

}  // namespace ellice
