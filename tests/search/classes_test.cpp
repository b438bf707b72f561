// Answer for models with many classes.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ellice/audit/audit.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "methods/automatic.hpp"
#include "methods/greedy.hpp"
#include "methods/gumbel.hpp"
#include "radius/frontier.hpp"
#include "search/any_class.hpp"
#include "search/data_supported.hpp"
#include "search/exact_search.hpp"
#include "search/gradient.hpp"
#include "search/local_search.hpp"
#include "sets/contest.hpp"
#include "sets/sampling.hpp"
#include "support/class_cases.hpp"
#include "support/datasets.hpp"
#include "support/exact_answers.hpp"
#include "support/messages.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::class_dataset;
using problem_zoo::class_model;
using problem_zoo::expect_audited;
using problem_zoo::queries_of;
using problem_zoo::random_queries;
using problem_zoo::recourse_file;
using problem_zoo::softmax_options;
using problem_zoo::winning;
using testing_support::expect_words;
using testing_support::message_of;

/// The class with the largest score of a head θ, or −1 for a tie.
Index predicted(const Vector& theta, const Vector& h_tilde) {
  const Index p = h_tilde.size();
  Index best = 0;
  double highest = -std::numeric_limits<double>::infinity();
  for (Index k = 0; k < theta.size() / p; ++k) {
    const double score = theta.segment(k * p, p).dot(h_tilde);
    if (score == highest) best = -1;
    if (score <= highest) continue;
    highest = score;
    best = k;
  }
  return best;
}

/// 200 models on the boundary of the ellipsoid, and the worst ones that the certificate names.
void expect_class_never_changes(const Model& model, double epsilon, const Answer& answer,
                                const std::vector<Index>& acceptable) {
  const Vector h = with_one(model.network.features(model.encoder.encode(*answer.counterfactual)));
  const Ellipsoid set(model.network.head(), model.curvature.hessian, epsilon);
  RowMatrix samples = sample_boundary(set, 200, Random(7).split(answer.query_index));
  std::vector<Vector> models;
  for (Index i = 0; i < samples.rows(); ++i) models.emplace_back(samples.row(i));
  for (const RivalCertificate& rival : answer.certificate->rivals) {
    models.push_back(rival.worst_model);
  }
  for (const Vector& theta : models) {
    const Index found = predicted(theta, h);
    EXPECT_TRUE(std::find(acceptable.begin(), acceptable.end(), found) != acceptable.end())
        << "query " << answer.query_index << " becomes class " << found;
  }
}

TEST(ManyClasses, TwoOfThemGetTheAnswersOfTheLogisticModelWithHalfTheRidge) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 51));
  const Model many = train(data, {}, softmax_options(0.02)).model;
  const Model two = train(data, {}, {.l2 = 0.01, .folds = 0}).model;
  const Problem of_many{.model = &many, .set = winning(many, 1), .epsilon = 0.01};
  const Problem of_two{.model = &two, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(many, 30, 52);
  const std::vector<Answer> found = automatic_generator(of_many)->generate(queries, {.threads = 2});
  const std::vector<Answer> expected = ExactSearch(of_two).generate(queries, {.threads = 2});
  const plain::Ellipsoid judge(two, of_two.epsilon);
  int moved = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    ASSERT_EQ(is_certified(found[i].status), is_certified(expected[i].status));
    if (!found[i].counterfactual) continue;
    if (found[i].status != Status::already_robust) {
      ++moved;
      const Vector z = plain::code(two, *found[i].counterfactual);
      EXPECT_NEAR(judge.robust_logit(z), 0, 1e-9);
      plain::expect_nearest(of_two, found[i], judge.worst(z), 1e-6);
    }
    EXPECT_NEAR(found[i].robust_logit, expected[i].robust_logit, 1e-9);
    const Vector a = many.encoder.encode(*found[i].counterfactual);
    const Vector b = two.encoder.encode(*expected[i].counterfactual);
    EXPECT_LT((a - b).norm(), 1e-9 * (1 + b.norm())) << i;
  }
  EXPECT_GT(moved, 8);
}

TEST(ManyClasses, AnswersAreAuditedAndNoSampledModelChangesTheClass) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {8}}) {
    const Model model = class_model(3, 4, 53, 1e-2, hidden);
    for (const Index winner : {0, 3}) {
      const Problem problem{
          .model = &model, .set = winning(model, winner), .epsilon = 0.01, .threshold = 0.05};
      const std::vector<Answer> answers =
          automatic_generator(problem)->generate(random_queries(model, 20, 54), {.threads = 2});
      expect_audited(problem, answers);
      int changed = 0;
      for (const Answer& answer : answers) {
        EXPECT_EQ(answer.target, model.decision.classes[static_cast<std::size_t>(winner)]);
        EXPECT_FALSE(answer.predicted_survival);
        if (!is_certified(answer.status) || answer.status == Status::reduced) continue;
        if (answer.status != Status::already_robust) ++changed;
        EXPECT_GE(*answer.robustness_radius, 0.01);
        expect_class_never_changes(model, 0.01, answer, {winner});
      }
      EXPECT_GT(changed, 8);
    }
  }
}

/// The smallest robust margin of a point, from the stacked Hessian and a dense inverse.
double plain_margin(const Model& model, Index winner, double epsilon, const Matrix& inverse,
                    const Vector& z) {
  const Vector x = with_one(z);
  const Index p = x.size();
  const Vector head = model.network.head();
  double smallest = std::numeric_limits<double>::infinity();
  for (Index rival = 0; rival < model.network.outputs(); ++rival) {
    if (rival == winner) continue;
    Vector a = Vector::Zero(head.size());
    a.segment(winner * p, p) = x;
    a.segment(rival * p, p) = -x;
    smallest = std::min(smallest, head.dot(a) - std::sqrt(2 * epsilon * a.dot(inverse * a)));
  }
  return smallest;
}

TEST(ManyClasses, LinearHeadsGetTheNearestAnswerOrAProofThatThereIsNone) {
  const Model model = class_model(2, 4, 67);
  const Matrix inverse = model.curvature.hessian.inverse();
  int optimal = 0;
  int infeasible = 0;
  for (const double epsilon : {0.005, 0.03, 0.08}) {
    for (Index winner = 0; winner < 4; ++winner) {
      const Problem problem{
          .model = &model, .set = winning(model, winner), .epsilon = epsilon, .threshold = 0.1};
      const std::vector<Answer> answers =
          automatic_generator(problem)->generate(random_queries(model, 6, 68), {.threads = 2});
      expect_audited(problem, answers);
      for (const Answer& answer : answers) {
        if (answer.status == Status::already_robust) continue;
        // All points of a grid over what is allowed.
        const Vector from = plain::numbers(model.schema(), answer.query);
        const auto [lower, upper] = plain::box_of(problem, answer.query_index, from);
        double cheapest = std::numeric_limits<double>::infinity();
        double highest = -cheapest;
        constexpr int steps = 150;
        for (int i = 0; i <= steps; ++i) {
          for (int j = 0; j <= steps; ++j) {
            const Vector z{{lower(0) + (upper(0) - lower(0)) * i / steps,
                            lower(1) + (upper(1) - lower(1)) * j / steps}};
            const double margin = plain_margin(model, winner, epsilon, inverse, z);
            highest = std::max(highest, margin);
            if (margin >= 0.1)
              cheapest = std::min(cheapest, (z - plain::code(model, from)).squaredNorm());
          }
        }
        if (answer.status == Status::infeasible) {
          ++infeasible;
          EXPECT_LT(highest, 0.1);
          EXPECT_GE(answer.infeasible->best_robust_logit, highest - 0.1) << "hardly the best";
          EXPECT_LE(answer.infeasible->max_epsilon.upper, epsilon);
          continue;
        }
        ++optimal;
        ASSERT_EQ(answer.status, Status::optimal) << answer.message;
        EXPECT_LE(answer.distance.weighted, cheapest * (1 + 1e-9));
        const Vector z = model.encoder.encode(*answer.counterfactual);
        EXPECT_NEAR(plain_margin(model, winner, epsilon, inverse, z), 0.1, 1e-9);
      }
    }
  }
  EXPECT_GT(optimal, 10);
  EXPECT_GT(infeasible, 5);
}

TEST(ManyClasses, AreServedByEveryMethod) {
  const Dataset data = class_dataset(240, 3, 3, 55);
  const Model model = train(data, {}, softmax_options()).model;
  const Problem problem{.model = &model, .set = winning(model, 2), .epsilon = 0.005};
  const std::vector<Query> queries = random_queries(model, 12, 56);
  const std::vector<std::unique_ptr<Generator>> generators = [&] {
    std::vector<std::unique_ptr<Generator>> all;
    all.push_back(std::make_unique<GradientSearch>(problem));
    all.push_back(std::make_unique<DataSupported>(problem, data.raw));
    all.push_back(std::make_unique<GreedySearch>(problem));
    all.push_back(std::make_unique<GumbelSearch>(problem));
    all.push_back(std::make_unique<LocalSearch>(problem));
    return all;
  }();
  const std::vector<Answer> nearest = automatic_generator(problem)->generate(queries, {});
  for (const auto& generator : generators) {
    const std::vector<Answer> answers = generator->generate(queries, {.threads = 2});
    ASSERT_EQ(answers.size(), queries.size());
    expect_audited(problem, answers);
    int certified = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!is_certified(answers[i].status)) continue;
      ++certified;
      expect_class_never_changes(model, 0.005, answers[i], {2});
      EXPECT_GE(answers[i].distance.weighted, nearest[i].distance.weighted * (1 - 1e-9));
    }
    EXPECT_GT(certified, 8);
  }
}

TEST(ManyClasses, AnswersMoveNoFartherThanTheirQueries) {
  const Model model = class_model(3, 3, 57);
  Problem problem{.model = &model, .set = winning(model, 1), .epsilon = 0.01};
  problem.constraints.range = RangePolicy::off;
  const std::vector<Query> queries = random_queries(model, 25, 58);
  std::vector<Query> moved = queries;
  Random random(59);
  for (Query& query : moved) query.raw += 1e-3 * random.normal_vector(3);
  const auto generator = automatic_generator(problem);
  const std::vector<Answer> first = generator->generate(queries, {.threads = 2});
  const std::vector<Answer> second = generator->generate(moved, {.threads = 2});
  for (std::size_t i = 0; i < queries.size(); ++i) {
    ASSERT_TRUE(first[i].counterfactual && second[i].counterfactual);
    const Vector start =
        model.encoder.encode(first[i].query) - model.encoder.encode(second[i].query);
    const Vector end = model.encoder.encode(*first[i].counterfactual) -
                       model.encoder.encode(*second[i].counterfactual);
    // A projection onto a convex set; what is solved to a tolerance may add that.
    EXPECT_LE(end.norm(), start.norm() + 1e-6) << i;
  }
}

/// The least squared distance, over a grid of the box, at which every model of the ellipsoid gives
/// an acceptable class the largest score: for one of them, it beats all that are not acceptable.
double nearest_on_grid(const Problem& problem, const std::vector<Index>& acceptable,
                       const Matrix& inverse, const Query& query) {
  const Model& model = *problem.model;
  const Vector head = model.network.head();
  const auto [lower, upper] = plain::box_of(problem, query.index, query.raw);
  const Vector start = plain::code(model, query.raw);
  double best = std::numeric_limits<double>::infinity();
  constexpr int steps = 200;
  for (int i = 0; i <= steps; ++i) {
    for (int j = 0; j <= steps; ++j) {
      const Vector z{{lower(0) + (upper(0) - lower(0)) * i / steps,
                      lower(1) + (upper(1) - lower(1)) * j / steps}};
      const double square = (z - start).squaredNorm();
      if (square >= best) continue;
      const Vector x{{z(0), z(1), 1.0}};
      for (const Index winner : acceptable) {
        bool wins = true;
        for (Index rival = 0; rival < model.network.outputs(); ++rival) {
          if (std::find(acceptable.begin(), acceptable.end(), rival) != acceptable.end()) continue;
          Vector a = Vector::Zero(head.size());
          a.segment(winner * 3, 3) = x;
          a.segment(rival * 3, 3) = -x;
          wins = wins && head.dot(a) >= std::sqrt(2 * problem.epsilon * a.dot(inverse * a));
        }
        if (wins) best = square;
      }
    }
  }
  return best;
}

TEST(ManyClasses, AnyAcceptableClassWillDoAndTheNearestCounts) {
  const Dataset data = class_dataset(240, 2, 4, 60, 2);
  const Model model = train(data, {}, softmax_options()).model;
  const std::vector<Query> queries = queries_of(data, 12);
  const Matrix inverse = model.curvature.hessian.inverse();
  int near = 0;
  for (const std::vector<Index>& acceptable : {std::vector<Index>{1, 3}, {0, 2}}) {
    Problem any{.model = &model, .epsilon = 0.003};
    any.set.contest = make_contest(model, acceptable.front(), acceptable);
    ASSERT_TRUE(has_several_targets(any));
    const std::vector<Answer> answers = automatic_generator(any)->generate(queries, {});
    expect_audited(any, answers);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Answer& answer = answers[i];
      double nearest = std::numeric_limits<double>::infinity();
      std::string expected;
      for (const Index winner : acceptable) {
        Problem one = any;
        one.set.contest->winner = winner;
        const Answer single = ExactSearch(one).generate({queries[i]}, {}).front();
        if (!is_certified(single.status) || single.distance.weighted >= nearest) continue;
        nearest = single.distance.weighted;
        expected = single.target;
      }
      ASSERT_TRUE(is_certified(answer.status));
      EXPECT_NE(answer.status, Status::optimal);
      EXPECT_EQ(answer.distance.weighted, nearest);
      EXPECT_EQ(answer.target, expected);
      expect_class_never_changes(model, 0.003, answer, acceptable);
      const double tried = nearest_on_grid(any, acceptable, inverse, queries[i]);
      EXPECT_LE(answer.distance.weighted, tried * (1 + 1e-9)) << i;
      if (answer.status == Status::already_robust || !std::isfinite(tried)) continue;
      ++near;
      EXPECT_GE(std::sqrt(answer.distance.weighted), 0.9 * std::sqrt(tried) - 0.05) << i;
    }
  }
  EXPECT_GT(near, 5);
}

TEST(ManyClasses, TheAuditFindsAnswersForOtherClasses) {
  const Model model = class_model(2, 3, 62);
  const Problem problem{.model = &model, .set = winning(model, 1), .epsilon = 0.01};
  const std::vector<Answer> answers =
      automatic_generator(problem)->generate(random_queries(model, 5, 63), {});
  const Json good = recourse_file(problem, answers);
  const std::vector<std::function<void(Json&)>> frauds = {
      [](Json& file) { file["options"]["target"] = {"c0"}; },
      [](Json& file) {
        file["options"]["target"] = {"c1", "c2"};
      },
      [](Json& file) { file["results"][0]["target"] = "c0"; },
      [](Json& file) { file["results"][0].erase("target"); },
      [](Json& file) { file["results"][0]["robust_logit"] = 5; },
      [](Json& file) { file["results"][0]["robustness_radius"] = 5; },
  };
  for (std::size_t k = 0; k < frauds.size(); ++k) {
    Json bad = good;
    frauds[k](bad);
    const auto audits = audit_recourse_file(bad, model, "r.json");
    EXPECT_FALSE(audits.holds()) << k;
  }
  Json unknown = good;
  unknown["options"]["target"] = {"c7"};
  testing_support::expect_input_error([&] { return audit_recourse_file(unknown, model, "r.json"); },
                                      {"target", "c0, c1, c2"});
}

TEST(ManyClasses, HaveAFrontierThatRises) {
  const Model model = class_model(3, 3, 64);
  const Problem problem{.model = &model, .set = winning(model, 0)};
  const Frontier frontier(problem);
  int rising = 0;
  for (const Query& query : random_queries(model, 5, 65)) {
    const FrontierCurve curve = frontier.trace(query, {0, 0.002, 0.01, 0.02});
    ASSERT_EQ(curve.points.size(), 4U);
    double last = 0;
    for (const FrontierPoint& point : curve.points) {
      if (!point.feasible) break;
      EXPECT_GE(point.distance, last - 1e-7);
      rising += last > 0 && point.distance > last ? 1 : 0;
      last = point.distance;
    }
  }
  EXPECT_GT(rising, 3);
}

TEST(ManyClasses, RefuseANegativeMargin) {
  const Model model = class_model(2, 3, 66);
  Problem problem{.model = &model, .set = winning(model, 0), .epsilon = 0.01, .threshold = -0.1};
  expect_words(message_of(ErrorCode::argument,
                          [&] {
                            validate(problem);
                            return 0;
                          }),
               {"margin = -0.1"});
  problem.threshold = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(validate(problem), Error);
}

class ClassesOfData : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Two, ClassesOfData, testing::Values("iris3", "wine-grades"),
                         [](const auto& instance) {
                           return instance.param == "iris3" ? "iris3" : "wine_grades";
                         });

TEST_P(ClassesOfData, NoSampledModelChangesTheClassOfAnAnswer) {
  ELLICE_NEEDS_DATASET(GetParam());
  const Dataset data = load_recipe(GetParam());
  const Model model = train(data, {.balance = true}, softmax_options(1e-3)).model;
  for (const double share : {0.01, 0.05}) {
    const double epsilon = share * model.training.objective;
    for (Index winner = 0; winner < 3; ++winner) {
      const Problem problem{.model = &model, .set = winning(model, winner), .epsilon = epsilon};
      std::vector<Query> queries;
      for (Index i = 0; i < data.rows(); i += data.rows() / 20) {
        queries.push_back({.index = queries.size(), .raw = data.raw.row(i)});
      }
      const std::vector<Answer> answers =
          automatic_generator(problem)->generate(queries, {.threads = 2});
      expect_audited(problem, answers);
      int certified = 0;
      for (const Answer& answer : answers) {
        if (!is_certified(answer.status) || answer.status == Status::reduced) continue;
        ++certified;
        expect_class_never_changes(model, epsilon, answer, {winner});
      }
      RecordProperty(GetParam() + std::to_string(winner), certified);
      if (share == 0.01) {
        EXPECT_GT(certified, 10) << winner;
      }
    }
  }
}

}  // namespace
}  // namespace ellice
