#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ellice/core/error.hpp"
#include "search/exact_search.hpp"
#include "search/linear_question.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "solver/corrected_search.hpp"
#include "solver/half_space.hpp"
#include "support/exact_answers.hpp"
#include "support/mixed_model.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A linear model over features of every kind that holds its rows.
struct Case {
  Model model = {};
  std::vector<Query> queries = {};
};

Case mixed_linear(std::uint64_t seed, bool restricted, bool numbers_fixed = false) {
  Dataset data = problem_zoo::mixed_dataset(seed, restricted);
  // Labels that depend on the row: of pure noise no model has recourse.
  Random random(seed);
  for (Index i = 0; i < data.rows(); ++i) {
    const double score =
        data.raw(i, 0) + data.raw(i, 2) - 1.5 + data.raw(i, 4) - data.raw(i, 5) / 2;
    data.labels[static_cast<std::size_t>(i)] = score + random.normal() > 0 ? 1 : 0;
  }
  if (numbers_fixed) {
    data.schema.features[0].immutable = true;
    data.schema.features[1].immutable = true;
  }
  return {.model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model,
          .queries = problem_zoo::queries_of(data, 25)};
}

Problem true_problem(const Model& model, double epsilon) {
  return {.model = &model, .set = {.kind = SetKind::true_set}, .epsilon = epsilon};
}

OracleProblem boxed(const Vector& query, const Box& box, const SeparableCost& cost,
                    double threshold) {
  return {.query = query,
          .lower = box.lower,
          .upper = box.upper,
          .cost = cost,
          .threshold = threshold,
          .margin = 2e-12};
}

/// Visits all rows that differ from the query in discrete features only, changes counted.
void visit_rows(const Schema& schema, const FeasibleSet& feasible,
                const std::function<void(const Vector&, int)>& visit) {
  Vector raw = feasible.query_raw();
  const std::function<void(std::size_t, int)> descend = [&](std::size_t j, int changes) {
    if (j == schema.features.size()) {
      visit(raw, changes);
      return;
    }
    const FeatureRange& range = feasible.ranges()[j];
    descend(j + 1, changes);
    if (schema.features[j].kind == FeatureKind::numeric || range.fixed) return;
    const auto at = static_cast<Index>(j);
    for (const int side : {-1, 1}) {
      for (auto next = range.beyond(range.query, side); next; next = range.beyond(*next, side)) {
        raw(at) = *next;
        descend(j + 1, changes + 1);
      }
    }
    raw(at) = range.query;
  };
  descend(0, 0);
}

/// Where only discrete features may change: the least cost of a certified row.
double cheapest_discrete(const Problem& problem, const FeasibleSet& feasible,
                         std::optional<int> most = {}) {
  const Encoder& encoder = problem.model->encoder;
  const TrueSet set = true_set(*problem.model, *problem.model->rows, problem.epsilon);
  double best = infinity;
  visit_rows(encoder.schema(), feasible, [&](const Vector& raw, int changes) {
    if ((most && changes > *most) || !feasible.violations(raw).empty()) return;
    Vector z(encoder.columns());
    encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
    const double cost = cost_of(problem.cost, encoder, feasible.query(), z);
    if (cost >= best || set.center().dot(with_one(z)) < problem.threshold) return;
    if (set.worst(with_one(z)).proved >= problem.threshold) best = cost;
  });
  return best;
}

TEST(TrueMixed, EqualsBruteForceWhereEverythingIsDiscrete) {
  int answered = 0;
  for (const std::uint64_t seed : {3U, 8U}) {
    for (const bool restricted : {false, true}) {
      const Case given = mixed_linear(seed, restricted, true);
      const Problem problem = true_problem(given.model, 0.01);
      const std::vector<Answer> answers = ExactSearch(problem).generate(given.queries, {});
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const Answer& answer = answers[i];
        if (answer.status == Status::already_robust) continue;
        const FeasibleSet feasible(given.model.encoder, problem.constraints, i,
                                   given.queries[i].raw);
        const double best = cheapest_discrete(problem, feasible);
        if (!is_certified(answer.status)) {
          EXPECT_EQ(best, infinity) << seed << " " << i << " " << answer.message;
          continue;
        }
        EXPECT_EQ(answer.status, Status::optimal) << answer.gap.value_or(-1);
        EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best);
        ++answered;
      }
      problem_zoo::expect_audited(problem, answers);
    }
  }
  EXPECT_GT(answered, 10);
}

TEST(TrueMixed, EqualsTheBestOfAllAssignmentsWithNumbersSolvedByCuttingPlanes) {
  const Case given = mixed_linear(5, false);
  Problem problem = true_problem(given.model, 0.005);
  problem.constraints.features["place"].locked = true;  // fewer assignments
  problem.constraints.features["grade"].locked = true;
  const Encoder& encoder = given.model.encoder;
  const LinearQuestion question(problem);
  const SeparableCost cost = {.quadratic = 2 * column_weights(encoder)};
  const std::vector<Query> queries(given.queries.begin(), given.queries.begin() + 6);
  const std::vector<Answer> answers = ExactSearch(problem).generate(queries, {});
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!is_certified(answers[i].status) || answers[i].status == Status::already_robust) continue;
    const FeasibleSet feasible(encoder, problem.constraints, i, queries[i].raw);
    double best = infinity;
    visit_rows(encoder.schema(), feasible, [&](const Vector& raw, int) {
      const FeasibleSet pinned = feasible.holding(raw);
      for (const Box& box : pinned.boxes()) {
        const OracleProblem asked = boxed(feasible.query(), box, cost, problem.threshold);
        best = std::min(best, search_by_cuts(*question.oracle(), asked).objective);
      }
    });
    EXPECT_EQ(answers[i].status, Status::optimal) << answers[i].message;
    EXPECT_NEAR(answers[i].distance.weighted, best, 1e-6 * best);
    ++compared;
  }
  EXPECT_GT(compared, 1);
}

TEST(TrueMixed, ChangesAreLimitedAndMadeFew) {
  const Case given = mixed_linear(3, false, true);
  const Problem problem = true_problem(given.model, 0.003);
  const std::vector<Answer> limited =
      ExactSearch(problem, {.max_changes = 1}).generate(given.queries, {});
  const std::vector<Answer> sparse =
      ExactSearch(problem, {.sparse = true}).generate(given.queries, {});
  for (std::size_t i = 0; i < given.queries.size(); ++i) {
    if (limited[i].status == Status::already_robust) continue;
    const FeasibleSet feasible(given.model.encoder, problem.constraints, i, given.queries[i].raw);
    const double one = cheapest_discrete(problem, feasible, 1);
    EXPECT_EQ(is_certified(limited[i].status), one < infinity) << limited[i].message;
    if (one == infinity) continue;
    EXPECT_NEAR(limited[i].distance.weighted, one, 1e-9 * one);
    EXPECT_EQ(sparse[i].distance.changed, 1);
    EXPECT_NEAR(sparse[i].distance.weighted, one, 1e-9 * one);
  }
}

TEST(TrueMixed, PlansDifferAndTradeOffsFall) {
  const Case given = mixed_linear(3, false);
  const Problem problem = true_problem(given.model, 0.003);
  const std::vector<Query> queries(given.queries.begin(), given.queries.begin() + 8);
  int plans = 0;
  std::vector<Answer> of_query;
  for (const Answer& answer : ExactSearch(problem, {.plans = 3}).generate(queries, {})) {
    if (answer.plan == 0) of_query.clear();
    if (!is_certified(answer.status)) continue;
    for (const Answer& earlier : of_query) {
      const bool contains =
          std::all_of(earlier.changes.begin(), earlier.changes.end(), [&](const Change& change) {
            return std::any_of(answer.changes.begin(), answer.changes.end(),
                               [&](const Change& own) { return own.feature == change.feature; });
          });
      EXPECT_FALSE(contains);
      EXPECT_GE(answer.distance.weighted, earlier.distance.weighted * (1 - 1e-9));
    }
    if (answer.plan > 0) ++plans;
    of_query.push_back(answer);
  }
  EXPECT_GT(plans, 3);
  int steps = 0;
  for (const Answer& answer : ExactSearch(problem, {.trade_off = true}).generate(queries, {})) {
    if (answer.plan > 0) {
      EXPECT_GT(answer.distance.changed, of_query.back().distance.changed);
      EXPECT_LT(answer.distance.weighted, of_query.back().distance.weighted);
      ++steps;
    }
    of_query.push_back(answer);
  }
  EXPECT_GT(steps, 0);
}

TEST(CorrectedSearch, CuttingPlanesEndWhereCorrectedEllipsoidsDo) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, 5, 4));
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
  Problem problem = true_problem(model, 0.01);
  problem.threshold = 0.2;
  const LinearQuestion question(problem);
  Random random(9);
  const std::vector<SeparableCost> costs = {
      {.quadratic = Vector::Constant(5, 2)},
      {.quadratic = Vector::Constant(5, 2), .absolute = Vector::Constant(5, 0.3)}};
  int compared = 0;
  for (const SeparableCost& cost : costs) {
    for (int k = 0; k < 8; ++k) {
      const Vector query = random.normal_vector(5);
      const Box box{.lower = Vector::Constant(5, -2.5), .upper = Vector::Constant(5, 2.5)};
      const OracleProblem asked = boxed(query, box, cost, problem.threshold);
      const OracleResult corrected = search_corrected(*question.oracle(), asked);
      const OracleResult cuts = search_by_cuts(*question.oracle(), asked);
      ASSERT_EQ(corrected.found, cuts.found);
      EXPECT_GT(cuts.cuts, 0);
      if (!corrected.found) continue;
      ++compared;
      // The dual's steps may end early, by up to 1.4e-4 here; the bounds hold all the same.
      EXPECT_NEAR(cuts.objective, corrected.objective, 1e-6 * corrected.objective);
      EXPECT_GE(cuts.objective, corrected.objective * (1 - 1e-9));
      EXPECT_LE(cuts.lower_bound, corrected.objective * (1 + 1e-9));
      EXPECT_GE(question.robust_logit(cuts.point), problem.threshold);
    }
  }
  EXPECT_GT(compared, 4);
}

TEST(CorrectedSearch, CuttingPlanesProveThatABoxHasNone) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, 4, 2));
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
  Problem problem = true_problem(model, 0.05);
  problem.threshold = 3;
  const TrueSet set = true_set(model, *model.rows, 0.05);
  const Box box{.lower = Vector::Constant(4, -0.3), .upper = Vector::Constant(4, 0.3)};
  const LinearQuestion question(problem);
  const OracleResult result =
      search_by_cuts(*question.oracle(), boxed(Vector::Zero(4), box, {}, problem.threshold));
  EXPECT_FALSE(result.found);
  ASSERT_TRUE(result.proof);
  const Vector& model_of_set = result.proof->heads.front();
  EXPECT_LE(set.objective(model_of_set), set.level() + 1e-14);
  EXPECT_LT(linear_maximum(model_of_set, box.lower, box.upper), 3);
}

}  // namespace
}  // namespace ellice
