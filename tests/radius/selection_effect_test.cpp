#include "radius/selection_effect.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "methods/automatic.hpp"
#include "radius/survival_check.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

/// A model of few rows for its parameters, and a problem that asks about fresh ones.
struct Fitted {
  Dataset data;
  Model model;
  explicit Fitted(Index rows, Index columns = 6)
      : data(problem_zoo::numeric_dataset(problem_zoo::random_rows(rows, columns, 5))),
        model(train(data, {}, {.folds = 0}).model) {}
  [[nodiscard]] Problem problem(std::optional<Index> fresh) const {
    Problem problem{.model = &model, .retraining = {.fresh_rows = fresh}};
    problem.constraints.range = RangePolicy::off;
    return problem;
  }
};

std::unique_ptr<Generator> make(const Problem& problem) {
  return automatic_generator(problem);
}

TEST(SelectionEffect, IsOneOfFreshRowsAndManyParameters) {
  const Fitted few(150);
  const Fitted many(1000);
  EXPECT_TRUE(has_selection_effect(few.problem(150)));
  EXPECT_FALSE(has_selection_effect(few.problem({})));
  EXPECT_FALSE(has_selection_effect(many.problem(1000)));
}

TEST(SelectionEffect, ShiftIsPositiveAndShrinksWithTheRows) {
  // An answer follows the errors of its model; with four times the rows there is a fourth of them.
  const auto mean_shift = [](Index rows) {
    const Fitted fitted(rows);
    Problem problem = fitted.problem({});
    problem.epsilon = 0.01;
    const std::vector<Query> queries = declined_rows(problem, fitted.data.raw, 20);
    return selection_shift(problem, queries, 24, Random(2), make).mean();
  };
  const double few = mean_shift(300);
  const double many = mean_shift(1200);
  EXPECT_GT(many, 0);
  EXPECT_NEAR(few / many, 4, 1.5);
}

TEST(SelectionEffect, EpsilonOfTheRuleGivesItsPeopleTheSurvivalOnAverage) {
  const Fitted fitted(150);
  Problem problem = fitted.problem(150);
  const std::vector<Query> people = declined_rows(problem, fitted.data.raw, 25);
  const EpsilonRule rule = parse_epsilon_rule("survival:90%");
  problem.epsilon = resolve_epsilon(rule, problem, people, {.retraining = problem.retraining});
  EXPECT_GT(problem.epsilon, survival_epsilon(fitted.model, 0.9, problem.retraining));
  std::vector<Answer> answers = make(problem)->generate(people, {});
  const std::vector<Answer> plain = answers;
  correct_for_selection(problem, people, answers, make);
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].predicted_survival && answers[i].selection_shift);
    if (*answers[i].selection_shift > 0) {
      EXPECT_LT(*answers[i].predicted_survival, *plain[i].predicted_survival);
    }
    sum += *answers[i].predicted_survival;
  }
  EXPECT_NEAR(sum / static_cast<double>(answers.size()), 0.9, 3e-3);
  problem_zoo::expect_audited(problem, answers);
}

TEST(SelectionEffect, SurvivalIsAsPredictedOnRowsThatNobodyHasSeen) {
  // Fresh rows of the same population, drawn here: models of 300 rows, each judged by another.
  constexpr int pairs = 30;
  constexpr Index rows = 300;
  constexpr Index columns = 20;
  double measured = 0;
  double predicted = 0;
  double ignored = 0;  // what is predicted without the effect
  double count = 0;
  Vector shares(pairs);  // of the people, who share their two models
  const problem_zoo::Labelled population = problem_zoo::random_rows(2 * rows * pairs, columns, 12);
  // People who are declined whatever the rows: declining, too, selects by the errors of a model.
  const Model all = train(problem_zoo::numeric_dataset(population), {}, {.folds = 0}).model;
  const Vector logits = all.network.logits(all.encoder.encode(population.features));
  std::vector<Query> people;
  for (Index i = 0; i < logits.size() && people.size() < 8; ++i) {
    if (logits(i) < -1.2 && logits(i) > -2)
      people.push_back({.index = people.size(), .raw = population.features.row(i)});
  }
  for (Index k = 0; k < pairs; ++k) {
    std::vector<Model> models;
    for (const Index first : {2 * rows * k, 2 * rows * k + rows}) {
      problem_zoo::Labelled part{.features = population.features.middleRows(first, rows)};
      part.labels.assign(population.labels.begin() + first,
                         population.labels.begin() + first + rows);
      models.push_back(train(problem_zoo::numeric_dataset(part), {}, {.folds = 0}).model);
    }
    Problem problem{.model = &models[0], .epsilon = 0.01, .retraining = {.fresh_rows = rows}};
    problem.constraints.range = RangePolicy::off;
    std::vector<Answer> answers = make(problem)->generate(people, {});
    for (const Answer& answer : answers) ignored += *answer.predicted_survival;
    correct_for_selection(problem, people, answers, make);
    double survived = 0;
    for (const Answer& answer : answers) {
      ++count;
      predicted += *answer.predicted_survival;
      const Vector z = models[1].encoder.encode(*answer.counterfactual);
      survived += models[1].network.logits(z.transpose())(0) >= 0 ? 1 : 0;
    }
    measured += survived;
    shares(k) = survived / static_cast<double>(answers.size());
  }
  const double error =
      std::sqrt((shares.array() - shares.mean()).square().sum() / pairs / (pairs - 1));
  EXPECT_NEAR(measured / count, predicted / count, 0.02 + 3 * error);
  EXPECT_GT(ignored / count, measured / count + 0.06);
}

TEST(SelectionEffect, PeopleAreAskedForAndNotEverySurvivalExists) {
  const Fitted fitted(150);
  const Problem problem = fitted.problem(150);
  EXPECT_THROW((void)resolve_epsilon(parse_epsilon_rule("survival:90%"), problem, {},
                                     {.retraining = problem.retraining}),
               Error);
  const Fitted tiny(40, 10);
  const Problem hopeless = tiny.problem(5);
  const std::vector<Query> people = declined_rows(hopeless, tiny.data.raw, 10);
  EXPECT_THROW((void)selected_survival_epsilon(hopeless, people, 0.9999), Error);
}

}  // namespace
}  // namespace ellice
