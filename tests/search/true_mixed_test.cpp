#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "search/exact_search.hpp"
#include "search/linear_question.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "solver/corrected_search.hpp"
#include "solver/half_space.hpp"
#include "support/exact_answers.hpp"
#include "support/mixed_model.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::true_problem;

/// A linear model over features of every kind that holds its rows.
struct TrueCase {
  Model model = {};
  std::vector<Query> queries = {};
};

TrueCase mixed_linear(std::uint64_t seed, bool restricted, bool numbers_fixed = false) {
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

OracleProblem boxed(const Vector& query, const Box& box, const SeparableCost& cost,
                    double threshold) {
  return {.query = query,
          .lower = box.lower,
          .upper = box.upper,
          .cost = cost,
          .threshold = threshold,
          .margin = 2e-12};
}

/// Where only discrete features may change: the least cost of a row that every model accepts.
double cheapest_discrete(const Problem& problem, const Query& query, std::optional<int> most = {}) {
  const plain::TrueSet set(*problem.model, problem.epsilon);
  return plain::cheapest(
      problem, query.index, query.raw,
      [&](const Vector& z) {
        return plain::logit(problem.model->network, z) >= problem.threshold &&
               set.worst(z).bound >= problem.threshold;
      },
      most);
}

TEST(TrueMixed, EqualsBruteForceWhereEverythingIsDiscrete) {
  int answered = 0;
  for (const std::uint64_t seed : {3U, 8U}) {
    for (const bool restricted : {false, true}) {
      const TrueCase given = mixed_linear(seed, restricted, true);
      const Problem problem = true_problem(given.model, 0.01);
      const std::vector<Answer> answers = ExactSearch(problem).generate(given.queries, {});
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const Answer& answer = answers[i];
        if (answer.status == Status::already_robust) continue;
        const double best = cheapest_discrete(problem, given.queries[i]);
        if (!is_certified(answer.status)) {
          EXPECT_EQ(best, infinity) << seed << " " << i << " " << answer.message;
          continue;
        }
        EXPECT_EQ(answer.status, Status::optimal) << answer.gap.value_or(-1);
        EXPECT_NEAR(answer.distance.weighted, best, 1e-9 * best);
        plain::expect_allowed(problem, answer);
        ++answered;
      }
      problem_zoo::expect_audited(problem, answers);
    }
  }
  EXPECT_GT(answered, 10);
}

/// The point nearest to `own` in the first two columns that all linear models accept, inside the
/// ranges: `own`, its foot on one line, or the corner of two lines, an end of a range among them.
std::optional<Vector> nearest_of_two(const Problem& problem, std::size_t query, const Vector& from,
                                     const Vector& own, const std::vector<Vector>& cuts) {
  struct Line {  // a·x + b·y ≥ c
    double a = 0;
    double b = 0;
    double c = 0;
  };
  std::vector<Line> lines;
  for (const Vector& cut : cuts) {
    double rest = cut(cut.size() - 1);
    for (Index j = 2; j < own.size(); ++j) rest += cut(j) * own(j);
    lines.push_back({.a = cut(0), .b = cut(1), .c = problem.threshold - rest});
  }
  for (Index j = 0; j < 2; ++j) {
    const plain::Reach reach = plain::reach_of(problem, query, from, static_cast<std::size_t>(j));
    const auto coded = [&](double value) {
      return (value - problem.model->encoder.mean()(j)) / problem.model->encoder.scale()(j);
    };
    lines.push_back({.a = j == 0 ? 1.0 : 0, .b = j == 1 ? 1.0 : 0, .c = coded(reach.low)});
    lines.push_back({.a = j == 0 ? -1.0 : 0, .b = j == 1 ? -1.0 : 0, .c = -coded(reach.high)});
  }
  std::vector<std::pair<double, double>> points = {{own(0), own(1)}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& one = lines[i];
    const double need = one.c - one.a * own(0) - one.b * own(1);
    const double square = one.a * one.a + one.b * one.b;
    points.emplace_back(own(0) + need / square * one.a, own(1) + need / square * one.b);
    for (std::size_t k = 0; k < i; ++k) {
      const Line& two = lines[k];
      const double area = one.a * two.b - one.b * two.a;
      if (std::abs(area) < 1e-12) continue;
      points.emplace_back((one.c * two.b - two.c * one.b) / area,
                          (two.c * one.a - one.c * two.a) / area);
    }
  }
  std::optional<Vector> best;
  for (const auto& point : points) {
    const double x = point.first;
    const double y = point.second;
    const bool is_inside = std::all_of(lines.begin(), lines.end(), [&](const Line& line) {
      return line.a * x + line.b * y >= line.c - 1e-9 * (1 + std::abs(line.c));
    });
    Vector z = own;
    z(0) = x;
    z(1) = y;
    if (is_inside && (!best || (z - own).norm() < (*best - own).norm())) best = z;
  }
  return best;
}

TEST(TrueMixed, IsTheBestOfAllAssignmentsByAModelThatRefusesTheOthers) {
  const TrueCase given = mixed_linear(5, false);
  Problem problem = true_problem(given.model, 0.005);
  problem.constraints.features["place"].locked = true;  // fewer assignments
  problem.constraints.features["grade"].locked = true;
  const Model& model = given.model;
  const plain::TrueSet set(model, problem.epsilon);
  const std::vector<Query> queries(given.queries.begin(), given.queries.begin() + 6);
  const std::vector<Answer> answers = ExactSearch(problem).generate(queries, {});
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!is_certified(answers[i].status) || answers[i].status == Status::already_robust) continue;
    ++compared;
    EXPECT_EQ(answers[i].status, Status::optimal) << answers[i].message;
    plain::expect_allowed(problem, answers[i]);
    const Vector& from = queries[i].raw;
    EXPECT_GE(set.worst(plain::code(model, *answers[i].counterfactual)).bound, -1e-9);
    // For each assignment cutting planes of plain worst models bound what its two numbers cost,
    // until the bound exceeds the answer's cost or a robust point is reached.
    std::vector<std::vector<double>> values;
    for (std::size_t j = 0; j < model.schema().features.size(); ++j)
      values.push_back(plain::values_of(problem, i, from, j));
    double best = infinity;
    plain::visit_rows(problem, i, from, values, [&](const Vector& to) {
      const double spent = plain::cost(problem.cost, model, from, to);
      if (spent >= best) return;
      Vector z = plain::code(model, to);
      const Vector own = z;
      std::vector<Vector> cuts;
      for (int round = 0; round < 40; ++round) {
        const plain::TrueSet::Worst worst = set.worst(z);
        if (worst.attained >= problem.threshold - 1e-8) {
          best = std::min(best, spent + (z - own).squaredNorm());
          return;
        }
        cuts.push_back(worst.model);
        const std::optional<Vector> next = nearest_of_two(problem, i, from, own, cuts);
        if (!next || spent + (*next - own).squaredNorm() > best) return;
        z = *next;
      }
      ADD_FAILURE() << "cutting planes do not end";
    });
    EXPECT_NEAR(answers[i].distance.weighted, best, 1e-5 * best) << i;
  }
  EXPECT_GT(compared, 1);
}

TEST(TrueMixed, ChangesAreLimitedAndMadeFew) {
  const TrueCase given = mixed_linear(3, false, true);
  const Problem problem = true_problem(given.model, 0.003);
  const std::vector<Answer> limited =
      ExactSearch(problem, {.max_changes = 1}).generate(given.queries, {});
  const std::vector<Answer> sparse =
      ExactSearch(problem, {.sparse = true}).generate(given.queries, {});
  int answered = 0;
  for (std::size_t i = 0; i < given.queries.size(); ++i) {
    if (limited[i].status == Status::already_robust) continue;
    const double one = cheapest_discrete(problem, given.queries[i], 1);
    EXPECT_EQ(is_certified(limited[i].status), one < infinity) << limited[i].message;
    if (one == infinity) continue;
    ++answered;
    EXPECT_NEAR(limited[i].distance.weighted, one, 1e-9 * one);
    EXPECT_EQ(sparse[i].distance.changed, 1);
    EXPECT_NEAR(sparse[i].distance.weighted, one, 1e-9 * one);
  }
  EXPECT_GT(answered, 3);
}

TEST(TrueMixed, PlansDifferAndTradeOffsFall) {
  const TrueCase given = mixed_linear(3, false);
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
  const plain::TrueSet set(model, problem.epsilon);
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
      EXPECT_GE(set.worst(cuts.point).bound, problem.threshold - 1e-9);
      // The worst model there bounds the cost from below; the mixed cost is that of a sum.
      const plain::Nearest plain_asked{.query = query,
                                       .lower = box.lower,
                                       .upper = box.upper,
                                       .weights = Vector::Constant(5, 1)};
      if (cost.absolute.size() == 0) {
        const double least =
            plain::least_cost(plain_asked, set.worst(cuts.point).model, problem.threshold);
        EXPECT_NEAR(corrected.objective, least, 1e-5 * least);
      }
    }
  }
  EXPECT_GT(compared, 4);
}

TEST(CorrectedSearch, CuttingPlanesProveThatABoxHasNone) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, 4, 2));
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
  Problem problem = true_problem(model, 0.05);
  problem.threshold = 3;
  const plain::TrueSet set(model, 0.05);
  const Box box{.lower = Vector::Constant(4, -0.3), .upper = Vector::Constant(4, 0.3)};
  const LinearQuestion question(problem);
  const OracleResult result =
      search_by_cuts(*question.oracle(), boxed(Vector::Zero(4), box, {}, problem.threshold));
  EXPECT_FALSE(result.found);
  ASSERT_TRUE(result.proof);
  const Vector& model_of_set = result.proof->heads.front();
  EXPECT_LE(set.level(model_of_set), 0.05 + 1e-13);
  EXPECT_LT(model_of_set(4) + 0.3 * model_of_set.head(4).cwiseAbs().sum(), 3);
}

}  // namespace
}  // namespace ellice
