#include "ellice/recourse/true_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/core/random.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/rashomon/verification.hpp"
#include "ellice/recourse/frontier.hpp"
#include "ellice/recourse/true_exact.hpp"
#include "support/class_cases.hpp"
#include "support/exact_answers.hpp"
#include "support/messages.hpp"
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

/// The objective from its definition, row by row and class by class.
double plain_objective(const Model& model, const Vector& theta) {
  const RowMatrix& rows = model.rows->encoded;
  const Index p = rows.cols() + 1;
  double sum = 0;
  for (Index i = 0; i < rows.rows(); ++i) {
    const Vector x = with_one(rows.row(i).transpose());
    double total = 0;
    for (Index k = 0; k < theta.size() / p; ++k) total += std::exp(theta.segment(k * p, p).dot(x));
    const Index label = model.rows->labels[static_cast<std::size_t>(i)];
    sum += std::log(total) - theta.segment(label * p, p).dot(x);
  }
  double squares = theta.squaredNorm();
  for (Index k = 0; !model.training.penalize_bias && k < theta.size() / p; ++k)
    squares -= theta(k * p + p - 1) * theta(k * p + p - 1);
  return sum / static_cast<double>(rows.rows()) + model.training.l2 / 2 * squares;
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

TEST(TrueClasses, NoModelOfTheSetTakesTheClassAway) {
  const Model model = model_with_rows(3, 3, 91);
  const double epsilon = 0.02;
  const double margin = 0.05;
  for (Index winner = 0; winner < 3; ++winner) {
    const Problem problem = true_problem(model, winner, epsilon, margin);
    const std::vector<Recourse> answers =
        TrueClasses(problem).generate(random_queries(model, 8, 92), {.threads = 2});
    problem_zoo::expect_audited(problem, answers);
    int changed = 0;
    for (const Recourse& answer : answers) {
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
      }
    }
    EXPECT_GT(changed, 2);
  }
}

TEST(TrueClasses, TwoOfThemGetTheAnswersOfTheLogisticModelWithHalfTheRidge) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(300, 4, 51));
  TrainingOptions options = problem_zoo::softmax_options(0.02);
  options.store_rows = true;
  const Model many = train(data, {}, options).model;
  const Model two = train(data, {}, {.l2 = 0.01, .folds = 0, .store_rows = true}).model;
  const Problem of_many = true_problem(many, 1, 0.01);
  const Problem of_two{.model = &two, .set = {.kind = SetKind::true_set}, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(many, 15, 52);
  const std::vector<Recourse> found = TrueClasses(of_many).generate(queries, {.threads = 2});
  const std::vector<Recourse> expected = TrueExact(of_two).generate(queries, {.threads = 2});
  for (std::size_t i = 0; i < queries.size(); ++i) {
    ASSERT_EQ(is_certified(found[i].status), is_certified(expected[i].status)) << i;
    if (!found[i].counterfactual) continue;
    EXPECT_NEAR(found[i].distance.weighted, expected[i].distance.weighted,
                1e-6 * (1 + expected[i].distance.weighted))
        << i << " " << enum_name(found[i].status);
  }
}

TEST(TrueClasses, CertificatesThatClaimTooMuchAreBrokenByAModel) {
  const Model model = model_with_rows(3, 3, 91);
  const Problem problem = true_problem(model, 0, 0.005);
  for (const Recourse& answer : TrueClasses(problem).generate(random_queries(model, 4, 94), {})) {
    if (answer.status == Status::already_robust) continue;
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
}

TEST(TrueClasses, RefuseWhatHasNoTrueSet) {
  const Model model = model_with_rows(2, 3, 95, {4});
  const Problem hidden = true_problem(model, 0, 0.01);
  expect_words(
      message_of(ErrorCode::argument, [&] { return TrueClasses(hidden).generate({}, {}); }),
      {"hidden layers", "last-layer"});
  const Model linear = model_with_rows(2, 3, 95);
  const Problem problem = true_problem(linear, 0, 0.01);
  expect_words(
      message_of(ErrorCode::argument, [&] { return Frontier(problem, nullptr).is_proved(); }),
      {"one logit"});
  Model altered = linear;
  altered.training.objective *= 1.001;
  const Problem of_altered = true_problem(altered, 0, 0.01);
  expect_words(
      message_of(ErrorCode::input, [&] { return TrueClasses(of_altered).generate({}, {}); }),
      {"training.objective", "altered"});
}

}  // namespace
}  // namespace ellice
