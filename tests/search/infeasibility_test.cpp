#include <gtest/gtest.h>

#include <set>
#include <string>

#include "search/exact_search.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::random_queries;
using problem_zoo::solve;

TEST(ExactSearch, ExplainsInfeasibility) {
  const Model model = numeric_model(4, 15, [](Schema& schema) {
    for (std::size_t j = 0; j < 3; ++j) schema.features[j].immutable = true;
  });
  const double limit =
      epsilon_limit(model.network.head(), model.curvature.hessian, {true, true, true, true});
  int infeasible = 0;
  int answered = 0;
  for (const double epsilon : {0.001, 0.04}) {
    const Problem problem{.model = &model, .epsilon = epsilon};
    const plain::Ellipsoid judge(model, epsilon);
    const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 16));
    for (const Answer& answer : answers) {
      // Only x3 moves: everything that it can do, in small steps.
      const Vector from = plain::numbers(model.schema(), answer.query);
      const auto [lower, upper] = plain::box_of(problem, answer.query_index, from);
      double largest = 0;
      for (int k = 0; k <= 20'000; ++k) {
        Vector z = lower;
        z(3) += (upper(3) - lower(3)) * k / 20'000;
        largest = std::max(largest, judge.radius(z));
      }
      EXPECT_EQ(answer.status == Status::infeasible, largest < problem.epsilon) << largest;
      if (answer.status != Status::infeasible) {
        ++answered;
        continue;
      }
      ++infeasible;
      const Infeasibility& why = *answer.infeasible;
      EXPECT_GE(why.max_epsilon.upper, largest * (1 - 1e-6));
      EXPECT_LE(why.max_epsilon.lower.value_or(0), largest * (1 + 1e-3) + 1e-7);
      EXPECT_LE(why.max_epsilon.upper, 1.01 * largest + 1e-6);
      plain::expect_refused_everywhere(problem, answer);
      EXPECT_LE(judge.level(why.model), problem.epsilon * (1 + 1e-9));
      EXPECT_LT(why.upper_bound, 0);
      EXPECT_LE(why.best_robust_logit, why.upper_bound + 1e-9);
      EXPECT_LE(why.max_epsilon.upper, epsilon);
      EXPECT_EQ(why.blocking.constraints.empty(), epsilon > limit)
          << "with everything free there is an answer below the limit";
      // At max_epsilon there is an answer, a little above there is none.
      if (why.max_epsilon.lower > 1e-6) {
        const std::vector<Query> self = {
            {.index = answer.query_index, .raw = model.encoder.raw(answer.query)}};
        Problem below = problem;
        below.epsilon = *why.max_epsilon.lower * (1 - 1e-5);
        EXPECT_TRUE(is_certified(solve(below, self)[0].status));
        Problem above = problem;
        above.epsilon = why.max_epsilon.upper * (1 + 1e-5);
        EXPECT_EQ(solve(above, self)[0].status, Status::infeasible);
      }
    }
    expect_audited(problem, answers);
  }
  EXPECT_GT(infeasible, 5);
  EXPECT_GT(answered, 5);
}

/// The largest robust logit that is found by moving the free columns, by climbing along them from
/// several starts: g is concave, so that no climb ends far below it.
double highest_found(const plain::Ellipsoid& judge, const Vector& from,
                     const std::vector<Index>& free) {
  Vector z = from;
  double best = judge.robust_logit(z);
  for (double step = 64; step > 1e-7; step /= 2) {
    for (bool climbs = true; climbs;) {
      climbs = false;
      for (int code = 0; code < std::pow(3, free.size()); ++code) {
        Vector to = z;
        int rest = code;
        for (const Index j : free) {
          to(j) += step * (rest % 3 - 1);
          rest /= 3;
        }
        const double value = judge.robust_logit(to);
        if (value <= best || to.norm() > 1e4) continue;
        z = to;
        best = value;
        climbs = true;
      }
    }
  }
  return best;
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
  const plain::Ellipsoid judge(model, problem.epsilon);
  int checked = 0;
  for (const Answer& answer : solve(problem, random_queries(model, 20, 18))) {
    if (answer.status != Status::infeasible) continue;
    ASSERT_FALSE(answer.infeasible->blocking.constraints.empty());
    std::set<std::string> blocking;
    for (const std::string& text : answer.infeasible->blocking.constraints)
      blocking.insert(text.substr(0, 2));
    const std::vector<Query> self = {{.index = 0, .raw = model.encoder.raw(answer.query)}};
    const auto status_with = [&](const std::set<std::string>& immutable) {
      const Model other = model_with(immutable);
      Problem changed = problem;
      changed.model = &other;
      return solve(changed, self)[0].status;
    };
    const auto has_answer_with = [&](const std::set<std::string>& immutable) {
      std::vector<Index> free;
      for (Index j = 0; j < 3; ++j) {
        if (!immutable.contains("x" + std::to_string(j))) free.push_back(j);
      }
      return highest_found(judge, plain::code(model, answer.query), free) > 0;
    };
    EXPECT_EQ(status_with(blocking), Status::infeasible) << "they do not block by themselves";
    EXPECT_FALSE(has_answer_with(blocking));
    for (const std::string& name : blocking) {
      std::set<std::string> fewer = blocking;
      fewer.erase(name);
      EXPECT_TRUE(is_certified(status_with(fewer))) << name << " is not needed";
      EXPECT_TRUE(has_answer_with(fewer)) << name << " is not needed";
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
  const plain::Ellipsoid judge(model, problem.epsilon);
  const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 14));
  for (const Answer& answer : answers) {
    bool possible = false;  // by trying all rows
    const Vector raw = model.encoder.raw(answer.query);
    for (const double a : {-1.0, 0.0, 1.0, raw(0)}) {
      for (const double b : {-1.0, 0.0, 1.0, raw(1)}) {
        possible =
            possible || judge.robust_logit(plain::code(model, Vector{{a, b}})) >= problem.threshold;
      }
    }
    seen.insert(answer.status);
    EXPECT_TRUE(possible || !is_certified(answer.status));
    if (answer.status == Status::infeasible) {
      EXPECT_FALSE(possible);
      EXPECT_FALSE(answer.infeasible->blocking.constraints.empty());
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
  const plain::Ellipsoid judge(model, problem.epsilon);
  const std::vector<Answer> answers = solve(problem, random_queries(model, 40, 23));
  std::set<Status> seen;
  for (const Answer& answer : answers) {
    const bool is_robust = judge.robust_logit(plain::code(model, answer.query)) >= 0;
    EXPECT_EQ(answer.status, is_robust ? Status::already_robust : Status::infeasible)
        << enum_name(answer.status) << answer.message;
    seen.insert(answer.status);
  }
  EXPECT_EQ(seen.size(), 2U);
  expect_audited(problem, answers);
}

}  // namespace
}  // namespace ellice
