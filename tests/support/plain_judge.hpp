#pragma once

// Judges of whole answers, by plain rows and plain robust logits.

#include <gtest/gtest.h>

#include "support/plain_robust.hpp"
#include "support/plain_rows.hpp"

namespace ellice::plain {

/// A problem of numbers alone whose query lies in its ranges.
inline Nearest nearest_of(const Problem& problem, std::size_t query, const Vector& from) {
  const auto [lower, upper] = box_of(problem, query, from);
  Nearest asked{.query = code(*problem.model, from),
                .lower = lower,
                .upper = upper,
                .weights = Vector(lower.size()),
                .kind = problem.cost.kind};
  for (Index j = 0; j < lower.size(); ++j)
    asked.weights(j) = problem.model->schema().features[static_cast<std::size_t>(j)].weight;
  return asked;
}

/// That nothing cheaper is robust: one model of the set, the worst one at the answer, refuses all
/// that is. For problems of numbers without grids and rules; also that the cost is what is said.
inline void expect_nearest(const Problem& problem, const Answer& answer, const Vector& worst,
                           double tolerance = 1e-7) {
  const Schema& schema = problem.model->schema();
  ASSERT_TRUE(answer.counterfactual);
  const Vector from = numbers(schema, answer.query);
  const double paid =
      cost(problem.cost, *problem.model, from, numbers(schema, *answer.counterfactual));
  const double least =
      least_cost(nearest_of(problem, answer.query_index, from), worst, problem.threshold);
  EXPECT_NEAR(answer.distance.weighted, paid, 1e-9 * (1 + paid)) << answer.query_index;
  EXPECT_LE(paid, least * (1 + tolerance)) << answer.query_index;
  EXPECT_GE(paid, least * (1 - tolerance)) << answer.query_index << ": judged by a wrong model";
}

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
inline void expect_refused_everywhere(const Problem& problem, const Answer& answer) {
  ASSERT_TRUE(answer.infeasible);
  ASSERT_GT(answer.infeasible->model.size(), 0) << answer.query_index;
  const Vector from = numbers(problem.model->schema(), answer.query);
  EXPECT_LT(highest_score(problem, answer.query_index, from, answer.infeasible->model),
            problem.threshold)
      << answer.query_index;
}

}  // namespace ellice::plain
