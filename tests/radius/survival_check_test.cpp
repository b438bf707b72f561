#include "radius/survival_check.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "core/normal.hpp"
#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "radius/epsilon_table.hpp"
#include "sets/ellipsoid.hpp"
#include "support/datasets.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_dataset;
using problem_zoo::random_rows;

struct FittedData {
  Dataset data;
  Model model;
  StoredRows rows;

  explicit FittedData(Dataset from) : data(std::move(from)) {
    model = train(data, {}, {.folds = 0}).model;
    rows = {.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  }
  [[nodiscard]] Problem problem() const {
    Problem problem{.model = &model};
    problem.constraints.range = RangePolicy::off;
    return problem;
  }
  [[nodiscard]] FittedRows fitted() const { return {.raw = &data.raw, .rows = &rows}; }
};

/// A model that holds: the labels are drawn from it.
const FittedData& simulated() {
  static const FittedData instance(numeric_dataset(random_rows(2000, 4, 7)));
  return instance;
}

TEST(SurvivalCheck, MeasuresWhatIsPredictedWhereTheModelHolds) {
  const SurvivalCheck check =
      check_survival(simulated().problem(), simulated().fitted(), {0.9, 0.95, 0.99},
                     {.refits = 300, .splits = 100, .people = 25}, Random(3), {.threads = 2});
  ASSERT_EQ(check.same.size(), 3U);
  ASSERT_EQ(check.fresh.size(), 3U);
  for (const auto* levels : {&check.same, &check.fresh}) {
    for (const SurvivalLevel& level : *levels) {
      const double predicted = level.corrected.value_or(level.predicted);
      EXPECT_NEAR(predicted, level.wanted, 3e-3);  // for which ε was chosen
      EXPECT_NEAR(level.measured, predicted, 0.02 + 3 * level.standard_error);
      EXPECT_EQ(level.interval.has_value(), levels == &check.fresh);
    }
  }
  EXPECT_EQ(check.same.front().trials, 300U * 25U);
}

TEST(SurvivalCheck, IsTheSameForAnyNumberOfThreads) {
  const SurvivalCheckOptions few{.refits = 4, .splits = 2, .people = 5};
  const auto measured = [&](int threads) {
    const SurvivalCheck check = check_survival(simulated().problem(), simulated().fitted(), {0.9},
                                               few, Random(3), {.threads = threads});
    return std::pair(check.same.front().measured, check.fresh.front().measured);
  };
  EXPECT_EQ(measured(1), measured(3));
}

TEST(SurvivalCheck, AgreesOnDiabetes) {
  ELLICE_NEEDS_DATASET("diabetes");
  Dataset data = load_recipe("diabetes");
  for (Feature& feature : data.schema.features) feature.kind = FeatureKind::numeric;
  const FittedData diabetes(data);
  const SurvivalCheck check =
      check_survival(diabetes.problem(), diabetes.fitted(), {0.9, 0.95, 0.99},
                     {.refits = 60, .splits = 2, .people = 20}, Random(1), {.threads = 2});
  for (const SurvivalLevel& level : check.same)
    EXPECT_NEAR(level.measured, level.wanted, 0.03 + 2 * level.standard_error);
}

TEST(SurvivalCheck, RefusesWhatHasNoPrediction) {
  Problem problem = simulated().problem();
  problem.set.damping = 0.1;
  EXPECT_THROW((void)check_survival(problem, simulated().fitted(), {0.9}, {}, Random(1)), Error);
  const StoredRows narrow{.encoded = simulated().rows.encoded.leftCols(2),
                          .labels = simulated().rows.labels};
  EXPECT_THROW(
      (void)check_survival(simulated().problem(), {.raw = &simulated().data.raw, .rows = &narrow},
                           {0.9}, {}, Random(1)),
      Error);
}

TEST(Endurance, OfANearestAnswerIsTheEpsilonAskedFor) {
  Problem problem = simulated().problem();
  problem.epsilon = survival_epsilon(simulated().model, 0.95, {});
  for (const Answer& answer : automatic_generator(problem)->generate(
           declined_rows(problem, simulated().data.raw, 10), {})) {
    ASSERT_TRUE(answer.robustness_radius && answer.predicted_survival);
    EXPECT_NEAR(*answer.robustness_radius / problem.epsilon, 1, 1e-6);
    // V from its definition, by dense inverses.
    const Model& model = simulated().model;
    const Matrix inverse = model.curvature.hessian.inverse();
    Matrix data = Matrix::Zero(5, 5);
    const Vector penalty = model.training.l2 * model.network.head();
    for (Index i = 0; i < 2000; ++i) {
      const Vector row = with_one(simulated().rows.encoded.row(i).transpose());
      const double slope = sigmoid(model.network.head().dot(row)) -
                           simulated().rows.labels[static_cast<std::size_t>(i)];
      data += (slope * slope * row * row.transpose() - penalty * penalty.transpose()) / 2000;
    }
    const Vector x = with_one(model.encoder.encode(*answer.counterfactual));
    const double variance = x.dot(inverse * data * inverse * x) / 2000;
    EXPECT_NEAR(*answer.predicted_survival, normal_cdf(answer.logit / std::sqrt(variance)), 1e-9);
    EXPECT_NEAR(*answer.predicted_survival, 0.95, 0.02);
  }
}

TEST(EpsilonTable, TellsWhatEachLevelMeans) {
  const Problem problem = simulated().problem();
  const Model& model = simulated().model;
  const std::vector<double> epsilons = {0, 0.001, 0.01};
  const EpsilonTable table = epsilon_table(problem, simulated().fitted(), epsilons, 15);
  ASSERT_EQ(table.levels.size(), 3U);
  EXPECT_EQ(table.people, 15U);
  EXPECT_GT(*table.epsilon_max, 0.01);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpsilonLevel& level = table.levels[i];
    EXPECT_DOUBLE_EQ(level.objective, model.training.objective + epsilons[i]);
    EXPECT_NEAR(*level.survival, normal_cdf(std::sqrt(2 * 2000 * epsilons[i])), 0.02);
    EXPECT_EQ(*level.share_with_recourse, 1);  // below epsilon_max, and nothing is bounded
    EXPECT_LE(level.accuracy->worst, level.accuracy->mean + 1e-12);
    if (i == 0) continue;
    EXPECT_GT(*level.median_distance, *table.levels[i - 1].median_distance);
  }
  const EpsilonTable bare = epsilon_table(problem, {}, epsilons, 15);
  EXPECT_FALSE(bare.levels.front().accuracy || bare.levels.front().share_with_recourse);
  EXPECT_NEAR(*bare.levels[1].survival, normal_cdf(std::sqrt(2 * 2000 * epsilons[1])), 1e-12);
}

}  // namespace
}  // namespace ellice
