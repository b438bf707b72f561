#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/data/lending.hpp"
#include "radius/frontier.hpp"
#include "search/data_supported.hpp"
#include "search/exact_search.hpp"
#include "search/local_search.hpp"
#include "sets/contest.hpp"
#include "sets/true_set.hpp"
#include "sets/uncertainty_set.hpp"
#include "support/class_cases.hpp"
#include "support/exact_answers.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::queries_of;
using problem_zoo::random_queries;
using problem_zoo::true_problem;

TrainingOptions network_options(Activation activation = Activation::relu) {
  TrainingOptions options{.model = NetworkKind::mlp, .folds = 0, .store_rows = true, .refit = true};
  options.network.hidden = {6};
  options.network.epochs = 40;
  options.network.activation = activation;
  return options;
}

const Model& lending_network() {
  static const Model model = train(lending_dataset(400, 1), {}, network_options()).model;
  return model;
}

TEST(TrueFunction, DerivativesAreThoseOfFiniteDifferences) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(200, 3, 4));
  const Model model = train(data, {}, network_options(Activation::tanh)).model;
  const auto set = make_set(model, {.kind = SetKind::true_set}, 0.02);
  const auto function = set->function();
  const double kappa = std::sqrt(2 * 0.02);
  const auto robust = [&](const Vector& x) { return function->value(0, x).robust(kappa); };
  Random random(6);
  for (int k = 0; k < 4; ++k) {
    const Vector x = random.normal_vector(3);
    Vector logit, spread;
    (void)function->gradient(0, x, logit, spread);
    const Vector gradient = logit - kappa * spread;
    // f and s once more by the definition of both, at points that the warm start has not seen.
    for (Index i = 0; i < 3; ++i) {
      const double h = 1e-4;
      const double slope =
          (robust(x + h * Vector::Unit(3, i)) - robust(x - h * Vector::Unit(3, i))) / (2 * h);
      EXPECT_NEAR(slope, gradient(i), 1e-5);
    }
  }
}

TEST(TrueFunction, CurvatureIsThatOfTheWorstScoreOfALinearModel) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 3, 4));
  const Model model = train(data, {}, {.folds = 0, .store_rows = true}).model;
  const auto set = make_set(model, {.kind = SetKind::true_set}, 0.05);
  const auto function = set->function();
  const Vector x = Random(2).normal_vector(3);
  Vector logit, spread, ahead, behind;
  (void)function->gradient(0, x, logit, spread);
  Matrix root;
  ASSERT_TRUE(function->spread_root(0, root));
  const Matrix hessian = root.transpose() * root;
  const double h = 1e-4;
  for (Index i = 0; i < 3; ++i) {
    (void)function->gradient(0, x + h * Vector::Unit(3, i), logit, ahead);
    (void)function->gradient(0, x - h * Vector::Unit(3, i), logit, behind);
    EXPECT_LT(((ahead - behind) / (2 * h) - hessian.col(i)).norm(), 1e-5 * hessian.norm());
  }
}

TEST(TrueFunction, IsTheWorstLogitOfThePlainTrueSet) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(200, 3, 4));
  for (const bool network : {false, true}) {
    const Model model =
        train(data, {},
              network ? network_options() : TrainingOptions{.folds = 0, .store_rows = true})
            .model;
    const auto set = make_set(model, {.kind = SetKind::true_set}, 0.02);
    const auto function = set->function();
    const plain::TrueSet judge(model, 0.02);
    Random random(7);
    for (int k = 0; k < 6; ++k) {
      const Vector z = random.normal_vector(3);
      const double worst = judge.robust_logit(z);
      EXPECT_NEAR(function->value(0, z).robust(std::sqrt(2 * 0.02)), worst,
                  1e-7 * (1 + std::abs(worst)));
    }
  }
}

/// What is proved nearest is found by the local search as well.
void expect_proved_distances(const std::vector<Answer>& exact, const std::vector<Answer>& local,
                             int more_than) {
  int compared = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i].status != Status::optimal) continue;
    ASSERT_EQ(local[i].status, Status::certified) << local[i].message;
    EXPECT_GE(local[i].distance.weighted, exact[i].distance.weighted * (1 - 1e-8));
    EXPECT_LE(local[i].distance.weighted, exact[i].distance.weighted * (1 + 1e-5));
    ++compared;
  }
  EXPECT_GT(compared, more_than);
}

Model class_network(Activation activation = Activation::relu) {
  TrainingOptions options = problem_zoo::softmax_options(1e-2, {6});
  options.network.activation = activation;
  options.store_rows = true;
  return train(problem_zoo::class_dataset(240, 3, 3, 31), {}, options).model;
}

TEST(TrueFunction, OfClassesHasDerivativesOfFiniteDifferences) {
  const Model model = class_network(Activation::tanh);
  const SetChoice choice{.kind = SetKind::true_set, .contest = make_contest(model, 1)};
  const auto set = make_set(model, choice, 0.02);
  const auto function = set->function();
  const double kappa = std::sqrt(2 * 0.02);
  ASSERT_EQ(function->parts(), 2);
  Random random(6);
  for (int draw = 0; draw < 4; ++draw) {
    const Vector x = random.normal_vector(3);
    for (Index member = 0; member < 2; ++member) {
      Vector logit, spread;
      (void)function->gradient(member, x, logit, spread);
      const Vector gradient = logit - kappa * spread;
      const auto robust = [&](const Vector& at) {
        return function->value(member, at).robust(kappa);
      };
      for (Index i = 0; i < 3; ++i) {
        const double h = 1e-4;
        const double slope =
            (robust(x + h * Vector::Unit(3, i)) - robust(x - h * Vector::Unit(3, i))) / (2 * h);
        EXPECT_NEAR(slope, gradient(i), 1e-5);
      }
    }
  }
}

TEST(TrueFunction, OfClassesHasTheCurvatureOfTheWorstMarginOfALinearModel) {
  TrainingOptions options = problem_zoo::softmax_options();
  options.store_rows = true;
  const Model model = train(problem_zoo::class_dataset(240, 3, 3, 32), {}, options).model;
  const SetChoice choice{.kind = SetKind::true_set, .contest = make_contest(model, 0)};
  const auto set = make_set(model, choice, 0.05);
  const auto function = set->function();
  const Vector x = Random(2).normal_vector(3);
  Vector logit, spread, ahead, behind;
  (void)function->gradient(1, x, logit, spread);
  Matrix root;
  ASSERT_TRUE(function->spread_root(1, root));
  const Matrix hessian = root.transpose() * root;
  const double h = 1e-4;
  for (Index i = 0; i < 3; ++i) {
    (void)function->gradient(1, x + h * Vector::Unit(3, i), logit, ahead);
    (void)function->gradient(1, x - h * Vector::Unit(3, i), logit, behind);
    EXPECT_LT(((ahead - behind) / (2 * h) - hessian.col(i)).norm(), 1e-5 * hessian.norm());
  }
}

TEST(LocalSearchOverTheTrueSet, OfSeveralClassesIsCertifiedAndAudited) {
  const Model model = class_network();
  int certified = 0;
  int on_border = 0;
  for (Index winner = 0; winner < 3; ++winner) {
    Problem problem{.model = &model, .epsilon = 0.005, .threshold = 0.05};
    problem.set = {.kind = SetKind::true_set, .contest = make_contest(model, winner)};
    const std::vector<Answer> answers =
        LocalSearch(problem).generate(random_queries(model, 5, 33), {.threads = 2});
    for (const Answer& answer : answers) {
      EXPECT_FALSE(answer.status == Status::certified && answer.gap);
      certified += answer.status == Status::certified ? 1 : 0;
      if (!answer.certificate) continue;
      EXPECT_NE(answer.certificate->claim.find("hidden layers fixed"), std::string::npos);
      EXPECT_NE(answer.certificate->claim.find("No change of the hidden layers"),
                std::string::npos);
      on_border +=
          answer.status == Status::certified && answer.robust_logit < problem.threshold + 1e-3 ? 1
                                                                                               : 0;
    }
    problem_zoo::expect_audited(problem, answers);
  }
  EXPECT_GT(certified, 5);
  EXPECT_GT(4 * on_border, 3 * certified);
}

TEST(LocalSearchOverTheTrueSet, OfLinearClassesEndsAtTheProvedOptimum) {
  TrainingOptions options = problem_zoo::softmax_options();
  options.store_rows = true;
  const Model model = train(problem_zoo::class_dataset(240, 3, 3, 34), {}, options).model;
  Problem problem{.model = &model, .epsilon = 0.01};
  problem.set = {.kind = SetKind::true_set, .contest = make_contest(model, 2)};
  problem.constraints.range = RangePolicy::off;
  const std::vector<Query> queries = random_queries(model, 8, 35);
  const std::vector<Answer> exact = ExactSearch(problem).generate(queries, {});
  const std::vector<Answer> local = LocalSearch(problem).generate(queries, {});
  expect_proved_distances(exact, local, 2);
}

TEST(LocalSearchOverTheTrueSet, AnswersAreCertifiedAndAudited) {
  const Model& model = lending_network();
  const Problem problem = true_problem(model, 0.005);
  const std::vector<Query> queries = queries_of(lending_dataset(400, 1), 15);
  const std::vector<Answer> answers = LocalSearch(problem).generate(queries, {.threads = 2});
  int certified = 0;
  const plain::TrueSet judge(model, problem.epsilon);
  for (const Answer& answer : answers) {
    EXPECT_NE(answer.status, Status::optimal);
    EXPECT_FALSE(answer.status == Status::certified && answer.gap);
    certified += answer.status == Status::certified ? 1 : 0;
    if (answer.status == Status::certified) {
      plain::expect_allowed(problem, answer);
      EXPECT_GE(judge.worst(plain::code(model, *answer.counterfactual)).bound, -1e-8);
    }
    if (!answer.certificate) continue;
    EXPECT_EQ(answer.certificate->set, SetKind::true_set);
    EXPECT_NE(answer.certificate->claim.find("hidden layers fixed"), std::string::npos);
  }
  EXPECT_GT(certified, 3);
  problem_zoo::expect_audited(problem, answers);
}

TEST(LocalSearchOverTheTrueSet, OfALinearModelEndsAtTheProvedOptimum) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(400, 4, 3));
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0, .store_rows = true}).model;
  Problem problem = true_problem(model, 0.01);
  problem.constraints.range = RangePolicy::off;
  const std::vector<Query> queries = random_queries(model, 12, 7);
  const std::vector<Answer> exact = ExactSearch(problem).generate(queries, {});
  const std::vector<Answer> local = LocalSearch(problem).generate(queries, {});
  expect_proved_distances(exact, local, 3);
  const plain::TrueSet judge(model, problem.epsilon);
  int nearest = 0;
  for (const Answer& answer : local) {
    if (answer.status != Status::certified) continue;
    ++nearest;
    const plain::TrueSet::Worst worst = judge.worst(plain::code(model, *answer.counterfactual));
    EXPECT_GE(worst.bound, -1e-8);
    plain::expect_nearest(problem, answer, worst.model, 1e-4);
  }
  EXPECT_GT(nearest, 3);
}

TEST(LocalSearchOverTheTrueSet, WithTwoInputsIsAsNearAsBruteForce) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 2, 21));
  const Model model = train(data, {}, network_options(Activation::tanh)).model;
  Problem problem = true_problem(model, 0.01);
  problem.constraints.range = RangePolicy::off;
  const plain::TrueSet judge(model, problem.epsilon);
  // Rings around the query, from the inside: the first that the true set accepts somewhere.
  std::vector<Vector> refusing;
  const auto nearest = [&](const Vector& query) {
    constexpr int directions = 72;
    for (double radius = 0.01; radius < 4; radius *= 1.03) {
      for (int k = 0; k < directions; ++k) {
        const double angle = 2 * M_PI * k / directions;
        const Vector x = query + radius * Vector{{std::cos(angle), std::sin(angle)}};
        // Most points are refused by a model that has refused another one.
        const Vector inputs = plain::last_inputs(model.network, x);
        const bool is_refused =
            std::any_of(refusing.begin(), refusing.end(),
                        [&](const Vector& one) { return one.dot(inputs) < problem.threshold; });
        if (is_refused || plain::logit(model.network, x) < problem.threshold) continue;
        const plain::TrueSet::Worst worst = judge.worst(x);
        if (worst.attained >= problem.threshold) return radius;
        refusing.push_back(worst.model);
      }
    }
    return 4.0;
  };
  int compared = 0;
  for (const Answer& answer : LocalSearch(problem).generate(random_queries(model, 8, 4), {})) {
    if (answer.status == Status::already_robust) continue;
    const double best = nearest(model.encoder.encode(answer.query));
    if (best >= 4) continue;
    ASSERT_EQ(answer.status, Status::certified) << answer.message;
    EXPECT_LE(answer.distance.l2, 1.02 * best);
    EXPECT_GE(judge.worst(plain::code(model, *answer.counterfactual)).bound, -1e-8);
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(LocalSearchOverTheTrueSet, IsNeverDearerThanAnAnswerOfTheEllipsoidThatTheTrueSetAccepts) {
  const Model& model = lending_network();
  const Problem problem = true_problem(model, 0.005);
  Problem ellipsoid = problem;
  ellipsoid.set = {};
  const std::vector<Query> queries = queries_of(lending_dataset(400, 1), 15);
  const std::vector<Answer> answers = LocalSearch(problem).generate(queries, {});
  const std::vector<Answer> others = LocalSearch(ellipsoid, &*model.rows).generate(queries, {});
  const plain::TrueSet judge(model, problem.epsilon);
  int improved = 0;
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(answers[i].robustness_radius.has_value(), answers[i].counterfactual.has_value());
    EXPECT_FALSE(answers[i].predicted_survival);
    if (others[i].status != Status::certified) continue;
    if (judge.worst(plain::code(model, *others[i].counterfactual)).bound < 1e-8) continue;
    ++compared;
    EXPECT_LE(answers[i].distance.weighted, others[i].distance.weighted * (1 + 1e-9));
    improved += answers[i].distance.weighted < others[i].distance.weighted * (1 - 1e-6) ? 1 : 0;
  }
  EXPECT_GT(compared, 3);
  EXPECT_GT(2 * improved, compared);
}

TEST(LocalSearchOverTheTrueSet, AnEpsilonBeyondReachIsReduced) {
  const Model& model = lending_network();
  const Problem problem = true_problem(model, 0.3);
  const std::vector<Answer> answers =
      LocalSearch(problem).generate(queries_of(lending_dataset(400, 1), 6), {});
  int reduced = 0;
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.status == Status::reduced || answer.status == Status::not_found ||
                answer.status == Status::already_robust || answer.status == Status::certified);
    if (answer.status != Status::reduced) continue;
    ++reduced;
    EXPECT_LT(*answer.attained_epsilon, problem.epsilon);
    EXPECT_EQ(answer.certificate->epsilon, *answer.attained_epsilon);
    plain::expect_allowed(problem, answer);
    const plain::TrueSet judge(model, *answer.attained_epsilon);
    EXPECT_GE(judge.worst(plain::code(model, *answer.counterfactual)).bound, -1e-8);
  }
  EXPECT_GT(reduced, 0);
  problem_zoo::expect_audited(problem, answers);
}

TEST(LocalSearchOverTheTrueSet, IsTheSameForAnyNumberOfThreads) {
  const Problem problem = true_problem(lending_network(), 0.005);
  const std::vector<Query> queries = queries_of(lending_dataset(400, 1), 6);
  const LocalSearch search(problem);
  EXPECT_EQ(problem_zoo::recourse_file(problem, search.generate(queries, {.threads = 1})),
            problem_zoo::recourse_file(problem, search.generate(queries, {.threads = 3})));
}

TEST(LocalSearchOverTheTrueSet, FrontierOfANetworkIsSearched) {
  const Problem problem = true_problem(lending_network(), 0);
  const Frontier frontier(problem, nullptr);
  const FrontierCurve curve =
      frontier.trace(queries_of(lending_dataset(400, 1), 1).front(), {0, 0.001, 0.005});
  EXPECT_EQ(curve.points.size(), 3U);
  EXPECT_FALSE(curve.is_proved);
}

TEST(LocalSearchOverTheTrueSet, AHeadThatStoppedEarlyIsRefused) {
  TrainingOptions options = network_options();
  options.refit = false;
  options.network.epochs = 3;
  const Model model = train(lending_dataset(400, 1), {}, options).model;
  const Problem problem = true_problem(model, 1e-4);
  try {
    const LocalSearch search(problem);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("`refit`"), std::string::npos) << error.what();
  }
}

TEST(DataSupported, OfTheTrueSetAreTheRowsThatItCertifies) {
  const Dataset data = lending_dataset(400, 1);
  for (const bool network : {false, true}) {
    const Model model =
        network ? lending_network() : train(data, {}, {.folds = 0, .store_rows = true}).model;
    const Problem problem = true_problem(model, 0.005);
    const DataSupported search(problem, data.raw);
    const plain::TrueSet judge(model, problem.epsilon);
    Index expected = 0;
    for (Index i = 0; i < data.rows(); ++i) {
      const Vector z = plain::code(model, Vector(data.raw.row(i)));
      if (plain::logit(model.network, z) < 0) continue;  // refused by the model itself
      expected += judge.worst(z).attained >= 0 ? 1 : 0;
    }
    EXPECT_EQ(search.robust_rows(), expected);
    EXPECT_GT(expected, 0);
    const std::vector<Answer> answers = search.generate(queries_of(data, 10), {});
    problem_zoo::expect_audited(problem, answers);
  }
}

}  // namespace
}  // namespace ellice
