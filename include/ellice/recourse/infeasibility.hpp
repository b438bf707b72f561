#pragma once

#include <optional>

#include "ellice/recourse/linear_cones.hpp"
#include "ellice/recourse/problem.hpp"

namespace ellice {

/// Why a query has no answer under its constraints: the proof, the largest ε that would have one, a
/// minimal set of constraints, rules among them, that block it (deletion filter), the best
/// reachable point. Nothing if there is no proof: some allowed point may be robust.
[[nodiscard]] std::optional<Infeasibility> explain_infeasibility(const Problem& problem,
                                                                 const LinearCones& cones,
                                                                 const FeasibleSet& feasible);

}  // namespace ellice
