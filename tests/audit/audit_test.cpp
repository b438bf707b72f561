#include "ellice/audit/audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "ellice/core/json.hpp"
#include "request/recourse_file.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::random_queries;
using problem_zoo::recourse_file;
using problem_zoo::solve;

constexpr std::array every_cost = {CostKind::l2, CostKind::l1, CostKind::l1_l2, CostKind::mixed};

/// What is found wrong with one answer after a change to it.
std::vector<std::string> failures(const Problem& problem, const Answer& answer,
                                  const std::function<void(Json&)>& change) {
  Json file = recourse_file(problem, {answer});
  change(file["results"][0]);
  return audit_recourse_file(file, *problem.model, "r.json")[0].failures;
}

bool speaks_of(const std::vector<std::string>& failures, std::string_view word) {
  return std::any_of(failures.begin(), failures.end(), [&](const std::string& failure) {
    return failure.find(word) != std::string::npos;
  });
}

TEST(Audit, FindsARoundedAnswerThatIsCalledOptimal) {
  const Model model = numeric_model(4, 31);
  for (const CostKind kind : every_cost) {
    Problem problem{.model = &model, .epsilon = 0.01, .cost = {.kind = kind}};
    problem.display_steps.assign(4, 0.125);
    const std::vector<Answer> answers = solve(problem, random_queries(model, 30, 32));
    int altered = 0;
    for (const Answer& answer : answers) {
      if (answer.status != Status::certified || *answer.gap < 1e-6) continue;
      ++altered;
      EXPECT_TRUE(speaks_of(failures(problem, answer,
                                     [](Json& json) {
                                       json["status"] = "optimal";
                                       json["gap"] = 0.0;
                                     }),
                            "gap"))
          << enum_name(kind);
    }
    EXPECT_GT(altered, 5);
    expect_audited(problem, answers);
  }
}

TEST(Audit, FindsAGapThatIsTooSmall) {
  const Model model = numeric_model(4, 33);
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    Problem problem{.model = &model, .epsilon = 0.01, .cost = {.kind = kind}};
    problem.display_steps = {std::nullopt, 0.5, std::nullopt, 0.5};
    const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 34));
    int altered = 0;
    for (const Answer& answer : answers) {
      if (answer.status != Status::certified || *answer.gap < 1e-3) continue;
      ++altered;
      EXPECT_TRUE(
          speaks_of(failures(problem, answer,
                             [](Json& json) { json["gap"] = 0.99 * json["gap"].get<double>(); }),
                    "gap"))
          << enum_name(kind);
    }
    EXPECT_GT(altered, 5);
    expect_audited(problem, answers);
  }
}

TEST(Audit, FindsADiscreteAnswerThatAStepBackBeats) {
  const Model model = numeric_model(4, 33, [](Schema& schema) {
    for (Feature& feature : schema.features) feature.step = 0.25;
  });
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(model, 30, 34);
  const std::vector<Answer> answers = solve(problem, queries);
  expect_audited(problem, answers);
  const Assembler assembler(problem);
  int altered = 0;
  for (const Answer& answer : answers) {
    if (answer.status != Status::optimal) continue;
    const FeasibleSet feasible(model.encoder, problem.constraints, answer.query_index,
                               model.encoder.raw(answer.query));
    Vector farther = model.encoder.raw(*answer.counterfactual);
    const std::size_t j = *model.schema().find(answer.changes.front().feature);
    const auto i = static_cast<Index>(j);
    const auto next =
        feasible.ranges()[j].beyond(farther(i), farther(i) > feasible.query_raw()(i) ? 1 : -1);
    if (!next) continue;
    farther(i) = *next;
    Answer worse = answer;
    if (!assembler.accept(worse, farther, feasible)) continue;
    worse.status = Status::optimal;
    ++altered;
    EXPECT_TRUE(speaks_of(failures(problem, worse, [](Json&) {}), "gap"));
  }
  EXPECT_GT(altered, 5);
}

TEST(Audit, FindsAnOptimalAnswerWithoutItsGap) {
  const Model model = numeric_model(3, 35);
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Answer> answers = solve(problem, random_queries(model, 10, 36));
  const auto optimal = std::find_if(answers.begin(), answers.end(), [](const Answer& answer) {
    return answer.status == Status::optimal;
  });
  ASSERT_NE(optimal, answers.end());
  EXPECT_TRUE(speaks_of(failures(problem, *optimal, [](Json& json) { json.erase("gap"); }), "gap"));
}

TEST(Audit, FindsALargestEpsilonThatIsTooSmallOrTooLarge) {
  const Model model = numeric_model(5, 37, [](Schema& schema) {
    schema.features[0].immutable = true;
    schema.features[1].direction = Direction::increase;
  });
  for (const RangePolicy range : {RangePolicy::train, RangePolicy::off}) {
    Problem problem{.model = &model, .epsilon = 0.3};
    problem.constraints.range = range;
    const std::vector<Answer> answers = solve(problem, random_queries(model, 20, 38));
    int altered = 0;
    for (const Answer& answer : answers) {
      if (!answer.infeasible || !(answer.infeasible->max_epsilon.lower > 0.0)) continue;
      ++altered;
      // Without bounds the supremum lies at infinity, and only large errors are sure to be found.
      const std::vector<double> factors =
          range == RangePolicy::train ? std::vector{0.5, 0.99999, 1.00001, 1.5} : std::vector{0.5};
      for (const double factor : factors) {
        EXPECT_TRUE(speaks_of(failures(problem, answer,
                                       [&](Json& json) {
                                         Json& why = json["infeasible"];
                                         why["max_epsilon"] = why["max_epsilon_bounds"]["lower"] =
                                             factor * *answer.infeasible->max_epsilon.lower;
                                       }),
                              "max_epsilon"))
            << factor << " " << enum_name(range);
      }
      EXPECT_TRUE(speaks_of(
          failures(problem, answer, [](Json& json) { json["infeasible"]["max_epsilon"] = 0; }),
          "max_epsilon"));
    }
    EXPECT_GT(altered, 5);
    expect_audited(problem, answers);
  }
}

}  // namespace
}  // namespace ellice
