#pragma once

#include <functional>

#include "ellice/request/answer.hpp"
#include "request/feasible_set.hpp"

namespace ellice {

/// The best of the answers in the branches of a feasible set (theory.md, Result 17): the cheapest
/// certified one, else that with the largest reduced ε. It is optimal, or has a gap, as far as all
/// branches together prove it. For methods that never prove that there is none.
[[nodiscard]] Answer best_over_branches(const FeasibleSet& feasible,
                                        const std::function<Answer(const FeasibleSet&)>& answer);

}  // namespace ellice
