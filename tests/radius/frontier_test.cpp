#include "radius/frontier.hpp"

#include <gtest/gtest.h>

#include "support/network_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_model;
using problem_zoo::random_queries;

const std::vector<double> epsilons_asked = {0, 0.001, 0.003, 0.01, 0.03, 0.1};

TEST(Frontier, NothingIsFeasibleBeyondTheLargestEpsilonAndEverythingBelow) {
  const Model linear = numeric_model(4, 51);
  const Model network = network_model({8, 8}, Activation::relu, 52, 4);
  for (const Problem& problem : {Problem{.model = &linear}, Problem{.model = &network},
                                 Problem{.model = &network, .set = {.kind = SetKind::full}}}) {
    const Frontier frontier(problem);
    int limited = 0;
    for (const Query& query : random_queries(*problem.model, 20, 53)) {
      const FrontierCurve curve = frontier.trace(query, epsilons_asked);
      EXPECT_EQ(curve.is_proved, problem.model == &linear);
      ASSERT_EQ(curve.points.size(), epsilons_asked.size());
      if (!curve.max_epsilon) continue;
      ++limited;
      for (const FrontierPoint& point : curve.points) {
        EXPECT_EQ(point.feasible, point.epsilon <= *curve.max_epsilon) << point.epsilon;
      }
    }
    EXPECT_GT(limited, 5);
  }
}

/// The largest radius of any point of the box, by a grid that is drawn in around its best point.
double largest_radius(const plain::Ellipsoid& judge, const Vector& lower, const Vector& upper) {
  Vector centre = (lower + upper) / 2;
  Vector width = (upper - lower) / 2;
  double best = judge.radius(centre);
  for (int round = 0; round < 40; ++round, width *= 0.8) {
    Vector next = centre;
    for (int code = 0; code < 625; ++code) {
      Vector z = centre;
      int rest = code;
      for (Index j = 0; j < 4; ++j, rest /= 5) z(j) += width(j) * (rest % 5 - 2) / 2;
      z = z.cwiseMax(lower).cwiseMin(upper);
      if (judge.radius(z) <= best) continue;
      best = judge.radius(z);
      next = z;
    }
    centre = next;
  }
  return best;
}

TEST(Frontier, OfALinearModelIsThatOfPlainFormulas) {
  const Model model = numeric_model(4, 51);
  const Problem problem{.model = &model};
  const Frontier frontier(problem);
  int limited = 0;
  int reached = 0;
  for (const Query& query : random_queries(model, 20, 53)) {
    const FrontierCurve curve = frontier.trace(query, epsilons_asked);
    const auto [lower, upper] = plain::box_of(problem, query.index, query.raw);
    const double largest = largest_radius(plain::Ellipsoid(model, 0), lower, upper);
    if (curve.max_epsilon) {
      ++limited;
      EXPECT_NEAR(*curve.max_epsilon, largest, 1e-3 * largest);
    }
    for (const FrontierPoint& point : curve.points) {
      if (std::abs(point.epsilon - largest) > 1e-3 * largest) {
        EXPECT_EQ(point.feasible, point.epsilon < largest) << point.epsilon;
      }
      if (!point.feasible || point.distance == 0) continue;
      ++reached;
      // No point nearer than stated is robust: tried along many directions.
      const plain::Ellipsoid judge(model, point.epsilon);
      const Vector start = plain::code(model, query.raw);
      Random random = Random(54).split(query.index);
      for (int draw = 0; draw < 200; ++draw) {
        Vector way = random.normal_vector(4);
        way += 2 * judge.worst(start).head(4).normalized();
        const Vector z =
            (start + 0.999 * point.distance * way.normalized()).cwiseMax(lower).cwiseMin(upper);
        EXPECT_LT(judge.robust_logit(z), 0);
      }
    }
  }
  EXPECT_GT(limited, 5);
  EXPECT_GT(reached, 10);
}

}  // namespace
}  // namespace ellice
