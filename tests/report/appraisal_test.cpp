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
    const Appraisal now = appraiser.before(answer), then = appraiser.after(answer);
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

}  // namespace
}  // namespace ellice
