#include "support/plain_judge.hpp"

namespace ellice::plain {

Nearest nearest_of(const Problem& problem, std::size_t query, const Vector& from) {
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

void expect_nearest(const Problem& problem, const Answer& answer, const Vector& worst,
                    double tolerance) {
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

void expect_refused_everywhere(const Problem& problem, const Answer& answer) {
  ASSERT_TRUE(answer.infeasible);
  ASSERT_GT(answer.infeasible->model.size(), 0) << answer.query_index;
  const Vector from = numbers(problem.model->schema(), answer.query);
  EXPECT_LT(highest_score(problem, answer.query_index, from, answer.infeasible->model),
            problem.threshold)
      << answer.query_index;
}

}  // namespace ellice::plain
