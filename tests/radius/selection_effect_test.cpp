#include "radius/selection_effect.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "radius/survival_check.hpp"
#include "radius/survival_notes.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/selection_shift.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

/// A model of few rows for its parameters, and a problem that asks about fresh ones.
struct FewRows {
  Dataset data;
  Model model;
  explicit FewRows(Index rows, Index columns = 6, const TrainingOptions& options = {.folds = 0})
      : data(problem_zoo::numeric_dataset(problem_zoo::random_rows(rows, columns, 5))),
        model(train(data, {}, options).model) {}
  [[nodiscard]] Problem problem(std::optional<Index> fresh) const {
    Problem problem{.model = &model, .retraining = {.fresh_rows = fresh}};
    problem.constraints.range = RangePolicy::off;
    return problem;
  }
};

std::unique_ptr<Generator> make(const Problem& problem) {
  return automatic_generator(problem);
}

std::vector<Answer> with_survival(const Problem& problem, const std::vector<Query>& people) {
  std::vector<Answer> answers = make(problem)->generate(people, {});
  state_fresh_survival(problem, people, answers, make);
  return answers;
}

TEST(SelectionEffect, IsOneOfFreshRows) {
  const FewRows fitted(150);
  EXPECT_TRUE(has_selection_effect(fitted.problem(150)));
  EXPECT_FALSE(has_selection_effect(fitted.problem({})));
}

/// b·s from its definition: the derivative of x̃/‖x̃‖ in each parameter by differences of answers of
/// disturbed models, which leave the person's own logit alone.
double shift_by_differences(const Problem& problem, const Query& query, const Vector& answer) {
  const Model& model = *problem.model;
  const RetrainedHead retrained(model);
  const Matrix& v = retrained.covariance(Sampling::middle);
  const Vector start =
      with_one(model.encoder.encode(RowMatrix(query.raw.transpose())).row(0).transpose());
  const auto unit = [&](Vector move) {
    move(move.size() - 1) -= move.dot(start);
    Model other = model;
    other.network.set_head(model.network.head() + move);
    Problem disturbed = problem;
    disturbed.model = &other;
    disturbed.retraining = {};
    const Answer found = make(disturbed)->generate({query}, {}).front();
    const Vector x = with_one(model.encoder.encode(*found.counterfactual));
    return Vector(x / std::sqrt(x.dot(v * x)));
  };
  constexpr double step = 1e-4;
  double trace = 0;
  for (Index k = 0; k < start.size(); ++k) {
    const Vector move = step * Vector::Unit(start.size(), k);
    trace += v.row(k).dot(unit(move) - unit(-move)) / (2 * step);
  }
  const Vector x = with_one(answer);
  const double regression =
      retrained.person_shift(model.network.head().dot(start))[Sampling::middle];
  return trace * std::sqrt(x.dot(v * x)) + regression;
}

/// Holds the closed form against differences for each declined person; says how many had one.
int expect_closed_form(const FewRows& fitted, Problem problem, double tolerance) {
  problem.epsilon = 0.01;
  const std::vector<Query> people = declined_rows(problem, fitted.data.raw, 8);
  const std::vector<Answer> answers = with_survival(problem, people);
  int compared = 0;
  for (std::size_t i = 0; i < people.size(); ++i) {
    if (answers[i].status != Status::optimal || !answers[i].selection_shift) continue;
    const double expected = shift_by_differences(
        problem, people[i], fitted.model.encoder.encode(*answers[i].counterfactual));
    EXPECT_NEAR(*answers[i].selection_shift, expected, tolerance * (0.01 + std::abs(expected)));
    ++compared;
  }
  problem_zoo::expect_audited(problem, answers);
  return compared;
}

TEST(SelectionEffect, ClosedFormIsTheDerivativeOfTheAnswers) {
  const FewRows fitted(200, 5);
  Problem problem = fitted.problem(200);
  EXPECT_GE(expect_closed_form(fitted, problem, 0.01), 6);
  problem.threshold = 0.4;
  EXPECT_GE(expect_closed_form(fitted, problem, 0.01), 6);
  problem.threshold = 0;
  problem.cost.kind = CostKind::l1_l2;
  EXPECT_GE(expect_closed_form(fitted, problem, 0.02), 6);
  // Ranges: some numbers end at their bounds, and stay there.
  problem.cost.kind = CostKind::l2;
  problem.constraints.range = RangePolicy::train;
  EXPECT_GE(expect_closed_form(fitted, problem, 0.02), 3);
  for (const TrainingOptions& options :
       {TrainingOptions{.loss = LossKind::squared, .folds = 0},
        TrainingOptions{.l2 = 0.05, .penalize_bias = false, .folds = 0}}) {
    const FewRows other(200, 5, options);
    EXPECT_GE(expect_closed_form(other, other.problem(200), 0.01), 6);
  }
}

TEST(SelectionEffect, DrawsAgreeWithTheClosedForm) {
  const FewRows fitted(300);
  Problem problem = fitted.problem(300);
  problem.epsilon = 0.01;
  const std::vector<Query> people = declined_rows(problem, fitted.data.raw, 10);
  const std::vector<Answer> answers = with_survival(problem, people);
  const RetrainedHead retrained(fitted.model);
  double closed = 0;
  double drawn = 0;
  double person = 0;
  for (std::size_t i = 0; i < people.size(); ++i) {
    closed += *answers[i].selection_shift;
    const Vector z = fitted.model.encoder.encode(*answers[i].counterfactual);
    const auto shifts = drawn_shifts(problem, retrained, people[i], z, 0, 64, make);
    ASSERT_TRUE(shifts);
    drawn += (*shifts)[Sampling::middle];
    person += retrained.person_shift(fitted.model.network.head().dot(
        with_one(fitted.model.encoder.encode(answers[i].query))))[Sampling::middle];
  }
  EXPECT_NEAR((drawn - person) / (closed - person), 1, 0.25);
}

TEST(SelectionEffect, NobodyIsToldWhyDisturbedModelsHaveNoAnswer) {
  const FewRows fitted(60, 3);
  Problem problem = fitted.problem(60);
  problem.epsilon = 5;  // beyond what any row attains
  const std::vector<Query> people = declined_rows(problem, fitted.data.raw, 3);
  ASSERT_FALSE(people.empty());
  for (const Answer& answer : make(problem)->generate(people, {}))
    ASSERT_EQ(answer.status, Status::infeasible);
  for (const Answer& answer : disturbed_generator(problem)->generate(people, {})) {
    EXPECT_EQ(answer.status, Status::not_found);
    EXPECT_FALSE(answer.infeasible);
  }
}

TEST(SelectionEffect, EpsilonOfTheRuleGivesItsPeopleTheSurvivalOnAverage) {
  const FewRows fitted(150);
  for (const std::optional<Index> fresh : {std::optional<Index>(150), std::optional<Index>()}) {
    Problem problem = fitted.problem(fresh);
    const StoredRows rows{.encoded = fitted.model.encoder.encode(fitted.data.raw),
                          .labels = fitted.data.labels};
    problem.fitted = &rows;
    const std::vector<Query> people = declined_rows(problem, fitted.data.raw, 25);
    const EpsilonRule rule = parse_epsilon_rule("survival:90%");
    problem.epsilon = resolve_epsilon(rule, problem, people, {.retraining = problem.retraining});
    const std::vector<Answer> answers = with_survival(problem, people);
    EXPECT_NEAR(mean_survival(answers).mean, 0.9, 3e-3);
    EXPECT_EQ(mean_survival(answers).interval.has_value(), fresh.has_value());
  }
}

TEST(SelectionEffect, SurvivalIsAsPredictedOnRowsThatNobodyHasSeen) {
  // Fresh rows of the same population, drawn here: models of 300 rows, each judged by all others.
  constexpr Index models = 24;
  constexpr Index rows = 300;
  constexpr Index columns = 20;
  const problem_zoo::Labelled population = problem_zoo::random_rows(rows * models, columns, 12);
  std::vector<Dataset> samples;
  std::vector<Model> fitted;
  for (Index k = 0; k < models; ++k) {
    problem_zoo::Labelled part{.features = population.features.middleRows(k * rows, rows)};
    part.labels.assign(population.labels.begin() + k * rows,
                       population.labels.begin() + (k + 1) * rows);
    samples.push_back(problem_zoo::numeric_dataset(part));
    fitted.push_back(train(samples.back(), {}, {.folds = 0}).model);
  }
  Vector shares(models);
  double predicted = 0;
  double without = 0;  // the effect
  Interval interval;
  for (Index k = 0; k < models; ++k) {
    const auto own = static_cast<std::size_t>(k);
    Problem problem{.model = &fitted[own], .epsilon = 0.01, .retraining = {.fresh_rows = rows}};
    problem.constraints.range = RangePolicy::off;
    const std::vector<Query> people = declined_rows(problem, samples[own].raw, 12);
    const std::vector<Answer> answers = with_survival(problem, people);
    const MeanSurvival mean = mean_survival(answers);
    predicted += mean.mean / models;
    interval.low += mean.interval->low / models;
    interval.high += mean.interval->high / models;
    const RetrainedHead retrained(fitted[own]);
    double survived = 0;
    for (const Answer& answer : answers) {
      const Vector x = with_one(fitted[own].encoder.encode(*answer.counterfactual));
      without += retrained.fresh(x, answer.logit, {}, rows)->mean / 12 / models;
      for (std::size_t j = 0; j < fitted.size(); ++j) {
        if (j == own) continue;
        const Vector z = fitted[j].encoder.encode(*answer.counterfactual);
        survived += fitted[j].network.logits(z.transpose())(0) >= 0 ? 1 : 0;
      }
    }
    shares(k) = survived / 12 / (models - 1);
  }
  const double error =
      1.3 * std::sqrt((shares.array() - shares.mean()).square().sum() / models / (models - 1));
  EXPECT_NEAR(shares.mean(), predicted, 0.03 + 2 * error);
  EXPECT_GT(without, shares.mean());
  EXPECT_LE(interval.low - 2 * error, shares.mean());
  EXPECT_GE(interval.high + 2 * error, shares.mean());
}

TEST(SelectionEffect, PeopleAreAskedForAndNotEverySurvivalExists) {
  const FewRows fitted(150);
  const Problem problem = fitted.problem(150);
  EXPECT_THROW((void)resolve_epsilon(parse_epsilon_rule("survival:90%"), problem, {},
                                     {.retraining = problem.retraining}),
               Error);
  const FewRows tiny(40, 10);
  const Problem hopeless = tiny.problem(5);
  const std::vector<Query> people = declined_rows(hopeless, tiny.data.raw, 10);
  EXPECT_THROW((void)survival_epsilon_for(hopeless, people, 0.9999), Error);
}

TEST(SelectionEffect, FewRowsHaveASentenceOfTheirOwn) {
  EXPECT_TRUE(survival_notes(FewRows(600).problem(600)).empty());
  EXPECT_TRUE(survival_notes(FewRows(40).problem({})).empty());
  const std::vector<std::string> notes = survival_notes(FewRows(40).problem(40));
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.front().find("7 parameters for 40 rows"), std::string::npos);
}

}  // namespace
}  // namespace ellice
