#pragma once

#include <optional>

#include "request/problem.hpp"
#include "search/linear_question.hpp"

namespace ellice {

/// Why a query has no answer under its constraints: the proof, the largest ε that would have one, a
/// minimal set of constraints, rules among them, that block it (deletion filter), the best
/// reachable point. Nothing if there is no proof: some allowed point may be robust.
[[nodiscard]] std::optional<Infeasibility> explain_infeasibility(const Problem& problem,
                                                                 const LinearQuestion& question,
                                                                 const FeasibleSet& feasible);

/// Whether it is proved that a query has no answer at the question's ε.
[[nodiscard]] bool is_proved_unreachable(const Problem& problem, const LinearQuestion& question,
                                         const FeasibleSet& feasible);

}  // namespace ellice
