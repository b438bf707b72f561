#include "search/exact_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::queries_of;
using problem_zoo::random_queries;
using problem_zoo::solve;

TEST(ExactSearch, AnswersAreOptimalWhereNothingIsHeldBack) {
  const Model model = numeric_model(6, 1);
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2, CostKind::mixed}) {
    for (const RangePolicy range : {RangePolicy::train, RangePolicy::off}) {
      Problem problem{.model = &model, .epsilon = 0.02, .cost = {.kind = kind}};
      problem.constraints.range = range;
      const plain::Ellipsoid judge(model, problem.epsilon);
      int optimal = 0;
      const std::vector<Answer> answers = solve(problem, random_queries(model, 60, 2));
      for (const Answer& answer : answers) {
        EXPECT_TRUE(answer.status == Status::optimal || answer.status == Status::already_robust)
            << enum_name(kind) << " " << enum_name(range) << " " << enum_name(answer.status)
            << answer.message << " gap " << answer.gap.value_or(-1);
        if (answer.status != Status::optimal) {
          EXPECT_GE(judge.robust_logit(plain::code(model, answer.query)), 0);
          continue;
        }
        ++optimal;
        plain::expect_allowed(problem, answer);
        const Vector z = plain::code(model, *answer.counterfactual);
        EXPECT_GE(judge.robust_logit(z), 0);
        EXPECT_LE(judge.robust_logit(z), 1e-10 * (1 + z.norm())) << "farther than necessary";
        plain::expect_nearest(problem, answer, judge.worst(z));
      }
      EXPECT_GT(optimal, 20);
      expect_audited(problem, answers);
    }
  }
}

TEST(ExactSearch, IsNotBeatenByAGridInTwoDimensions) {
  const Model model = numeric_model(2, 3, [](Schema& schema) {
    schema.features[0].direction = Direction::increase;
    schema.features[0].weight = 2;
    schema.features[1].max = 1.5;
  });
  const plain::Ellipsoid judge(model, 0.03);
  int optimal = 0;
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    const Problem problem{.model = &model, .epsilon = 0.03, .cost = {.kind = kind}};
    for (const Answer& answer : solve(problem, random_queries(model, 12, 4))) {
      if (answer.status == Status::already_robust) continue;
      const Vector query = plain::numbers(model.schema(), answer.query);
      // A grid, and what cheapest rows often have: the person's own number, or a bound.
      std::array<std::vector<double>, 2> values;
      for (const std::size_t j : {0U, 1U}) {
        constexpr int steps = 400;
        const auto column = static_cast<Index>(j);
        const double least = model.encoder.min()(column);
        for (int k = 0; k <= steps; ++k)
          values[j].push_back(least + (model.encoder.max()(column) - least) * k / steps);
        values[j].push_back(query(column));
        if (const auto most = model.schema().features[j].max) values[j].push_back(*most);
      }
      double best = std::numeric_limits<double>::infinity();
      for (const double first : values[0]) {
        for (const double second : values[1]) {
          const Vector raw{{first, second}};
          const double cost = plain::cost(problem.cost, model, query, raw);
          if (cost >= best || !plain::fault(problem, answer.query_index, query, raw).empty())
            continue;
          if (judge.robust_logit(plain::code(model, raw)) >= 0) best = cost;
        }
      }
      if (answer.status == Status::infeasible) {
        EXPECT_TRUE(std::isinf(best));
        continue;
      }
      ASSERT_EQ(answer.status, Status::optimal) << answer.message;
      ++optimal;
      EXPECT_LE(answer.distance.weighted, best * (1 + 1e-12));
      if (std::isfinite(best)) {
        EXPECT_GE(answer.distance.weighted, 0.9 * best - 0.02);
      }
    }
  }
  EXPECT_GT(optimal, 6);
}

TEST(ExactSearch, EpsilonZeroIsTheNearestPointOfThePlane) {
  const Model model = numeric_model(4, 5);
  Problem problem{.model = &model};
  problem.constraints.range = RangePolicy::off;
  const Vector w = model.network.head().head(4);
  const std::vector<Answer> answers = solve(problem, random_queries(model, 40, 6));
  ASSERT_EQ(answers.size(), 40U);
  for (const Answer& answer : answers) {
    const double logit = plain::logit(model.network, plain::code(model, answer.query));
    const double expected = std::max(0.0, -logit) / w.norm();
    EXPECT_NEAR(answer.distance.l2, expected, 1e-9 * (1 + expected));
  }
}

TEST(ExactSearch, DistanceGrowsWithEpsilon) {  // the paper's trade-off theorem
  const Model model = numeric_model(5, 7);
  std::vector<double> last(30, 0);
  int compared = 0;
  for (const double epsilon : {0.0, 0.001, 0.01, 0.03, 0.06}) {
    Problem problem{.model = &model, .epsilon = epsilon};
    problem.constraints.range = RangePolicy::off;
    const std::vector<Answer> answers = solve(problem, random_queries(model, 30, 8));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (last[i] > 0) {
        EXPECT_GT(answers[i].distance.l2, last[i]);
        ++compared;
      }
      last[i] = answers[i].distance.l2;
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(ExactSearch,
     IsOneLipschitzInTheQuery) {  // the paper's stability theorem, with fixed constraints
  const Model model = numeric_model(5, 9);
  Problem problem{.model = &model, .epsilon = 0.02};
  problem.constraints.range = RangePolicy::off;
  const std::vector<Query> queries = random_queries(model, 40, 10);
  const std::vector<Answer> answers = solve(problem, queries);
  for (std::size_t i = 0; i + 1 < queries.size(); ++i) {
    const Vector from =
        model.encoder.encode(answers[i].query) - model.encoder.encode(answers[i + 1].query);
    const Vector to = model.encoder.encode(*answers[i].counterfactual) -
                      model.encoder.encode(*answers[i + 1].counterfactual);
    EXPECT_LE(to.norm(), from.norm() + 1e-8);
  }
}

TEST(ExactSearch, KeepsEveryConstraintOnTheRowAsWritten) {
  const Model model = numeric_model(6, 11, [](Schema& schema) {
    schema.features[0].immutable = true;
    schema.features[1].direction = Direction::increase;
    schema.features[2].direction = Direction::decrease;
    schema.features[3].min = -0.5;
    schema.features[3].max = 0.7;
    schema.features[4].step = 0.1;
  });
  Problem problem{.model = &model, .epsilon = 0.01};
  problem.constraints.features["x5"].locked = true;
  const std::vector<Answer> answers = solve(problem, random_queries(model, 80, 12));
  int answered = 0;
  for (const Answer& answer : answers) {
    if (!answer.counterfactual || answer.status == Status::already_robust) continue;
    ++answered;
    const auto number = [&](const RawRow& row, std::size_t j) { return std::get<double>(row[j]); };
    const RawRow& to = *answer.counterfactual;
    const RawRow& from = answer.query;
    EXPECT_EQ(number(to, 0), number(from, 0));
    EXPECT_EQ(number(to, 5), number(from, 5));
    EXPECT_GE(number(to, 1), number(from, 1));
    EXPECT_LE(number(to, 2), number(from, 2));
    if (number(to, 3) != number(from, 3)) {
      EXPECT_GE(number(to, 3), -0.5);
      EXPECT_LE(number(to, 3), 0.7);
    }
    if (number(to, 4) != number(from, 4)) {
      EXPECT_NEAR(number(to, 4) * 10, std::round(number(to, 4) * 10), 1e-9);
    }
  }
  EXPECT_GT(answered, 10);
  expect_audited(problem, answers);
}

TEST(ExactSearch, GridAnswersAreTheBestOfTheGrid) {
  const Model model = numeric_model(2, 13, [](Schema& schema) {
    for (Feature& feature : schema.features) feature.step = 0.25;
  });
  const Problem problem{.model = &model, .epsilon = 0.02};
  const plain::Ellipsoid judge(model, problem.epsilon);
  int compared = 0;
  for (const Answer& answer : solve(problem, random_queries(model, 25, 14))) {
    if (answer.status == Status::already_robust) continue;
    const Vector query = plain::numbers(model.schema(), answer.query);
    double best = plain::infinity;
    plain::visit_rows(problem, answer.query_index, query, [&](const Vector& raw) {
      const double cost = plain::cost(problem.cost, model, query, raw);
      if (cost < best && judge.robust_logit(plain::code(model, raw)) >= 0) best = cost;
    });
    EXPECT_EQ(answer.counterfactual.has_value(), std::isfinite(best)) << answer.message;
    if (!answer.counterfactual) continue;
    ++compared;
    EXPECT_EQ(answer.status, Status::optimal);
    EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best);
  }
  EXPECT_GT(compared, 5);
}

TEST(ExactSearch, KeepsAQueryOutsideARangeOrMovesItInside) {
  const Model model = numeric_model(3, 19, [](Schema& schema) { schema.features[0].min = 0.5; });
  const Problem problem{.model = &model, .epsilon = 0.01};
  bool kept = false;
  bool moved = false;
  const std::vector<Answer> answers = solve(problem, random_queries(model, 200, 20));
  for (const Answer& answer : answers) {
    if (!answer.counterfactual || answer.status == Status::already_robust) continue;
    const double from = std::get<double>(answer.query[0]);
    const double to = std::get<double>((*answer.counterfactual)[0]);
    EXPECT_EQ(from < 0.5, !answer.query_violations.empty());
    EXPECT_TRUE(to == from || to >= 0.5) << from << " to " << to;
    if (from < 0.5) (to == from ? kept : moved) = true;
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(moved);
  expect_audited(problem, answers);
}

TEST(ExactSearch, CallsNothingOptimalThatAQueryOutsideManyRangesCanBeat) {
  const Model model = numeric_model(9, 23, [](Schema&) {});
  Vector raw = model.encoder.mean();
  const Vector theta = model.network.head();
  for (Index i = 0; i < 9; ++i) raw(i) -= (theta(i) > 0 ? 0.3 : -0.3) * model.encoder.scale()(i);
  Problem problem{.model = &model, .epsilon = 0.001};
  problem.constraints.range = RangePolicy::off;
  // The first six ranges begin right beside the query, the last three far away.
  Problem locked = problem;
  for (std::size_t j = 0; j < 9; ++j) {
    const auto i = static_cast<Index>(j);
    const double distance = (j < 6 ? 0.01 : 5) * model.encoder.scale()(i);
    FeatureLimits limits;
    if (theta(i) > 0) limits.min = raw(i) + distance;
    if (theta(i) <= 0) limits.max = raw(i) - distance;
    problem.constraints.features[model.schema().features[j].name] = limits;
    if (j >= 6) limits = {.locked = true};
    locked.constraints.features[model.schema().features[j].name] = limits;
  }
  const std::vector<Query> query = {{.index = 0, .raw = raw}};
  const Answer free = solve(problem, query).front();
  const Answer fewer = solve(locked, query).front();
  ASSERT_TRUE(is_certified(fewer.status));
  ASSERT_TRUE(is_certified(free.status));
  // Whatever the locked problem allows is allowed without the lock.
  EXPECT_LE(free.distance.weighted, fewer.distance.weighted * (1 + 1e-9));
  EXPECT_LE(free.distance.weighted * (1 - *free.gap), fewer.distance.weighted * (1 + 1e-9));
  // Nor does any row that stays outside some of the ranges and enters the others deny the gap.
  const plain::Ellipsoid judge(model, problem.epsilon);
  Random random(24);
  int robust = 0;
  double best = plain::infinity;
  for (int draw = 0; draw < 20'000; ++draw) {
    Vector to = raw;
    for (Index i = 0; i < 9; ++i) {
      if (random.below(2) == 0) continue;
      const double extra = (i < 6 ? 0.01 : 5) + 0.5 * random.uniform();
      to(i) += (theta(i) > 0 ? 1 : -1) * extra * model.encoder.scale()(i);
    }
    if (!plain::fault(problem, 0, raw, to).empty()) continue;
    if (judge.robust_logit(plain::code(model, to)) < 0) continue;
    ++robust;
    best = std::min(best, plain::cost(problem.cost, model, raw, to));
  }
  EXPECT_GT(robust, 1000);
  EXPECT_LE(free.distance.weighted * (1 - *free.gap), best * (1 + 1e-9));
  EXPECT_LE(free.distance.weighted, best * (1 + 1e-9));
  plain::expect_allowed(problem, free);
  EXPECT_GE(judge.robust_logit(plain::code(model, *free.counterfactual)), 0);
}

TEST(ExactSearch, RoundingLeavesAQueryOutsideARangeWhereItIsCheapest) {
  const Model model = numeric_model(
      3, 19, [](Schema& schema) { schema.features[1].step = schema.features[2].step = 0.25; });
  Problem problem{.model = &model, .epsilon = 0.01};
  const std::string& name = model.schema().features[0].name;
  int compared = 0;
  for (const Query& query : random_queries(model, 40, 20)) {
    problem.constraints.features[name] = {.min = query.raw(0) + 3 * model.encoder.scale()(0)};
    problem.constraints.range = RangePolicy::off;
    Problem locked = problem;
    locked.constraints.features[name] = {.locked = true};
    const Answer with = solve(problem, {query}).front();
    const Answer without = solve(locked, {query}).front();
    // To enter the range costs 9: staying outside is better.
    if (without.status != Status::optimal || without.distance.weighted >= 9) continue;
    ++compared;
    ASSERT_TRUE(is_certified(with.status));
    EXPECT_LE(with.distance.weighted, without.distance.weighted * (1 + 1e-9)) << query.index;
    // The best row of the two grids, by trying them all.
    const plain::Ellipsoid judge(model, problem.epsilon);
    double best = plain::infinity;
    for (int a = -24; a <= 25; ++a) {
      for (int b = -24; b <= 25; ++b) {
        Vector raw = query.raw;
        if (a < 25) raw(1) = 0.25 * a;
        if (b < 25) raw(2) = 0.25 * b;
        const double cost = plain::cost(problem.cost, model, query.raw, raw);
        if (cost < best && judge.robust_logit(plain::code(model, raw)) >= 0) best = cost;
      }
    }
    EXPECT_NEAR(with.distance.weighted, best, 1e-9 * best) << query.index;
  }
  EXPECT_GT(compared, 5);
}

TEST(ExactSearch, FeaturesWithoutAGridMakeUpForOneThatEndsEarly) {
  const Model model = numeric_model(2, 13, [](Schema& schema) { schema.features[0].step = 100; });
  Problem problem{.model = &model, .epsilon = 0.01};
  problem.constraints.range = RangePolicy::off;
  const double slope = model.network.head()(0);
  int moved = 0;
  for (const Query& query : random_queries(model, 40, 14)) {
    // No value of the grid but 0 is near: the query keeps its own, and the range goes on beyond it.
    const double other = query.raw(0) + (slope > 0 ? 1 : -1);
    if (query.raw(0) * other <= 0) continue;
    problem.constraints.features[model.schema().features[0].name] =
        slope > 0 ? FeatureLimits{.min = query.raw(0), .max = query.raw(0) + 1}
                  : FeatureLimits{.min = query.raw(0) - 1, .max = query.raw(0)};
    const Answer answer = solve(problem, {query}).front();
    EXPECT_TRUE(is_certified(answer.status)) << query.index << ": " << answer.message;
    if (answer.status != Status::optimal) continue;
    ++moved;
    // Only x1 moves: to the nearer of the places where the robust logit changes its sign.
    const plain::Ellipsoid judge(model, problem.epsilon);
    const auto robust_at = [&](double move) {
      Vector z = plain::code(model, query.raw);
      z(1) += move;
      return judge.robust_logit(z) >= 0;
    };
    double least = plain::infinity;
    for (const double side : {1.0, -1.0}) {
      double far = 0;
      while (far < 100 && !robust_at(side * far)) far += 1e-3;
      if (far >= 100) continue;
      double near = std::max(0.0, far - 1e-3);
      for (int step = 0; step < 60; ++step) {
        const double middle = (near + far) / 2;
        (robust_at(side * middle) ? far : near) = middle;
      }
      least = std::min(least, far);
    }
    EXPECT_NEAR(answer.distance.l2, least, 1e-8 * least);
  }
  EXPECT_GT(moved, 5);
}

TEST(ExactSearch, FineGridsMakeUpForACoarseOneThatEndsEarly) {
  // Hundreds of thousands of steps of the fine grids stand for the coarse one's last value.
  const Model model = numeric_model(3, 13, [](Schema& schema) {
    schema.features[0].step = 100;
    schema.features[1].step = schema.features[2].step = 1e-6;
  });
  for (const CostKind kind : {CostKind::l2, CostKind::l1, CostKind::l1_l2}) {
    Problem problem{.model = &model, .epsilon = 0.001, .cost = {.kind = kind}};
    problem.constraints.range = RangePolicy::off;
    Problem held = problem;  // the best that the fine features can do: almost what a grid allows
    held.constraints.features["x0"].locked = true;
    const plain::Ellipsoid judge(model, problem.epsilon);
    const double slope = model.network.head()(0);
    int moved = 0;
    for (const Query& query : random_queries(model, 40, 14)) {
      problem.constraints.features["x0"] =
          slope > 0 ? FeatureLimits{.min = query.raw(0), .max = query.raw(0) + 1}
                    : FeatureLimits{.min = query.raw(0) - 1, .max = query.raw(0)};
      const Answer answer = solve(problem, {query}).front();
      ASSERT_TRUE(is_certified(answer.status)) << query.index << ": " << answer.message;
      if (answer.status == Status::already_robust) continue;
      ++moved;
      plain::expect_allowed(problem, answer);
      const Vector z = plain::code(model, *answer.counterfactual);
      EXPECT_GE(judge.robust_logit(z), 0);
      const double least =
          plain::least_cost(plain::nearest_of(held, query.index, query.raw), judge.worst(z), 0);
      EXPECT_GE(answer.distance.weighted, least * (1 - 1e-9));
      EXPECT_LE(answer.distance.weighted, 1.1 * least + 1e-5)
          << enum_name(kind) << " " << query.index;
    }
    EXPECT_GT(moved, 5);
  }
}

TEST(ExactSearch, AnswersDoNotDependOnThreadsOrCompany) {
  const Model model = train(lending_dataset(600, 1), {}, {.folds = 0}).model;
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Query> queries = queries_of(lending_dataset(700, 2), 700);
  const std::vector<Answer> one = solve(problem, queries, 1);
  const std::vector<Answer> three = solve(problem, queries, 3);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(to_json(one[i], model.schema()), to_json(three[i], model.schema()));
  }
  for (std::size_t i = 0; i < 700;
       i += 97) {  // alone, an answer may differ in its last digits only
    const Answer alone = solve(problem, {queries[i]})[0];
    EXPECT_EQ(alone.status, one[i].status);
    EXPECT_NEAR(alone.distance.l2, one[i].distance.l2, 1e-9 * (1 + one[i].distance.l2));
  }
}

TEST(ExactSearch, RefusesWhatCannotBe) {
  const Model model = numeric_model(2, 21);
  Problem problem{.model = &model, .epsilon = -1};
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem.epsilon = std::numeric_limits<double>::infinity();
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem = {.model = &model, .cost = {.kind = CostKind::mixed, .sparsity_weight = 1}};
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem = {.model = &model};
  problem.constraints.features["x9"].locked = true;
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem = {.model = &model};
  problem.constraints.features["x0"].min = 2;
  problem.constraints.features["x0"].max = 1;
  EXPECT_THROW(ExactSearch{problem}, Error);

  // Contradictions between the schema, the run and one query.
  const Model from_two = numeric_model(2, 21, [](Schema& schema) { schema.features[0].min = 2; });
  problem = {.model = &from_two};
  problem.constraints.features["x0"].max = 1;
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem.constraints.features["x0"].min = 0;
  EXPECT_NO_THROW(ExactSearch{problem});
  problem.constraints.queries[3]["x0"].max = -1;
  EXPECT_THROW(ExactSearch{problem}, Error);
  problem.constraints.queries[3]["x0"].max = 0.5;
  EXPECT_NO_THROW(ExactSearch{problem});
}

}  // namespace
}  // namespace ellice
