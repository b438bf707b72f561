#pragma once

#include <optional>

#include "request/problem.hpp"
#include "search/linear_question.hpp"

namespace ellice {

/// Why a query has no answer under its constraints: the proof, the largest ε that would have one, a
/// minimal set of constraints, rules and the limit of changes among them, that block it, and the
/// most robust row that is allowed (theory.md, Result 48). Nothing if there is no proof: some
/// allowed point may be robust. The assembler is that of the problem.
[[nodiscard]] std::optional<Infeasibility> explain_infeasibility(
    const Problem& problem, const LinearQuestion& question, const Assembler& assembler,
    const FeasibleSet& feasible, std::optional<std::size_t> most_changes);

/// Whether a search of all rows that are allowed proves that none is robust, which no file shows.
[[nodiscard]] bool has_no_robust_row(const Problem& problem, const LinearQuestion& question,
                                     const FeasibleSet& feasible,
                                     std::optional<std::size_t> most_changes);

/// Whether it is proved that a query has no answer at the question's ε.
[[nodiscard]] bool is_proved_unreachable(const Problem& problem, const LinearQuestion& question,
                                         const FeasibleSet& feasible);

}  // namespace ellice
