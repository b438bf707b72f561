#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "search/exact_search.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::changed;
using problem_zoo::expect_audited;
using problem_zoo::lending_model;
using problem_zoo::queries_of;
using problem_zoo::solve;

/// Every answer is the cheapest of all rows; for problems in which every feature that may change is
/// discrete and finite.
void expect_cheapest(const Problem& problem, const std::vector<Query>& queries, int more_than,
                     const ExactOptions& options = {}) {
  const plain::Ellipsoid judge(*problem.model, problem.epsilon);
  const auto accepts = [&](const Vector& z) { return judge.robust_logit(z) >= problem.threshold; };
  int answered = 0;
  for (const Answer& answer : ExactSearch(problem, options).generate(queries, {})) {
    const Vector from = plain::numbers(problem.model->schema(), answer.query);
    EXPECT_EQ(answer.status == Status::already_robust, accepts(plain::code(*problem.model, from)));
    if (answer.status == Status::already_robust) continue;
    std::optional<int> most = options.max_changes;
    if (options.sparse && answer.counterfactual) {
      most = plain::changes(from, plain::numbers(problem.model->schema(), *answer.counterfactual));
      EXPECT_TRUE(
          std::isinf(plain::cheapest(problem, answer.query_index, from, accepts, *most - 1)))
          << answer.query_index << ": fewer would do";
    }
    const double best = plain::cheapest(problem, answer.query_index, from, accepts, most);
    if (!answer.counterfactual) {
      EXPECT_TRUE(std::isinf(best)) << answer.query_index << " " << best << answer.message;
      continue;
    }
    ++answered;
    plain::expect_allowed(problem, answer);
    EXPECT_TRUE(accepts(plain::code(*problem.model, *answer.counterfactual)));
    EXPECT_EQ(answer.status, Status::optimal) << answer.query_index;
    EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best) << answer.query_index;
  }
  EXPECT_GT(answered, more_than);
}

/// Numbers keep their values and whole numbers stay near, so that all rows can be tried.
Problem discrete_problem(const Model& model, CostKind kind) {
  Problem problem{.model = &model, .epsilon = 0.005, .cost = {.kind = kind}};
  for (const Feature& feature : model.schema().features) {
    if (feature.kind == FeatureKind::numeric)
      problem.constraints.features[feature.name].locked = true;
    if (feature.name == "duration_months")
      problem.constraints.features[feature.name] = {.min = 12, .max = 36};
  }
  return problem;
}

TEST(MixedExact, EqualsBruteForceOverLevelsAndWholeNumbers) {
  const Model& model = lending_model();
  const std::vector<Query> queries = queries_of(lending_dataset(40, 3), 40);
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2, CostKind::mixed}) {
    Problem problem = discrete_problem(model, kind);
    expect_cheapest(problem, queries, 3);
    expect_cheapest(problem, queries, 3, {.max_changes = 2});
    expect_cheapest(problem, queries, 3, {.sparse = true});
    if (kind == CostKind::mixed) continue;
    problem.cost.sparsity_weight = 0.7;
    expect_cheapest(problem, queries, 3);
  }
}

TEST(MixedExact, FindsRowsForPeopleWhoAreFarAway) {
  // Whole numbers and a category, and somebody whose number is far outside the training rows: the
  // rows of the training range answer them all, however far that is.
  const Model model =
      problem_zoo::numeric_model(2, 17, [](Schema& schema) { schema.features[0].step = 0.25; });
  const Problem problem{.model = &model, .epsilon = 0.002};
  int far = 0;
  for (const double sign : {-1.0, 1.0}) {
    for (double size = 1e2; size < 1e15; size *= 10) {
      Vector raw(2);
      raw << sign * size, sign * 0.1;
      const FeasibleSet feasible(model.encoder, problem.constraints, 0, raw);
      // A row of the grid that every model accepts, by the definition of the set.
      bool exists = false;
      Vector other = raw;
      Vector z(2);
      for (double value = -2; value <= 2; value += 0.25) {
        for (const double second : {-2.0, 0.0, 2.0}) {
          other << value, second;
          model.encoder.encode({other.data(), 2}, z);
          exists = exists || (feasible.violations(other).empty() &&
                              problem_zoo::plain_robust_logit(model, problem.epsilon, z) > 0.01);
        }
      }
      ASSERT_TRUE(exists);
      const std::vector<Answer> answers =
          ExactSearch(problem).generate({{.index = 0, .raw = raw}}, {});
      ASSERT_EQ(answers.size(), 1U);
      EXPECT_TRUE(is_certified(answers.front().status))
          << raw(0) << ": " << enum_name(answers.front().status) << ", " << answers.front().message;
      far += size > 1e6 && answers.front().status != Status::already_robust ? 1 : 0;
    }
  }
  EXPECT_GT(far, 5);
}

TEST(MixedExact, EveryAnswerIsAllowedCertifiedAndProved) {
  const Model& model = lending_model();
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Answer> answers = solve(problem, queries_of(lending_dataset(150, 3), 150));
  int levels = 0;
  const plain::Ellipsoid judge(model, problem.epsilon);
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.held.empty());
    if (answer.counterfactual) {
      plain::expect_allowed(problem, answer);
      EXPECT_GE(judge.robust_logit(plain::code(model, *answer.counterfactual)), 0);
    }
    if (answer.infeasible && answer.infeasible->model.size() > 0 &&
        answer.infeasible->rules.empty()) {
      plain::expect_refused_everywhere(problem, answer);
      EXPECT_LE(judge.level(answer.infeasible->model), problem.epsilon * (1 + 1e-9));
    }
    EXPECT_TRUE(answer.counterfactual || !answer.message.empty() || answer.infeasible);
    for (const Change& change : answer.changes) {
      const FeatureKind kind = model.schema().features[*model.schema().find(change.feature)].kind;
      levels += kind != FeatureKind::numeric ? 1 : 0;
    }
  }
  EXPECT_GT(levels, 20);
  expect_audited(problem, answers);
}

/// All values of one feature, amounts included: whether one change does, and what it costs.
void expect_no_single_change_is_better(const Problem& problem, const plain::Ellipsoid& judge,
                                       const Answer& answer) {
  const Model& model = *problem.model;
  const Vector from = plain::numbers(model.schema(), answer.query);
  double best = plain::infinity;
  for (std::size_t j = 0; j < model.schema().features.size(); ++j) {
    Vector to = from;
    for (const double value : plain::values_of(problem, answer.query_index, from, j, 1'000'000)) {
      to(static_cast<Index>(j)) = value;
      const double cost = plain::cost(problem.cost, model, from, to);
      if (cost >= best || !plain::fault(problem, answer.query_index, from, to).empty()) continue;
      if (judge.robust_logit(plain::code(model, to)) >= problem.threshold) best = cost;
    }
  }
  EXPECT_EQ(answer.distance.changed == 1, std::isfinite(best)) << answer.query_index;
  if (answer.distance.changed == 1) {
    EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best) << answer.query_index;
  }
}

TEST(MixedExact, FewestChangesAreFewestAndNearestAmongThem) {
  const Model& model = lending_model();
  const Problem problem{.model = &model, .epsilon = 0.005};
  const std::vector<Query> queries = queries_of(lending_dataset(40, 5), 40);
  const std::vector<Answer> sparse = ExactSearch(problem, {.sparse = true}).generate(queries, {});
  const std::vector<Answer> nearest = solve(problem, queries);
  const plain::Ellipsoid judge(model, problem.epsilon);
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!is_certified(sparse[i].status) || sparse[i].status == Status::already_robust) continue;
    ++compared;
    expect_no_single_change_is_better(problem, judge, sparse[i]);
    const int fewest = sparse[i].distance.changed;
    EXPECT_LE(fewest, nearest[i].distance.changed);
    EXPECT_GE(sparse[i].distance.weighted, nearest[i].distance.weighted * (1 - 1e-9));
    const Answer same = ExactSearch(problem, {.max_changes = fewest}).generate({queries[i]}, {})[0];
    EXPECT_NEAR(same.distance.weighted, sparse[i].distance.weighted, 1e-8 * same.distance.weighted);
    if (fewest == 1) continue;
    const Answer fewer =
        ExactSearch(problem, {.max_changes = fewest - 1}).generate({queries[i]}, {})[0];
    EXPECT_FALSE(fewer.counterfactual);
  }
  EXPECT_GT(compared, 10);
}

TEST(MixedExact, PlansDifferAndMorePlansBeginWithTheSame) {
  const Model& model = lending_model();
  const Problem problem{.model = &model, .epsilon = 0.005};
  const std::vector<Query> queries = queries_of(lending_dataset(30, 6), 30);
  const std::vector<Answer> one = solve(problem, queries);
  const std::vector<Answer> three = ExactSearch(problem, {.plans = 3}).generate(queries, {});
  std::vector<std::vector<const Answer*>> by_query(queries.size());
  for (const Answer& answer : three) {
    EXPECT_EQ(answer.plan, static_cast<int>(by_query[answer.query_index].size()));
    by_query[answer.query_index].push_back(&answer);
  }
  int several = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(to_json(one[i], model.schema()), to_json(*by_query[i][0], model.schema()));
    for (std::size_t k = 1; k < by_query[i].size(); ++k) {
      const Answer& later = *by_query[i][k];
      if (!later.counterfactual) {
        EXPECT_FALSE(later.message.empty());
        continue;
      }
      ++several;
      EXPECT_GE(later.distance.weighted, by_query[i][k - 1]->distance.weighted * (1 - 1e-8));
      for (std::size_t earlier = 0; earlier < k; ++earlier) {
        const std::set<std::string> before = changed(*by_query[i][earlier]);
        const std::set<std::string> now = changed(later);
        EXPECT_FALSE(std::includes(now.begin(), now.end(), before.begin(), before.end()));
      }
    }
  }
  EXPECT_GT(several, 20);
  expect_audited(problem, three);
}

TEST(MixedExact, ALimitLeavesACertifiedAnswerWithItsGap) {
  const Model& model = lending_model();
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Query> queries = queries_of(lending_dataset(80, 3), 80);
  const std::vector<Answer> whole = solve(problem, queries);
  const std::vector<Answer> part = ExactSearch(problem, {.node_limit = 1}).generate(queries, {});
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!part[i].counterfactual || !whole[i].counterfactual) continue;
    compared += part[i].status == Status::already_robust ? 0 : 1;
    EXPECT_GE(part[i].distance.weighted, whole[i].distance.weighted * (1 - 1e-9));
    EXPECT_LE(part[i].distance.weighted * (1 - part[i].gap.value_or(1)),
              whole[i].distance.weighted * (1 + 1e-9));
  }
  EXPECT_GT(compared, 10);
  // The same against all rows, where they can be tried.
  const Problem discrete = discrete_problem(model, CostKind::l2);
  const plain::Ellipsoid judge(model, discrete.epsilon);
  int tried = 0;
  for (const Answer& answer : ExactSearch(discrete, {.node_limit = 1}).generate(queries, {})) {
    if (!answer.counterfactual || answer.status == Status::already_robust) continue;
    ++tried;
    const double best =
        plain::cheapest(discrete, answer.query_index, plain::numbers(model.schema(), answer.query),
                        [&](const Vector& z) { return judge.robust_logit(z) >= 0; });
    EXPECT_GE(answer.distance.weighted, best * (1 - 1e-9));
    EXPECT_LE(answer.distance.weighted * (1 - answer.gap.value_or(1)), best * (1 + 1e-9));
    EXPECT_TRUE(answer.status != Status::optimal || answer.distance.weighted <= best * (1 + 1e-9));
  }
  EXPECT_GT(tried, 3);
}

TEST(MixedExact, RoundsForDisplayWithoutTouchingTheSchemasGrids) {
  const Model& model = lending_model();
  Problem problem{.model = &model, .epsilon = 0.01};
  problem.display_steps = sensible_steps(model.encoder);
  int answered = 0;
  for (const Query& query : queries_of(lending_dataset(60, 7), 60)) {
    const Answer answer = solve(problem, {query}).front();
    if (!answer.counterfactual || answer.status == Status::already_robust) continue;
    ++answered;
    plain::expect_allowed(problem, answer);  // every number of this schema has a grid of its own
  }
  EXPECT_GT(answered, 10);
}

TEST(MixedExact, WholeNumbersOfDiabetesEqualTheFullGrid) {
  ELLICE_NEEDS_DATASET("diabetes");
  const Dataset data = load_recipe("diabetes");
  const Model model = train(data, {.balance = true}, {.folds = 0}).model;
  Problem problem{.model = &model, .epsilon = 0.01};
  std::size_t free = 0;
  for (const Feature& feature : model.schema().features) {
    const bool whole = feature.kind == FeatureKind::integer;
    if (!whole || ++free > 3) problem.constraints.features[feature.name].locked = true;
  }
  expect_cheapest(problem, queries_of(data, 4), 1);
}

}  // namespace
}  // namespace ellice
