#pragma once

// Judges of whole answers, by plain rows and plain robust logits.

#include <gtest/gtest.h>

#include "support/plain_robust.hpp"
#include "support/plain_rows.hpp"

namespace ellice::plain {

/// A problem of numbers alone whose query lies in its ranges.
Nearest nearest_of(const Problem& problem, std::size_t query, const Vector& from);

/// That nothing cheaper is robust: one model of the set, the worst one at the answer, refuses all
/// that is. For problems of numbers without grids and rules; also that the cost is what is said.
void expect_nearest(const Problem& problem, const Answer& answer, const Vector& worst,
                    double tolerance = 1e-7);

/// The cheapest row that `accepts`, over all that the constraints allow; ∞ where there is none.
/// Every feature that may change must be discrete.
template <class Accepts>
double cheapest(const Problem& problem, std::size_t query, const Vector& from,
                const Accepts& accepts, std::optional<int> most_changes = {}) {
  double best = infinity;
  visit_rows(problem, query, from, [&](const Vector& to) {
    if (most_changes && changes(from, to) > *most_changes) return;
    const double price = cost(problem.cost, *problem.model, from, to);
    if (price < best && accepts(code(*problem.model, to))) best = price;
  });
  return best;
}

/// That the model of a proof of infeasibility refuses every row that the ranges allow, and by how
/// much it is worse than the trained one must be asked beside.
void expect_refused_everywhere(const Problem& problem, const Answer& answer);

}  // namespace ellice::plain
