#include <gtest/gtest.h>

#include <string>

#include "ellice/recourse/linear_exact.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::queries_of;
using problem_zoo::solve;

/// A schema in which every column is a number of its own, as the paper treats its data.
/// `swapped` makes the other class the favourable one.
Model continuous_model(const std::string& name, Dataset& data, bool swapped = false) {
  Dataset original = load_recipe(name);
  const Encoder encoder = Encoder::fit(original);
  data = original;
  data.raw = RowMatrix(original.rows(), encoder.columns());
  data.schema.features.clear();
  data.schema.constraints.clear();
  for (std::size_t j = 0; j < original.schema.features.size(); ++j) {
    const Feature& feature = original.schema.features[j];
    for (Index c = 0; c < encoder.column_count(j); ++c) {
      const Index column = encoder.first_column(j) + c;
      data.schema.features.push_back(
          {.name = encoder.column_names()[static_cast<std::size_t>(column)]});
      for (Index i = 0; i < original.rows(); ++i) {
        const double raw = original.raw(i, static_cast<Index>(j));
        data.raw(i, column) = feature.kind == FeatureKind::categorical
                                  ? (raw == static_cast<double>(c) ? 1 : 0)
                                  : raw;
      }
    }
  }
  if (swapped) {
    for (int& label : data.labels) label = 1 - label;
    std::swap(data.classes[0], data.classes[1]);
    data.schema.target.favourable = data.classes[1];
  }
  return train(data, {.balance = true}, {.folds = 0}).model;
}

class LinearExactOnPaperData : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Nine, LinearExactOnPaperData, testing::ValuesIn(paper_datasets()),
                         [](const auto& instance) { return instance.param; });

TEST_P(LinearExactOnPaperData, IsOptimalOrProvedInfeasible) {
  ELLICE_NEEDS_DATASET(GetParam());
  for (const bool swapped : {false, true}) {
    Dataset data;
    const Model model = continuous_model(GetParam(), data, swapped);
    for (const double epsilon : {0.0, 0.002, 0.01, 0.1 * model.training.objective}) {
      const Problem problem{.model = &model, .epsilon = epsilon};
      const std::vector<Recourse> answers = solve(problem, queries_of(data, 60));
      for (const Recourse& answer : answers) {
        EXPECT_TRUE(answer.status == Status::optimal || answer.status == Status::already_robust ||
                    answer.status == Status::infeasible)
            << epsilon << " " << enum_name(answer.status) << " " << answer.message << " gap "
            << answer.gap.value_or(-1);
      }
      expect_audited(problem, answers);
    }
  }
}

TEST(LinearExact, FindsNoRobustRecourseForCompasAndParkinsonsAtTenPercent) {
  for (const char* name : {"compas", "parkinsons"}) {
    ELLICE_NEEDS_DATASET(name);
    Dataset data;
    const Model model = continuous_model(name, data);
    const Problem problem{.model = &model, .epsilon = 0.1 * model.training.objective};
    for (const Recourse& answer : solve(problem, queries_of(data, 100))) {
      EXPECT_EQ(answer.status, Status::infeasible) << name;
      EXPECT_LT(answer.infeasible->max_epsilon, problem.epsilon);
      EXPECT_FALSE(answer.counterfactual);
    }
  }
}

}  // namespace
}  // namespace ellice
