#include "report/appraisal.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "ellice/core/error.hpp"
#include "report/lending_answers.hpp"

namespace ellice {
namespace {

using testing_support::lending_example;
using testing_support::lending_model;

TEST(Appraiser, GivesTheStandingOfQueryAndCounterfactual) {
  const auto example = lending_example(6, 0.03);
  const Model& model = example.model;
  const Appraiser appraiser(model, 0.03, 0);
  const Matrix inverse = model.curvature.hessian.inverse();
  for (const Answer& answer : example.answers) {
    if (!answer.counterfactual) continue;
    const double epsilon = answer.status == Status::reduced ? 0.015 : 0.03;
    EXPECT_EQ(appraiser.epsilon_of(answer), epsilon);
    Vector x_tilde(model.encoder.columns() + 1);
    x_tilde << model.encoder.encode(answer.query), 1;
    const Judgement now = appraiser.before(answer), then = appraiser.after(answer);
    const double penalty = std::sqrt(2 * epsilon * x_tilde.dot(inverse * x_tilde));
    EXPECT_NEAR(now.logit, model.network.head().dot(x_tilde), 1e-12);
    EXPECT_NEAR(now.penalty, penalty, 1e-9 * penalty);
    EXPECT_EQ(then.logit, answer.logit);
    EXPECT_NEAR(then.robust_logit(), answer.robust_logit, 1e-12);
  }
}

TEST(Appraiser, ShowsProbabilitiesOnlyWhereTheLossModelsOne) {
  Model model = lending_model();
  EXPECT_EQ(Appraiser(model, 0.01, 0).display_score(0), "50.0 %");
  EXPECT_EQ(Appraiser(model, 0.01, 0).scale_name(), "probability of approved = yes");
  model.training.loss_kind = LossKind::squared;
  EXPECT_EQ(Appraiser(model, 0.01, 0).display_score(-0.25), "-0.25");
  EXPECT_EQ(Appraiser(model, 0.01, 0).scale_name(), "score for approved = yes");
}

TEST(Appraiser, RefusesAnEpsilonThatCannotBe) {
  const Model model = lending_model();
  EXPECT_THROW(Appraiser(model, -1, 0), Error);
  EXPECT_THROW(Appraiser(model, INFINITY, 0), Error);
}

TEST(AlignmentMeter, IsTheShareAlongTheLeadingEigenvectors) {
  Model model = lending_model();
  const Index n = model.encoder.columns() + 1;
  // A diagonal H whose leading directions are the columns of income, debt and age.
  const auto column = [&](const char* name) {
    return model.encoder.first_column(*model.schema().find(name));
  };
  Vector diagonal = Vector::LinSpaced(n, 0.1, 0.2);
  diagonal[column("income")] = 9;
  diagonal[column("debt")] = 5;
  diagonal[column("age")] = 3;
  model.curvature.hessian = diagonal.asDiagonal();
  const AlignmentMeter meter(model);
  const Dataset data = lending_dataset(50, 2);
  const RawRow from = model.encoder.values({data.raw.data(), model.schema().features.size()});
  RawRow to = from;
  const auto move = [&](const char* name, double deviations) {
    const std::size_t j = *model.schema().find(name);
    to[j] = std::get<double>(from[j]) + deviations * model.encoder.scale()[column(name)];
  };
  move("income", 2);
  move("debt", 1);
  move("savings", 2);
  const Alignment found = meter.of(from, to);
  EXPECT_NEAR(found.top_one, 4.0 / 9, 1e-12);
  EXPECT_NEAR(found.top_three, 5.0 / 9, 1e-12);
  EXPECT_EQ(meter.of(from, from).top_one, 0);
  EXPECT_DOUBLE_EQ(meter.by_chance(3), 3.0 / static_cast<double>(n));
}

}  // namespace
}  // namespace ellice
