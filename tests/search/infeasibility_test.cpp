#include <gtest/gtest.h>

#include <set>
#include <string>

#include "search/exact_search.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::plain_robust_logit;
using problem_zoo::random_queries;
using problem_zoo::solve;

TEST(ExactSearch, ExplainsInfeasibility) {
  const Model model = numeric_model(4, 15, [](Schema& schema) {
    for (std::size_t j = 0; j < 3; ++j) schema.features[j].immutable = true;
  });
  const Problem problem{.model = &model, .epsilon = 0.04};
  const double limit =
      epsilon_limit(model.network.head(), model.curvature.hessian, {true, true, true, true});
  int infeasible = 0;
  const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 16));
  for (const Answer& answer : answers) {
    if (answer.status != Status::infeasible) continue;
    ++infeasible;
    const Infeasibility& why = *answer.infeasible;
    EXPECT_LT(why.upper_bound, 0);
    EXPECT_LE(why.best_robust_logit, why.upper_bound + 1e-9);
    EXPECT_LT(why.max_epsilon, 0.04);
    EXPECT_EQ(why.blocking.empty(), 0.04 > limit)
        << "with everything free there is an answer below the limit";
    // At max_epsilon there is an answer, a little above there is none.
    if (why.max_epsilon > 1e-6) {
      const std::vector<Query> self = {
          {.index = answer.query_index, .raw = model.encoder.raw(answer.query)}};
      Problem below = problem;
      below.epsilon = why.max_epsilon * (1 - 1e-5);
      EXPECT_TRUE(is_certified(solve(below, self)[0].status));
      Problem above = problem;
      above.epsilon = why.max_epsilon * (1 + 1e-5);
      EXPECT_EQ(solve(above, self)[0].status, Status::infeasible);
    }
  }
  EXPECT_GT(infeasible, 5);
  expect_audited(problem, answers);
}

TEST(ExactSearch, WithoutAnyOneOfTheBlockingConstraintsThereIsAnAnswer) {
  const auto model_with = [](const std::set<std::string>& immutable) {
    return numeric_model(3, 17, [&](Schema& schema) {
      for (Feature& feature : schema.features) feature.immutable = immutable.contains(feature.name);
    });
  };
  const std::set<std::string> all = {"x0", "x1", "x2"};
  const Model model = model_with(all);
  Problem problem{.model = &model, .epsilon = 0.005};
  problem.constraints.range = RangePolicy::off;
  int checked = 0;
  for (const Answer& answer : solve(problem, random_queries(model, 20, 18))) {
    if (answer.status != Status::infeasible) continue;
    ASSERT_FALSE(answer.infeasible->blocking.empty());
    std::set<std::string> blocking;
    for (const std::string& text : answer.infeasible->blocking) blocking.insert(text.substr(0, 2));
    const std::vector<Query> self = {{.index = 0, .raw = model.encoder.raw(answer.query)}};
    const auto status_with = [&](const std::set<std::string>& immutable) {
      const Model other = model_with(immutable);
      Problem changed = problem;
      changed.model = &other;
      return solve(changed, self)[0].status;
    };
    EXPECT_EQ(status_with(blocking), Status::infeasible) << "they do not block by themselves";
    for (const std::string& name : blocking) {
      std::set<std::string> fewer = blocking;
      fewer.erase(name);
      EXPECT_TRUE(is_certified(status_with(fewer))) << name << " is not needed";
      ++checked;
    }
  }
  EXPECT_GT(checked, 5);
}

TEST(ExactSearch, AllowedNumbersBoundTheSearchAndCanBlock) {
  const Model model = numeric_model(2, 13, [](Schema& schema) {
    schema.features[0].allowed = {-1.0, 0.0, 1.0};
    schema.features[1].allowed = {-1.0, 0.0, 1.0};
  });
  Problem problem{.model = &model, .epsilon = 0.001, .threshold = 3};
  problem.constraints.range = RangePolicy::off;
  std::set<Status> seen;
  const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 14));
  for (const Answer& answer : answers) {
    bool possible = false;  // by trying all rows
    const Vector raw = model.encoder.raw(answer.query);
    for (const double a : {-1.0, 0.0, 1.0, raw(0)}) {
      for (const double b : {-1.0, 0.0, 1.0, raw(1)}) {
        const Vector z =
            (Vector{{a, b}} - model.encoder.mean()).cwiseQuotient(model.encoder.scale());
        possible = possible || plain_robust_logit(model, 0.001, z) >= 3;
      }
    }
    seen.insert(answer.status);
    EXPECT_TRUE(possible || !is_certified(answer.status));
    if (answer.status == Status::infeasible) {
      EXPECT_FALSE(possible);
      EXPECT_FALSE(answer.infeasible->blocking.empty());
    }
  }
  EXPECT_TRUE(seen.contains(Status::infeasible));
  expect_audited(problem, answers);
}

TEST(ExactSearch, AnswersWhereEverythingIsImmutable) {
  const Model model = numeric_model(3, 22, [](Schema& schema) {
    for (Feature& feature : schema.features) feature.immutable = true;
  });
  const Problem problem{.model = &model, .epsilon = 0.001};
  const std::vector<Answer> answers = solve(problem, random_queries(model, 40, 23));
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.status == Status::already_robust || answer.status == Status::infeasible)
        << enum_name(answer.status) << answer.message;
  }
  expect_audited(problem, answers);
}

}  // namespace
}  // namespace ellice
