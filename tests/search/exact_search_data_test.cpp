#include <gtest/gtest.h>

#include <string>

#include "search/exact_search.hpp"
#include "support/continuous_dataset.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::queries_of;
using problem_zoo::solve;

Model continuous_model(const std::string& name, Dataset& data, bool swapped = false) {
  data = continuous_dataset(name, swapped);
  return train(data, {.balance = true}, {.folds = 0}).model;
}

class ExactSearchOnPaperData : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Nine, ExactSearchOnPaperData, testing::ValuesIn(paper_datasets()),
                         [](const auto& instance) { return instance.param; });

TEST_P(ExactSearchOnPaperData, IsOptimalOrProvedInfeasible) {
  ELLICE_NEEDS_DATASET(GetParam());
  for (const bool swapped : {false, true}) {
    Dataset data;
    const Model model = continuous_model(GetParam(), data, swapped);
    for (const double epsilon : {0.0, 0.002, 0.01, 0.1 * model.training.objective}) {
      const Problem problem{.model = &model, .epsilon = epsilon};
      const std::vector<Answer> answers = solve(problem, queries_of(data, 60));
      const plain::Ellipsoid judge(model, epsilon);
      ASSERT_EQ(answers.size(), 60U);
      for (const Answer& answer : answers) {
        EXPECT_TRUE(answer.status == Status::optimal || answer.status == Status::already_robust ||
                    answer.status == Status::infeasible)
            << epsilon << " " << enum_name(answer.status) << " " << answer.message << " gap "
            << answer.gap.value_or(-1);
        if (answer.status == Status::infeasible) {
          ASSERT_NO_FATAL_FAILURE(plain::expect_refused_everywhere(problem, answer));
          EXPECT_LE(judge.level(answer.infeasible->model), epsilon * (1 + 1e-9) + 1e-15);
          continue;
        }
        ASSERT_TRUE(answer.counterfactual);
        plain::expect_allowed(problem, answer);
        const Vector z = plain::code(model, *answer.counterfactual);
        EXPECT_GE(judge.robust_logit(z), -1e-12 * (1 + z.norm()));
        if (answer.status == Status::optimal)
          plain::expect_nearest(problem, answer, judge.worst(z), 1e-6);
      }
      expect_audited(problem, answers);
    }
  }
}

TEST(ExactSearch, FindsNoRobustRecourseForCompasAndParkinsonsAtTenPercent) {
  for (const char* name : {"compas", "parkinsons"}) {
    ELLICE_NEEDS_DATASET(name);
    Dataset data;
    const Model model = continuous_model(name, data);
    const Problem problem{.model = &model, .epsilon = 0.1 * model.training.objective};
    const std::vector<Answer> answers = solve(problem, queries_of(data, 100));
    ASSERT_EQ(answers.size(), 100U);
    for (const Answer& answer : answers) {
      ASSERT_EQ(answer.status, Status::infeasible) << name;
      ASSERT_NO_FATAL_FAILURE(plain::expect_refused_everywhere(problem, answer));
      EXPECT_LE(answer.infeasible->max_epsilon.upper, problem.epsilon);
      EXPECT_FALSE(answer.counterfactual);
    }
  }
}

}  // namespace
}  // namespace ellice
