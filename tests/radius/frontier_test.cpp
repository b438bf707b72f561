#include "radius/frontier.hpp"

#include <gtest/gtest.h>

#include "support/network_model.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_model;
using problem_zoo::random_queries;

const std::vector<double> levels = {0, 0.001, 0.003, 0.01, 0.03, 0.1};

TEST(Frontier, NothingIsFeasibleBeyondTheLargestEpsilonAndEverythingBelow) {
  const Model linear = numeric_model(4, 51);
  const Model network = network_model({8, 8}, Activation::relu, 52, 4);
  for (const Problem& problem : {Problem{.model = &linear}, Problem{.model = &network},
                                 Problem{.model = &network, .set = {.kind = SetKind::full}}}) {
    const Frontier frontier(problem);
    int limited = 0;
    for (const Query& query : random_queries(*problem.model, 20, 53)) {
      const FrontierCurve curve = frontier.trace(query, levels);
      EXPECT_EQ(curve.is_proved, problem.model == &linear);
      ASSERT_EQ(curve.points.size(), levels.size());
      if (!curve.max_epsilon) continue;
      ++limited;
      for (const FrontierPoint& point : curve.points) {
        EXPECT_EQ(point.feasible, point.epsilon <= *curve.max_epsilon) << point.epsilon;
      }
    }
    EXPECT_GT(limited, 5);
  }
}

}  // namespace
}  // namespace ellice
