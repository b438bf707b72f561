
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/normal.hpp"
#include "ellice/audit/audit.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "radius/frontier.hpp"
#include "request/recourse_file.hpp"
#include "search/exact_search.hpp"
#include "sets/true_set.hpp"
#include "sets/uncertainty_set.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::random_queries;
using problem_zoo::true_problem;

/// A linear model that holds its rows.
Model model_with_rows(Index columns, std::uint64_t seed, TrainingOptions options = {},
                      const std::function<void(Schema&)>& change = {}) {
  Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, columns, seed));
  if (change) change(data.schema);
  options.l2 = 1e-2;
  options.folds = 0;
  options.store_rows = true;
  return train(data, {}, options).model;
}

std::vector<Answer> solve_exactly(const Problem& problem, const std::vector<Query>& queries,
                                  int threads = 1) {
  return ExactSearch(problem).generate(queries, {.threads = threads});
}

/// The nearest point of {x : θₖᵀx̃ ≥ t for all k} by Hildreth's cyclic projections: exact in the
/// limit for the cost l2 without a box.
Vector nearest_in_cuts(const std::vector<Vector>& cuts, double threshold, const Vector& query) {
  const Index d = query.size();
  Vector x = query;
  std::vector<double> multipliers(cuts.size(), 0);
  for (int sweep = 0; sweep < 200'000; ++sweep) {
    double moved = 0;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      const Vector w = cuts[k].head(d);
      const double need = (threshold - w.dot(x) - cuts[k](d)) / w.squaredNorm();
      const double change = std::max(need, -multipliers[k]);
      multipliers[k] += change;
      x += change * w;
      moved = std::max(moved, std::abs(change) * w.norm());
    }
    if (moved < 1e-13) break;
  }
  return x;
}

TEST(ExactSearchOverTheTrueSet, EqualsPlainCuttingPlanes) {
  const Model model = model_with_rows(3, 5);
  Problem problem = true_problem(model, 0.01);
  problem.constraints.range = RangePolicy::off;
  const plain::TrueSet set(model, problem.epsilon);
  int compared = 0;
  for (const Answer& answer : solve_exactly(problem, random_queries(model, 12, 7))) {
    if (answer.status == Status::already_robust) continue;
    ASSERT_EQ(answer.status, Status::optimal) << answer.message << answer.gap.value_or(-1);
    const Vector query = plain::code(model, answer.query);
    std::vector<Vector> cuts;
    Vector x = query;
    for (int k = 0; k < 60; ++k) {
      const plain::TrueSet::Worst worst = set.worst(x);
      if (worst.attained >= problem.threshold - 1e-9) break;
      cuts.push_back(worst.model);
      x = nearest_in_cuts(cuts, problem.threshold, query);
    }
    EXPECT_NEAR(answer.distance.l2, (x - query).norm(), 1e-6 * answer.distance.l2);
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ExactSearchOverTheTrueSet, IsOptimalUnderEveryCostAndAudited) {
  const Model model = model_with_rows(5, 3);
  int optimal = 0;
  for (const CostKind cost : {CostKind::l2, CostKind::l1, CostKind::l1_l2, CostKind::mixed}) {
    for (const double epsilon : {1e-3, 0.01, 0.03}) {
      Problem problem = true_problem(model, epsilon);
      problem.cost.kind = cost;
      const plain::TrueSet set(model, epsilon);
      const std::vector<Answer> answers = solve_exactly(problem, random_queries(model, 15, 2));
      for (const Answer& answer : answers) {
        EXPECT_TRUE(answer.status == Status::optimal || answer.status == Status::already_robust ||
                    answer.status == Status::infeasible)
            << enum_name(cost) << " " << epsilon << " " << enum_name(answer.status) << " "
            << answer.gap.value_or(-1) << " " << answer.message;
        if (answer.infeasible) {
          plain::expect_refused_everywhere(problem, answer);
          EXPECT_LE(set.level(answer.infeasible->model), epsilon + 1e-12);
          continue;
        }
        plain::expect_allowed(problem, answer);
        const plain::TrueSet::Worst worst = set.worst(plain::code(model, *answer.counterfactual));
        EXPECT_GE(worst.attained, -1e-10);
        EXPECT_GE(worst.bound, -1e-9);
        if (answer.status != Status::optimal) continue;
        ++optimal;
        plain::expect_nearest(problem, answer, worst.model, 1e-5);
      }
      problem_zoo::expect_audited(problem, answers);
    }
  }
  EXPECT_GT(optimal, 30);
}

TEST(ExactSearchOverTheTrueSet, ForSquaredLossIsTheEllipsoidsAnswer) {
  const Model model = model_with_rows(4, 8, {.loss = LossKind::squared});
  const Problem problem = true_problem(model, 0.02);
  Problem ellipsoid = problem;
  ellipsoid.set = {};
  const std::vector<Query> queries = random_queries(model, 15, 1);
  const std::vector<Answer> answers = solve_exactly(problem, queries);
  const std::vector<Answer> expected = problem_zoo::solve(ellipsoid, queries);
  const plain::Ellipsoid judge(model, problem.epsilon);
  int answered = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(answers[i].status, expected[i].status);
    EXPECT_NEAR(answers[i].distance.l2, expected[i].distance.l2, 1e-8);
    answered += expected[i].status == Status::optimal ? 1 : 0;
    if (answers[i].status == Status::optimal) {
      const Vector z = plain::code(model, *answers[i].counterfactual);
      EXPECT_GE(judge.robust_logit(z), -1e-9);
      plain::expect_nearest(problem, answers[i], judge.worst(z), 1e-6);
    }
    if (!expected[i].infeasible) continue;
    ASSERT_TRUE(answers[i].infeasible);
    EXPECT_EQ(answers[i].infeasible->blocking.constraints,
              expected[i].infeasible->blocking.constraints);
    EXPECT_NEAR(answers[i].infeasible->max_epsilon.upper, expected[i].infeasible->max_epsilon.upper,
                5e-3 * expected[i].infeasible->max_epsilon.upper);
  }
  EXPECT_GT(answered, 2);
}

TEST(ExactSearchOverTheTrueSet, GridsAndBoundsAreKept) {
  const Model model = model_with_rows(4, 6, {}, [](Schema& schema) {
    schema.features[0].step = 0.25;
    schema.features[1].immutable = true;
    schema.features[2].direction = Direction::increase;
  });
  const Problem problem = true_problem(model, 0.005);
  const std::vector<Answer> answers = solve_exactly(problem, random_queries(model, 12, 9));
  int certified = 0;
  const plain::TrueSet set(model, problem.epsilon);
  for (const Answer& answer : answers) {
    if (!is_certified(answer.status)) continue;
    ++certified;
    EXPECT_GE(set.worst(plain::code(model, *answer.counterfactual)).attained, -1e-10);
    plain::expect_allowed(problem, answer);
    if (answer.status != Status::optimal) continue;
    // Each value of the grid, and for each what the worst model leaves of x2 and x3.
    const Vector worst = set.worst(plain::code(model, *answer.counterfactual)).model;
    const Vector from = plain::numbers(model.schema(), answer.query);
    double least = plain::infinity;
    for (const double value : plain::values_of(problem, answer.query_index, from, 0)) {
      plain::Nearest asked = plain::nearest_of(problem, answer.query_index, from);
      Vector to = from;
      to(0) = value;
      const double spent = plain::cost(problem.cost, model, from, to);
      asked.query(0) = asked.lower(0) = asked.upper(0) = plain::code(model, to)(0);
      least = std::min(least, spent + plain::least_cost(asked, worst, problem.threshold));
    }
    EXPECT_GE(answer.distance.weighted, least * (1 - 1e-9));
  }
  EXPECT_GT(certified, 4);
  problem_zoo::expect_audited(problem, answers);
}

TEST(ExactSearchOverTheTrueSet, InfeasibleIsProvedByAModelOfTheSet) {
  const Model model = model_with_rows(4, 6);
  const Problem problem = true_problem(model, 0.2);
  int infeasible = 0;
  const std::vector<Answer> answers = solve_exactly(problem, random_queries(model, 10, 3));
  const plain::TrueSet set(model, problem.epsilon);
  for (const Answer& answer : answers) {
    if (!answer.infeasible) continue;
    ++infeasible;
    EXPECT_LT(answer.infeasible->upper_bound, problem.threshold);
    EXPECT_LE(answer.infeasible->max_epsilon.upper, problem.epsilon);
    EXPECT_LE(set.level(answer.infeasible->model), problem.epsilon + 1e-13);
    plain::expect_refused_everywhere(problem, answer);
  }
  EXPECT_GT(infeasible, 0);
  problem_zoo::expect_audited(problem, answers);
}

TEST(ExactSearchOverTheTrueSet, IsTheSameForAnyNumberOfThreads) {
  const Model model = model_with_rows(4, 2);
  const Problem problem = true_problem(model, 0.01);
  const std::vector<Query> queries = random_queries(model, 20, 4);
  EXPECT_EQ(problem_zoo::recourse_file(problem, solve_exactly(problem, queries, 1)),
            problem_zoo::recourse_file(problem, solve_exactly(problem, queries, 3)));
}

TEST(ExactSearchOverTheTrueSet, AnAnswerOfTheEllipsoidThatFailsIsToldByItsBreakingModel) {
  ELLICE_NEEDS_DATASET("banknote");
  const Dataset data = load_recipe("banknote");
  const Model model = train(data, {.balance = true}, {.folds = 0, .store_rows = true}).model;
  const Problem problem{
      .model = &model, .epsilon = 0.01, .constraints = {.range = RangePolicy::off}};
  int broken = 0;
  for (const Answer& answer : problem_zoo::solve(problem, problem_zoo::queries_of(data, 60))) {
    if (!answer.certificate || answer.status == Status::already_robust) continue;
    Certificate claimed = *answer.certificate;
    claimed.set = SetKind::true_set;
    broken += Verifier(model).verify(claimed).breaking_model ? 1 : 0;
  }
  EXPECT_GT(broken, 0);
}

TEST(ExactSearchOverTheTrueSet, EveryAnswerStatesHowLongItLasts) {
  const Model model = model_with_rows(4, 6);
  Problem problem = true_problem(model, 0.01);
  problem.threshold = 0.1;
  const std::vector<Answer> answers = solve_exactly(problem, random_queries(model, 12, 3));
  const Matrix inverse = model.curvature.hessian.inverse();
  const Matrix data = model.curvature.sampling->drawn_again;
  int stated = 0;
  for (const Answer& answer : answers) {
    if (!answer.counterfactual) continue;
    ++stated;
    ASSERT_TRUE(answer.robustness_radius && answer.predicted_survival);
    EXPECT_GE(*answer.robustness_radius, problem.epsilon);
    if (answer.status == Status::optimal) {
      EXPECT_NEAR(*answer.robustness_radius, problem.epsilon, 1e-6 * problem.epsilon);
    }
    // Robust just before it, and no longer just beyond.
    const Vector z = plain::code(model, *answer.counterfactual);
    Vector x(5);
    x << z, 1.0;
    const double radius = *answer.robustness_radius;
    EXPECT_GE(plain::TrueSet(model, radius * (1 - 1e-6)).worst(z).bound, problem.threshold);
    EXPECT_LE(plain::TrueSet(model, radius * (1 + 1e-6)).worst(z).attained, problem.threshold);
    const double variance = x.dot(inverse * data * inverse * x) / 400;
    EXPECT_NEAR(*answer.predicted_survival,
                normal_cdf((answer.logit - problem.threshold) / std::sqrt(variance)), 1e-9);
  }
  EXPECT_GT(stated, 4);
  problem_zoo::expect_audited(problem, answers);
  // What is missing or wrong is noticed.
  for (const char* key : {"robustness_radius", "predicted_survival"}) {
    Json file = problem_zoo::recourse_file(problem, answers);
    for (Json& answer : file["results"]) {
      if (answer.contains(key)) answer[key] = 0.9 * answer[key].get<double>();
    }
    for (const AnswerAudit& audit : audit_recourse_file(file, model, "test")) {
      EXPECT_EQ(audit.holds(), !is_certified(audit.status)) << key;
    }
    for (Json& answer : file["results"]) answer.erase(key);
    for (const AnswerAudit& audit : audit_recourse_file(file, model, "test")) {
      EXPECT_EQ(audit.holds(), !is_certified(audit.status)) << key;
    }
  }
}

TEST(ExactSearchOverTheTrueSet, IsNeverDearerThanAnAnswerOfTheEllipsoidThatTheTrueSetAccepts) {
  const Dataset data = lending_dataset(600, 1);
  const Model model = train(data, {}, {.folds = 0, .store_rows = true}).model;
  const std::vector<Query> queries = problem_zoo::queries_of(data, 14);
  int compared = 0;
  for (const CostKind cost : {CostKind::l1, CostKind::l2, CostKind::mixed}) {
    Problem problem = true_problem(model, 0.01);
    problem.cost.kind = cost;
    const plain::TrueSet set(model, problem.epsilon);
    const std::vector<Answer> answers =
        ExactSearch(problem, {.node_limit = 20}).generate(queries, {});
    for (const Answer& answer : answers) {
      if (!answer.counterfactual) continue;
      EXPECT_GE(set.worst(plain::code(model, *answer.counterfactual)).bound, -1e-9);
      plain::expect_allowed(problem, answer);
    }
    for (const double factor : {0.9, 1.0, 1.1}) {
      Problem ellipsoid = problem;
      ellipsoid.set = {};
      ellipsoid.epsilon *= factor;
      const std::vector<Answer> others = ExactSearch(ellipsoid).generate(queries, {});
      for (std::size_t i = 0; i < queries.size(); ++i) {
        if (!others[i].counterfactual) continue;
        if (set.worst(plain::code(model, *others[i].counterfactual)).bound < 1e-9) continue;
        ASSERT_TRUE(answers[i].counterfactual) << answers[i].message;
        // Corrected ellipsoids are looked at where the true set needs them, not at every radius.
        const double allowance = factor == 1.0 ? 1e-9 : 0.02;
        EXPECT_LE(answers[i].distance.weighted, others[i].distance.weighted * (1 + allowance))
            << enum_name(cost) << " query " << i << " factor " << factor;
        ++compared;
      }
    }
    problem_zoo::expect_audited(problem, answers);
  }
  EXPECT_GT(compared, 20);
}

TEST(ExactSearchOverTheTrueSet, FrontiersLimitIsProved) {
  const Model model = model_with_rows(4, 6);
  const Problem problem = true_problem(model, 0);
  const Frontier frontier(problem, nullptr);
  int limited = 0;
  for (const Query& query : random_queries(model, 6, 3)) {
    const FrontierCurve curve = frontier.trace(query, {0.001, 0.01, 0.3});
    if (!curve.max_epsilon) continue;
    ++limited;
    EXPECT_TRUE(curve.is_max_proved);
    Problem within = true_problem(model, *curve.max_epsilon * (1 - 1e-4));
    EXPECT_TRUE(solve_exactly(within, {query}).front().counterfactual);
    Problem beyond = true_problem(model, *curve.max_epsilon * (1 + 1e-4));
    EXPECT_EQ(solve_exactly(beyond, {query}).front().status, Status::infeasible);
    // By climbing along the slopes of worst models: something is met at a little less, nothing at a
    // little more.
    const auto box = plain::box_of(problem, query.index, query.raw);
    const Vector& lower = std::get<0>(box);
    const Vector& upper = std::get<1>(box);
    const auto highest = [&](const plain::TrueSet& set) {
      Vector z = (lower + upper) / 2;
      double score = -plain::infinity;
      for (int step = 1; step <= 40; ++step) {
        const plain::TrueSet::Worst worst = set.worst(z);
        score = std::max(score, worst.attained);
        z = (z + 2.0 / step * worst.model.head(4).normalized()).cwiseMax(lower).cwiseMin(upper);
      }
      return score;
    };
    EXPECT_GE(highest(plain::TrueSet(model, *curve.max_epsilon * (1 - 1e-2))), 0);
    EXPECT_LT(highest(plain::TrueSet(model, *curve.max_epsilon * (1 + 1e-4))), 0);
  }
  EXPECT_GT(limited, 0);
}

TEST(ExactSearchOverTheTrueSet, FrontierRisesWithEpsilon) {
  const Model model = model_with_rows(4, 2);
  const Problem problem = true_problem(model, 0);
  const Frontier frontier(problem, nullptr);
  int rising = 0;
  for (const Query& query : random_queries(model, 12, 5)) {
    double last = 0;
    for (const FrontierPoint& point : frontier.trace(query, {0, 0.002, 0.01}).points) {
      if (!point.feasible) break;
      EXPECT_GE(point.distance, last);
      rising += point.distance > last && last > 0 ? 1 : 0;
      last = point.distance;
    }
  }
  EXPECT_GT(rising, 3);
}

TEST(ExactSearchOverTheTrueSet, RefusesWhatItCannotSearch) {
  const Model model = model_with_rows(3, 1);
  Problem problem = true_problem(model, 0.01);
  Model without = model;
  without.rows.reset();
  problem.model = &without;
  EXPECT_THROW((ExactSearch(problem)), Error);
  problem.model = &model;
  problem.cost = {.kind = CostKind::mixed, .sparsity_weight = 1};
  EXPECT_THROW((ExactSearch(problem)), Error);
  problem = true_problem(model, 0);
  EXPECT_THROW((ExactSearch(problem)), Error);
  problem = true_problem(model, 1e-12);  // below what the objective is known to
  EXPECT_THROW((ExactSearch(problem)), Error);
  EXPECT_THROW((void)make_set(model, {.kind = SetKind::true_set}), Error);
}

}  // namespace
}  // namespace ellice
