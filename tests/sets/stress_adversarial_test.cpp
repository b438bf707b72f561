#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "sets/stress.hpp"
#include "support/oracles.hpp"
#include "support/stress_cases.hpp"

namespace ellice {
namespace {

using stress_cases::expect_inside;
using stress_cases::plain_logit;
using stress_cases::plain_objective;
using stress_cases::Trained;

/// What the published rule says for a linear base, in plain arithmetic.
struct PlainDescent {
  Vector theta = {};
  int steps = 0;
};
PlainDescent plain_descent(const Trained& trained, Index row, double bound, int max_steps) {
  const Vector base = parameter_vector(trained.base);
  const Index d = base.size() - 1;
  Vector x(d + 1);
  x << trained.train.features.row(row).transpose(), 1;
  const double target = base.dot(x) >= 0 ? 0 : 1;
  Vector theta = base;
  Vector before = base;
  Vector velocity = Vector::Zero(d + 1);
  for (int step = 0; step < max_steps; ++step) {
    if (plain_objective(linear_network(theta), trained.train, 1e-3) > bound) {
      return {.theta = before, .steps = step - 1};
    }
    before = theta;
    const double m = 1 / (1 + std::exp(-theta.dot(x)));
    velocity = 0.9 * velocity + (m - target) * x + 1e-3 * theta;
    theta -= 1e-3 * velocity;
  }
  return {.theta = theta, .steps = max_steps};
}

TEST(AdversarialWeights, PublishedFollowsItsRule) {
  const Trained trained({});
  const double bound = trained.objective + 0.005;
  const StressSet set =
      adversarial_set(trained.source, bound, {.variant = Variant::published, .count = 7});
  ASSERT_EQ(set.models.size(), 7U);
  int stopped = 0;
  for (std::size_t k = 0; k < 7; ++k) {
    const Index row = static_cast<Index>(k) * 22;  // 160 div 7
    const PlainDescent expected = plain_descent(trained, row, bound, 400);
    EXPECT_LE((parameter_vector(set.models[k].network) - expected.theta).norm(), 1e-10);
    stopped += expected.steps < 400 ? 1 : 0;
  }
  EXPECT_GT(stopped, 0);
}

TEST(AdversarialWeights, OneDescentGivesWhatEachBoundGivesAlone) {
  for (const bool is_network : {false, true}) {
    const Trained trained(is_network ? std::vector<int>{4} : std::vector<int>{});
    const double base = trained.objective;
    // In no order, one twice, one below the base.
    const std::vector<double> bounds = {base + 0.02, base + 0.005, base - 0.01, base + 0.02};
    for (const Variant variant : {Variant::published, Variant::corrected}) {
      const StressOptions options{.variant = variant, .count = 9};
      const std::vector<StressSet> sets = adversarial_sets(trained.source, bounds, options);
      ASSERT_EQ(sets.size(), bounds.size());
      for (std::size_t k = 0; k < bounds.size(); ++k) {
        const StressSet alone = adversarial_set(trained.source, bounds[k], options);
        EXPECT_EQ(sets[k].bound, bounds[k]);
        EXPECT_EQ(sets[k].tried, alone.tried);
        ASSERT_EQ(sets[k].models.size(), alone.models.size());
        EXPECT_EQ(alone.models.empty(), k == 2);
        for (std::size_t i = 0; i < alone.models.size(); ++i) {
          EXPECT_EQ(sets[k].models[i].objective, alone.models[i].objective);
          EXPECT_EQ(parameter_vector(sets[k].models[i].network),
                    parameter_vector(alone.models[i].network));
        }
      }
    }
  }
}

TEST(AdversarialWeights, LastStepIsCheckedInTheCorrectedVariantOnly) {
  const Trained trained({});
  const double bound = trained.objective + 0.005;
  // With as many steps as the first row needs to leave the set, its last step is the one outside.
  const int steps = plain_descent(trained, 0, bound, 400).steps + 1;
  ASSERT_LT(steps, 400);
  const StressSet published = adversarial_set(
      trained.source, bound, {.variant = Variant::published, .count = 1, .steps = steps});
  const StressSet corrected = adversarial_set(trained.source, bound, {.count = 1, .steps = steps});
  EXPECT_GT(published.models.at(0).objective, bound);
  EXPECT_LE(corrected.models.at(0).objective, bound);
  EXPECT_GE(corrected.models.at(0).objective, bound - 1e-8);
}

TEST(AdversarialWeights, EndOnTheBoundWithTheirRowMovedTowardsTheOtherClass) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}, {5, 4}}) {
    const Trained trained(hidden);
    const double bound = trained.objective + 0.02;
    const StressSet set = adversarial_set(trained.source, bound, {.count = 40, .steps = 2000});
    ASSERT_EQ(set.models.size(), 40U);
    EXPECT_EQ(set.tried, 40U);
    expect_inside(set, trained);
    int on_bound = 0;
    for (std::size_t k = 0; k < 40; ++k) {
      const Vector x = trained.train.features.row(static_cast<Index>(k) * 4).transpose();
      const double before = plain_logit(trained.base, x);
      const double after = plain_logit(set.models[k].network, x);
      EXPECT_LT(before >= 0 ? after - before : before - after, 0) << k;
      on_bound += set.models[k].objective >= bound - 1e-8 ? 1 : 0;
    }
    EXPECT_GE(on_bound, 35);
  }
}

TEST(AdversarialWeights, OneModelPerRowWhereThereAreFewerRowsThanAreWanted) {
  const Trained trained({6}, 15);
  EXPECT_EQ(adversarial_set(trained.source, trained.objective + 0.01, {.count = 40}).models.size(),
            15U);
}

TEST(AdversarialWeights, WorkForTheSquaredLoss) {
  Trained trained({6});
  trained.source.loss = LossKind::squared;
  const double bound = base_objective(trained.source) + 0.02;
  const StressSet set = adversarial_set(trained.source, bound, {.count = 5, .steps = 2000});
  ASSERT_EQ(set.models.size(), 5U);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_LE(set.models[k].objective, bound);
    EXPECT_GT(set.models[k].objective, bound - 0.02);
  }
}

TEST(AdversarialAgainst, LowersTheLogitMoreThanAttacksOnOtherRows) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}, {5, 4}}) {
    const Trained trained(hidden);
    const double bound = trained.objective + 0.02;
    const StressSet others = adversarial_set(trained.source, bound, {.count = 40, .steps = 2000});
    for (const Index row : {3, 50, 121}) {
      const Vector x = trained.train.features.row(row).transpose();
      const std::optional<StressModel> worst =
          adversarial_against(trained.source, bound, x, {.steps = 2000});
      ASSERT_TRUE(worst);
      EXPECT_NEAR(worst->objective, plain_objective(worst->network, trained.train, 1e-3), 1e-12);
      EXPECT_LE(worst->objective, bound);
      EXPECT_GE(worst->objective, bound - 1e-8);
      const double logit = plain_logit(worst->network, x);
      EXPECT_LT(logit, plain_logit(trained.base, x));
      for (const StressModel& model : others.models) {
        EXPECT_LT(logit, plain_logit(model.network, x));
      }
    }
  }
}

TEST(AdversarialAgainst, NearlyFindsTheWorstModelOfALinearBase) {
  const Trained trained({});
  const double bound = trained.objective + 0.02;
  for (const Index row : {3, 50, 121}) {
    Vector x(5);
    x << trained.train.features.row(row).transpose(), 1;
    // The minimum of θᵀx̃ over the convex set minimises L(θ) + μ·θᵀx̃ for the μ that makes L reach
    // the bound.
    const auto tilted_minimiser = [&](double mu) {
      return oracles::minimize_lbfgs(
          [&](const Vector& theta, Vector& gradient) {
            gradient = mu * x + 1e-3 * theta;
            for (Index i = 0; i < 160; ++i) {
              Vector row_tilde(5);
              row_tilde << trained.train.features.row(i).transpose(), 1;
              const double m = 1 / (1 + std::exp(-theta.dot(row_tilde)));
              gradient += (m - trained.train.labels[static_cast<std::size_t>(i)]) / 160 * row_tilde;
            }
            return plain_objective(linear_network(theta), trained.train, 1e-3) + mu * theta.dot(x);
          },
          parameter_vector(trained.base));
    };
    double lower = 0;
    double upper = 1;
    for (int i = 0; i < 40; ++i) {
      const double mu = (lower + upper) / 2;
      const Network network = linear_network(tilted_minimiser(mu));
      (plain_objective(network, trained.train, 1e-3) <= bound ? lower : upper) = mu;
    }
    const double best = tilted_minimiser(lower).dot(x);
    const double base = parameter_vector(trained.base).dot(x);
    const std::optional<StressModel> found =
        adversarial_against(trained.source, bound, x.head(4), {});
    ASSERT_TRUE(found);
    const double logit = parameter_vector(found->network).dot(x);
    EXPECT_GE(logit, best - 1e-6);
    EXPECT_LE(logit, best + 0.01 * (base - best));
  }
}

TEST(AdversarialAgainst, StaysInsideWhenItsStepsRunOutBeforeTheBound) {
  const Trained trained({6});
  const double bound = trained.objective + 0.02;
  const Vector x = trained.train.features.row(3).transpose();
  double last = plain_logit(trained.base, x);
  for (const int steps : {1, 3, 10}) {
    const std::optional<StressModel> found =
        adversarial_against(trained.source, bound, x, {.steps = steps});
    ASSERT_TRUE(found);
    EXPECT_LE(plain_objective(found->network, trained.train, 1e-3), bound);
    const double logit = plain_logit(found->network, x);
    EXPECT_LT(logit, last);
    last = logit;
  }
}

TEST(AdversarialAgainst, HasNothingWhereTheBaseIsOutside) {
  const Trained trained({6});
  EXPECT_FALSE(adversarial_against(trained.source, trained.objective - 1e-6, Vector::Zero(4), {}));
}

}  // namespace
}  // namespace ellice
