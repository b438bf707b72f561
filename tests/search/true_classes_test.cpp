
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/core/error.hpp"
#include "radius/frontier.hpp"
#include "search/exact_search.hpp"
#include "sets/contest.hpp"
#include "sets/ellipsoid.hpp"
#include "support/class_cases.hpp"
#include "support/exact_answers.hpp"
#include "support/messages.hpp"
#include "support/oracles.hpp"
#include "support/plain_rows.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::random_queries;
using testing_support::expect_words;
using testing_support::message_of;

Model model_with_rows(Index columns, Index classes, std::uint64_t seed,
                      std::vector<int> hidden = {}) {
  TrainingOptions options = problem_zoo::softmax_options(1e-2, std::move(hidden));
  options.store_rows = true;
  return train(problem_zoo::class_dataset(240, columns, classes, seed), {}, options).model;
}

Problem true_problem(const Model& model, Index winner, double epsilon, double margin = 0) {
  Problem problem{.model = &model, .epsilon = epsilon, .threshold = margin};
  problem.set = {.kind = SetKind::true_set, .contest = make_contest(model, winner)};
  return problem;
}

/// The objective and its gradient from their definition, row by row and class by class, the bias
/// penalised as well.
double plain_objective(const Model& model, const Vector& theta, Vector& gradient) {
  const RowMatrix& rows = model.rows->encoded;
  const Index p = rows.cols() + 1;
  const Index classes = theta.size() / p;
  const auto n = static_cast<double>(rows.rows());
  gradient = model.training.l2 * theta;
  double value = model.training.l2 / 2 * theta.squaredNorm();
  for (Index i = 0; i < rows.rows(); ++i) {
    const Vector x = with_one(rows.row(i).transpose());
    double total = 0;
    for (Index k = 0; k < classes; ++k) total += std::exp(theta.segment(k * p, p).dot(x));
    const Index label = model.rows->labels[static_cast<std::size_t>(i)];
    value += (std::log(total) - theta.segment(label * p, p).dot(x)) / n;
    for (Index k = 0; k < classes; ++k) {
      const double share = std::exp(theta.segment(k * p, p).dot(x)) / total;
      gradient.segment(k * p, p) += (share - (k == label ? 1 : 0)) / n * x;
    }
  }
  return value;
}

double plain_objective(const Model& model, const Vector& theta) {
  Vector unused;
  return plain_objective(model, theta, unused);
}

/// The model of the ray that lies on the border of the true set, to rounding, from inside.
Vector border_model(const Model& model, double epsilon, const Vector& direction) {
  const Vector center = model.network.head();
  const double level = plain_objective(model, center) + epsilon;
  double inside = 0;
  double outside = 1;
  while (plain_objective(model, center + outside * direction) < level) outside *= 2;
  for (int step = 0; step < 50; ++step) {
    const double middle = (inside + outside) / 2;
    (plain_objective(model, center + middle * direction) <= level ? inside : outside) = middle;
  }
  return center + inside * direction;
}

double smallest_margin(const Vector& theta, const Vector& x_tilde, Index winner) {
  const Index p = x_tilde.size();
  double smallest = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < theta.size() / p; ++k) {
    if (k == winner) continue;
    smallest =
        std::min(smallest, (theta.segment(winner * p, p) - theta.segment(k * p, p)).dot(x_tilde));
  }
  return smallest;
}

/// Heads on the border of the true set with the smallest margin over a rival: by bisection for the
/// multiplier, each step a minimisation.
Vector plain_worst(const Model& model, double epsilon, const Vector& x_tilde, Index winner,
                   Index rival) {
  const Index p = x_tilde.size();
  Vector theta = model.network.head();
  const double level = plain_objective(model, theta) + epsilon;
  Vector c = Vector::Zero(theta.size());
  c.segment(winner * p, p) = x_tilde;
  c.segment(rival * p, p) = -x_tilde;
  const auto objective_at = [&](double tau) {
    theta = oracles::minimize_lbfgs(
        [&](const Vector& at, Vector& gradient) {
          const double value = plain_objective(model, at, gradient) + tau * c.dot(at);
          gradient += tau * c;
          return value;
        },
        theta);
    return plain_objective(model, theta);
  };
  double low = 0;
  double high = 1e-2;
  while (objective_at(high) < level) high *= 2;
  for (int step = 0; step < 30; ++step) {
    const double middle = (low + high) / 2;
    (objective_at(middle) < level ? low : high) = middle;
  }
  (void)objective_at(low);
  return theta;
}

/// aᵀx ≥ b.
struct Plane {
  Vector a = {};
  double b = 0;
};

/// The point of a plane region that is nearest to a query: the query itself, its foot on one line,
/// or the corner of two.
Vector nearest_in_plane(const Vector& query, const std::vector<Plane>& planes) {
  std::vector<Vector> points = {query};
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const Vector& a = planes[i].a;
    points.emplace_back(query + (planes[i].b - a.dot(query)) / a.squaredNorm() * a);
    for (std::size_t j = 0; j < i; ++j) {
      const Vector& other = planes[j].a;
      const double area = a(0) * other(1) - a(1) * other(0);
      if (std::abs(area) < 1e-12) continue;
      points.push_back(Vector{{(planes[i].b * other(1) - planes[j].b * a(1)) / area,
                               (planes[j].b * a(0) - planes[i].b * other(0)) / area}});
    }
  }
  Vector best;
  double least = std::numeric_limits<double>::infinity();
  for (const Vector& point : points) {
    const bool is_inside = std::all_of(planes.begin(), planes.end(), [&](const Plane& plane) {
      return plane.a.dot(point) >= plane.b - 1e-9 * (1 + std::abs(plane.b));
    });
    if (!is_inside || (point - query).norm() >= least) continue;
    least = (point - query).norm();
    best = point;
  }
  return best;
}

/// Cutting planes, each of them heads of the true set: the distance that they end with is the least
/// one, and before the end it is below that.
double least_distance(const Model& model, double epsilon, double margin, Index winner,
                      const Vector& query) {
  std::vector<Plane> planes;
  Vector x = query;
  for (int round = 0; round < 25; ++round) {
    x = nearest_in_plane(query, planes);
    double least = std::numeric_limits<double>::infinity();
    for (Index rival = 0; rival < model.network.outputs(); ++rival) {
      if (rival == winner) continue;
      const Vector theta = plain_worst(model, epsilon, with_one(x), winner, rival);
      const Vector pair = theta.segment(winner * 3, 3) - theta.segment(rival * 3, 3);
      least = std::min(least, pair.dot(with_one(x)));
      planes.push_back({.a = pair.head(2), .b = margin - pair(2)});
    }
    if (least >= margin - 1e-6) break;
  }
  return (x - query).norm();
}

TEST(ExactSearchOfTrueClasses, AnswersAreTheNearestByIndependentCuttingPlanes) {
  const Model model = model_with_rows(2, 4, 83);
  int changed = 0;
  int corners = 0;
  for (Index winner = 0; winner < 4; ++winner) {
    Problem problem = true_problem(model, winner, 0.01, 0.05);
    problem.constraints.range = RangePolicy::off;
    const std::vector<Query> queries = random_queries(model, 4, 84);
    const std::vector<Answer> answers = ExactSearch(problem).generate(queries, {});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Answer& answer = answers[i];
      if (answer.status == Status::already_robust) continue;
      if (!answer.counterfactual) continue;
      ASSERT_EQ(answer.status, Status::optimal) << answer.message;
      ++changed;
      const double least = least_distance(model, problem.epsilon, problem.threshold, winner,
                                          model.encoder.encode(answer.query));
      EXPECT_NEAR(answer.distance.l2, least, 1e-5 * least);
      const auto binds = [&](const RivalCertificate& rival) {
        return rival.robust_logit < problem.threshold + 1e-6;
      };
      const std::vector<RivalCertificate>& rivals = answer.certificate->rivals;
      corners += std::count_if(rivals.begin(), rivals.end(), binds) > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 7);
  EXPECT_GT(corners, 0) << "nothing was seen of several rivals that bind at once";
}

TEST(ExactSearchOfTrueClasses, AreTheSameForAnyNumberOfThreads) {
  const Model model = model_with_rows(3, 3, 91);
  const Problem problem = true_problem(model, 1, 0.01);
  const std::vector<Query> queries = random_queries(model, 12, 95);
  const std::vector<Answer> one = ExactSearch(problem).generate(queries, {.threads = 1});
  const std::vector<Answer> four = ExactSearch(problem).generate(queries, {.threads = 4});
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(one[i].status, four[i].status);
    EXPECT_EQ(one[i].counterfactual, four[i].counterfactual);
    EXPECT_EQ(one[i].robust_logit, four[i].robust_logit);
  }
}

TEST(ExactSearchOfTrueClasses, NoModelOfTheSetTakesTheClassAway) {
  const Model model = model_with_rows(3, 3, 91);
  const double epsilon = 0.005;  // at 0.02 nothing robust is left for the class in the middle
  const double margin = 0.05;
  for (Index winner = 0; winner < 3; ++winner) {
    const Problem problem = true_problem(model, winner, epsilon, margin);
    const std::vector<Answer> answers =
        ExactSearch(problem).generate(random_queries(model, 8, 92), {.threads = 2});
    problem_zoo::expect_audited(problem, answers);
    int changed = 0;
    for (const Answer& answer : answers) {
      ASSERT_TRUE(is_certified(answer.status)) << answer.message;
      changed += answer.status == Status::already_robust ? 0 : 1;
      const Vector x = with_one(model.encoder.encode(*answer.counterfactual));
      Random random = Random(93).split(answer.query_index);
      for (int draw = 0; draw < 60; ++draw) {
        Vector direction = random.normal_vector(model.network.head().size());
        // Half of them lean towards a rival's worst model, where margins are small.
        const RivalCertificate& rival =
            answer.certificate->rivals[static_cast<std::size_t>(draw % 2)];
        if (draw % 4 < 2) direction = rival.worst_model - model.network.head() + 0.05 * direction;
        const Vector theta = border_model(model, epsilon, direction);
        EXPECT_GE(smallest_margin(theta, x, winner), margin - 1e-9);
      }
      for (const RivalCertificate& rival : answer.certificate->rivals) {
        EXPECT_LE(plain_objective(model, rival.worst_model),
                  plain_objective(model, model.network.head()) + epsilon * (1 + 1e-9));
      }
      if (answer.status != Status::already_robust) {
        EXPECT_LT(answer.robust_logit, margin + 1e-4) << "farther than it need be";
        EXPECT_NEAR(*answer.robustness_radius, epsilon, 0.01 * epsilon);
      } else {
        EXPECT_GE(*answer.robustness_radius, epsilon);
      }
    }
    EXPECT_GT(changed, 2);
  }
}

TEST(ExactSearchOfTrueClasses, TwoOfThemGetTheAnswersOfTheLogisticModelWithHalfTheRidge) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 51));
  TrainingOptions options = problem_zoo::softmax_options(0.02);
  options.store_rows = true;
  const Model many = train(data, {}, options).model;
  const Model two = train(data, {}, {.l2 = 0.01, .folds = 0, .store_rows = true}).model;
  const Problem of_many = true_problem(many, 1, 0.01);
  const Problem of_two{.model = &two, .set = {.kind = SetKind::true_set}, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(many, 15, 52);
  const std::vector<Answer> found = ExactSearch(of_many).generate(queries, {.threads = 2});
  const std::vector<Answer> expected = ExactSearch(of_two).generate(queries, {.threads = 2});
  int compared = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    ASSERT_EQ(is_certified(found[i].status), is_certified(expected[i].status)) << i;
    if (!found[i].counterfactual) continue;
    ++compared;
    EXPECT_NEAR(*found[i].robustness_radius, *expected[i].robustness_radius, 1e-6) << i;
    EXPECT_NEAR(found[i].distance.weighted, expected[i].distance.weighted,
                1e-6 * (1 + expected[i].distance.weighted))
        << i << " " << enum_name(found[i].status);
  }
  EXPECT_GT(compared, 5);
}

TEST(ExactSearchOfTrueClasses, CertificatesThatClaimTooMuchAreBrokenByAModel) {
  const Model model = model_with_rows(3, 3, 91);
  const Problem problem = true_problem(model, 0, 0.005);
  int broken = 0;
  for (const Answer& answer : ExactSearch(problem).generate(random_queries(model, 4, 94), {})) {
    if (answer.status == Status::already_robust) continue;
    ++broken;
    ASSERT_TRUE(answer.certificate);
    Certificate certificate = *answer.certificate;
    EXPECT_TRUE(Verifier(model).verify(certificate).holds());
    certificate.epsilon = 0.02;
    const Verification found = Verifier(model).verify(certificate);
    EXPECT_FALSE(found.holds());
    ASSERT_TRUE(found.breaking_model);
    EXPECT_LT(smallest_margin(*found.breaking_model,
                              with_one(model.encoder.encode(certificate.point)), 0),
              0);
  }
  EXPECT_GT(broken, 0);
}

TEST(ExactSearchOfTrueClasses, AlteredCertificatesFail) {
  const Model model = model_with_rows(3, 3, 91);
  const Problem problem = true_problem(model, 2, 0.01);
  const std::vector<Answer> answers =
      ExactSearch(problem).generate(random_queries(model, 1, 96), {});
  ASSERT_TRUE(answers.front().certificate);
  const Certificate& certificate = *answers.front().certificate;
  const auto holds_after = [&](const auto& alter) {
    Certificate altered = certificate;
    alter(altered);
    return Verifier(model).verify(altered).holds();
  };
  EXPECT_TRUE(holds_after([](Certificate&) {}));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.rivals[1].robust_logit += 1e-3; }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.rivals[0].logit += 1e-3; }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.rivals[0].worst_model(2) += 1e-3; }));
  EXPECT_FALSE(holds_after([&](Certificate& one) {
    one.rivals[0].worst_model = model.network.head();  // of the set, but not its worst
  }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.rivals.pop_back(); }));
  EXPECT_FALSE(holds_after([](Certificate& one) { std::swap(one.rivals[0], one.rivals[1]); }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.robust_logit += 1e-3; }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.target = "c0"; }));
  EXPECT_FALSE(holds_after([](Certificate& one) { one.threshold += 1; }));
}

TEST(ExactSearchOfTrueClasses, InfeasibleIsProvedByHeadsOfTheSet) {
  for (const Index classes : {2, 3}) {
    const Model model = model_with_rows(3, classes, 71);
    Problem problem = true_problem(model, 0, 0.2, 3);
    std::vector<Answer> refused;
    for (Answer& answer : ExactSearch(problem).generate(random_queries(model, 6, 72), {})) {
      if (answer.status == Status::infeasible) refused.push_back(std::move(answer));
    }
    ASSERT_GT(refused.size(), 2U) << classes;
    problem_zoo::expect_audited(problem, refused);
    for (const Answer& answer : refused) {
      const Infeasibility& why = *answer.infeasible;
      // Each model of the proof is within the level by the definition of the objective, and their
      // weighted lead stays below the margin everywhere in the box.
      Vector plane = Vector::Zero(4);
      Vector unused;
      const double level = plain_objective(model, model.network.head(), unused) + problem.epsilon;
      ASSERT_FALSE(why.models.empty());
      for (const WeightedModel& one : why.models) {
        EXPECT_LE(plain_objective(model, one.model, unused), level + 1e-12);
        const Index rival = problem.set.contest->rivals[one.member];
        plane += one.weight * (one.model.segment(0, 4) - one.model.segment(4 * rival, 4));
      }
      const double most = plain::highest_score(problem, answer.query_index,
                                               plain::numbers(model.schema(), answer.query), plane);
      EXPECT_LT(most, problem.threshold);
      EXPECT_NEAR(most, why.upper_bound, 1e-9 * (1 + std::abs(most)));
      EXPECT_LE(why.max_epsilon.upper, problem.epsilon);
    }
  }
}

TEST(ExactSearchOfTrueClasses, ProofsOverRangesWithoutEndAreVerified) {
  // Heads of two classes that agree in a column do so by cancellation, to whoever subtracts them.
  std::size_t proved = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const Model model = model_with_rows(2, 3, 300 + seed);
    Problem problem = true_problem(model, static_cast<Index>(seed % 3), 0.3, 0.2);
    problem.constraints.range = RangePolicy::off;
    if (seed % 2 == 0) problem.constraints.features["x1"].max = 0;
    const std::vector<Answer> answers = problem_zoo::solve(problem, random_queries(model, 4, seed));
    for (const Answer& answer : answers) proved += answer.infeasible ? 1 : 0;
    problem_zoo::expect_audited(problem, answers);
  }
  EXPECT_GT(proved, 4U);
}

TEST(ExactSearchOfTrueClasses, FrontierRisesToAnEnd) {
  const Model model = model_with_rows(2, 3, 95);
  const Problem problem = true_problem(model, 0, 0.01);
  const Frontier frontier(problem, nullptr);
  EXPECT_FALSE(frontier.is_solved_at_once());
  int reached = 0;
  for (const Query& query : random_queries(model, 3, 97)) {
    const FrontierCurve curve = frontier.trace(query, {0, 0.005, 0.02, 50});
    ASSERT_EQ(curve.points.size(), 4U);
    for (std::size_t k = 1; k < 3; ++k) {
      if (!curve.points[k].feasible) continue;
      ++reached;
      EXPECT_TRUE(curve.points[k - 1].feasible);
      EXPECT_GE(curve.points[k].cost, curve.points[k - 1].cost);
    }
    EXPECT_FALSE(curve.points[3].feasible);
    ASSERT_TRUE(curve.max_epsilon);
    EXPECT_TRUE(curve.is_max_proved);
  }
  EXPECT_GT(reached, 3);
}

TEST(ExactSearchOfTrueClasses, RefuseOtherModelsAndFiles) {
  const Model model = model_with_rows(2, 3, 95, {4});
  const Problem hidden = true_problem(model, 0, 0.01);
  expect_words(
      message_of(ErrorCode::argument, [&] { return ExactSearch(hidden).generate({}, {}); }),
      {"hidden layers", "`method: network`"});
  const Model linear = model_with_rows(2, 3, 95);
  Model other = linear;
  other.rows->labels.front() = 1 - other.rows->labels.front();
  const Problem of_other = true_problem(other, 0, 0.01);
  expect_words(message_of(ErrorCode::input, [&] { return ExactSearch(of_other).generate({}, {}); }),
               {"not those of the model"});
  Model altered = linear;
  altered.training.objective *= 1.001;
  const Problem of_altered = true_problem(altered, 0, 0.01);
  expect_words(
      message_of(ErrorCode::input, [&] { return ExactSearch(of_altered).generate({}, {}); }),
      {"training.objective", "altered"});
}

}  // namespace
}  // namespace ellice
