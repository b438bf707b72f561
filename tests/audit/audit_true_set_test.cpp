// The audit's own way to the true set, beside the one that certificates are issued with, and
// beside points of a grid.

#include "audit/audit_true_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_nearly_worst.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "support/class_cases.hpp"
#include "support/numeric_dataset.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using audit::LongMatrix;
using audit::LongVector;
using audit::TrueModels;
using testing_support::seeds;

Model model_with_rows(Index columns, std::uint64_t seed, LossKind loss, bool penalize_bias) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(200, columns, seed));
  return train(data, {},
               {.loss = loss,
                .l2 = 1e-2,
                .penalize_bias = penalize_bias,
                .folds = 0,
                .store_rows = true})
      .model;
}

TEST(AuditTrueSet, AgreesWithTheSetThatCertificatesAreIssuedFor) {
  int compared = 0;
  for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
    for (const bool penalize_bias : {true, false}) {
      const Model model = model_with_rows(4, 11, loss, penalize_bias);
      for (const double epsilon : {1e-4, 0.01, 0.2}) {
        const TrueModels models(model, *model.rows, epsilon);
        const TrueSet set = true_set(model, *model.rows, epsilon);
        Random random(12);
        for (int k = 0; k < 8; ++k) {
          const Vector x = with_one(random.normal_vector(4));
          const LongVector c = x.cast<long double>();
          const TrueModels::Worst worst = models.worst(c, epsilon);
          const WorstHead issued = set.worst(x);
          const double penalty = set.center().dot(x) - issued.proved;
          EXPECT_NEAR(static_cast<double>(worst.proved), issued.proved, 1e-9 * penalty);
          EXPECT_LE(static_cast<double>(worst.proved),
                    static_cast<double>(worst.model.dot(c)) + 1e-12 * penalty);
          EXPECT_NEAR(static_cast<double>(worst.model.dot(c)), issued.attained, 1e-9 * penalty);
          EXPECT_LE(static_cast<double>(models.excess(worst.model)), epsilon * (1 + 1e-12));
          // The radius of a score that the set just reaches is its own ε.
          const auto cheapest = models.cheapest(c, issued.proved);
          EXPECT_NEAR(static_cast<double>(cheapest.excess), epsilon, 1e-7 * epsilon);
          EXPECT_NEAR(static_cast<double>(cheapest.proved), epsilon, 1e-7 * epsilon);
          EXPECT_LE(cheapest.proved, cheapest.excess);
          EXPECT_NEAR(set.radius(x, issued.proved), static_cast<double>(cheapest.proved),
                      1e-7 * epsilon);
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 50);
}

TEST(AuditTrueSet, AnEllipsoidInsideTouchesItAtTheWorstModel) {
  for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
    const Model model = model_with_rows(4, 13, loss, false);
    for (const double epsilon : {0.01, 0.2}) {
      const TrueModels models(model, *model.rows, epsilon);
      Random random(14);
      for (int k = 0; k < 8; ++k) {
        const LongVector c = with_one(random.normal_vector(4)).cast<long double>();
        const TrueModels::Worst worst = models.worst(c, epsilon);
        const std::optional<audit::Cone> cone = models.cone_inside(worst.model, epsilon);
        ASSERT_TRUE(cone);
        const auto penalty = static_cast<double>((models.center() - worst.model).dot(c));
        EXPECT_NEAR(cone->score(c).robust(epsilon), static_cast<double>(worst.model.dot(c)),
                    1e-6 * penalty);
        // Its worst models for whatever points belong to the set.
        for (int other = 0; other < 50; ++other) {
          const LongVector x = random.normal_vector(5).cast<long double>();
          EXPECT_LE(static_cast<double>(models.excess(cone->worst(x, epsilon))), epsilon);
        }
      }
    }
  }
}

TEST(AuditTrueSet, ModelsNearlyWorstAnywhereBelongToIt) {
  for (const std::uint64_t seed : seeds(1, 6)) {
    for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
      const Model model = model_with_rows(4, seed, loss, seed % 2 == 0);
      for (const double epsilon : {1e-4, 0.02, 0.2}) {
        const TrueModels models(model, *model.rows, epsilon);
        const TrueSet set = true_set(model, *model.rows, epsilon);
        Random random(seed);
        const LongVector around =
            models.worst(with_one(random.normal_vector(4)).cast<long double>(), epsilon).model;
        const audit::NearlyWorst nearly(models, around, LongMatrix::Identity(5, 5), epsilon);
        for (int k = 0; k < 6; ++k) {
          const Vector x = with_one(3 * random.uniform() * random.normal_vector(4));
          const std::optional<LongVector> found = nearly.at(x.cast<long double>());
          if (!found) continue;
          const WorstHead issued = set.worst(x);
          const double penalty = set.center().dot(x) - issued.proved;
          const auto score = static_cast<double>(found->dot(x.cast<long double>()));
          EXPECT_GE(score, issued.proved - 1e-12 * penalty) << seed;
          // Far from where the curvature is known steps are short.
          if (epsilon < 0.1) {
            EXPECT_LE(score, issued.attained + 0.1 * penalty) << seed;
          }
          EXPECT_LE(static_cast<double>(models.excess(*found)), epsilon) << seed;
        }
      }
    }
  }
}

TEST(AuditTrueSet, ModelsNearlyWorstForARivalBelongToIt) {
  TrainingOptions options = problem_zoo::softmax_options(1e-2);
  options.store_rows = true;
  const Model model = train(problem_zoo::class_dataset(200, 3, 3, 31), {}, options).model;
  const double epsilon = 0.02;
  const TrueModels models(model, *model.rows, epsilon);
  const TrueSet set = true_set(model, *model.rows, epsilon);
  Random random(32);
  LongMatrix lift = LongMatrix::Zero(12, 4);
  lift.bottomRows(4).setIdentity();
  lift.topRows(4) = -LongMatrix::Identity(4, 4);
  const LongVector first = lift * with_one(random.normal_vector(3)).cast<long double>();
  const audit::NearlyWorst nearly(models, models.worst(first, epsilon).model, lift, epsilon);
  for (int k = 0; k < 8; ++k) {
    const LongVector x = with_one(random.normal_vector(3)).cast<long double>();
    const std::optional<LongVector> found = nearly.at(x);
    ASSERT_TRUE(found);
    const WorstHead issued = set.worst((lift * x).cast<double>());
    const double penalty = static_cast<double>(models.center().dot(lift * x)) - issued.proved;
    EXPECT_GE(static_cast<double>(found->dot(x)), issued.proved - 1e-10 * penalty);
    EXPECT_LE(static_cast<double>(found->dot(x)), issued.attained + 0.05 * penalty);
  }
}

TEST(AuditTrueSet, AgreesForTheDifferencesOfClasses) {
  TrainingOptions options = problem_zoo::softmax_options(1e-2);
  options.store_rows = true;
  const Model model = train(problem_zoo::class_dataset(200, 3, 3, 21), {}, options).model;
  const double epsilon = 0.02;
  const TrueModels models(model, *model.rows, epsilon);
  const TrueSet set = true_set(model, *model.rows, epsilon);
  Random random(22);
  for (int k = 0; k < 8; ++k) {
    const Vector x = with_one(random.normal_vector(3));
    LongVector c = LongVector::Zero(12);
    c.segment(8, 4) = x.cast<long double>();
    c.segment(0, 4) = -x.cast<long double>();
    const WorstHead issued = set.worst(c.cast<double>());
    const double penalty = static_cast<double>(models.center().dot(c)) - issued.proved;
    EXPECT_NEAR(static_cast<double>(models.worst(c, epsilon).proved), issued.proved,
                1e-8 * penalty);
    const auto cheapest = models.cheapest(c, issued.proved);
    EXPECT_NEAR(static_cast<double>(cheapest.proved), epsilon, 1e-6 * epsilon);
  }
}

/// (e_w − e_r) ⊗ I.
LongMatrix lift_of(Index size, Index classes, Index winner, Index rival) {
  LongMatrix result = LongMatrix::Zero(size * classes, size);
  result.middleRows(winner * size, size).setIdentity();
  result.middleRows(rival * size, size) = -LongMatrix::Identity(size, size);
  return result;
}

TEST(AuditTrueSet, ReachesTheBestPointOfAGridForSeveralClasses) {
  int reachable = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    TrainingOptions options = problem_zoo::softmax_options(1e-2);
    options.store_rows = true;
    const Model model = train(problem_zoo::class_dataset(150, 2, 3, seed), {}, options).model;
    const TrueModels models(model, *model.rows, 0.1);
    audit::Region region{.box = {.lower = Vector{{-1, -1.5}}, .upper = Vector{{1, 0.5}}}};
    const double infinity = std::numeric_limits<double>::infinity();
    if (seed % 2 == 0)
      region.rules.push_back({.normal = Vector{{1, 1}}, .lower = -infinity, .upper = 0.25});
    const std::vector<LongMatrix> lifts = {lift_of(3, 3, 1, 0), lift_of(3, 3, 1, 2)};
    const double threshold = 0.1;
    double best = 0;
    constexpr int steps = 12;
    for (int a = 0; a <= steps; ++a) {
      for (int b = 0; b <= steps; ++b) {
        const Vector x{{-1 + 2.0 * a / steps, -1.5 + 2.0 * b / steps}};
        if (!region.rules.empty() && x.sum() > 0.25) continue;
        double least = infinity;
        for (const LongMatrix& lift : lifts) {
          const LongVector c = lift * audit::extended(x);
          const bool leads = models.center().dot(c) > threshold;
          least = std::min(least,
                           leads ? static_cast<double>(models.cheapest(c, threshold).proved) : 0);
        }
        best = std::max(best, least);
      }
    }
    if (!(best > 0)) continue;
    ++reachable;
    const audit::Reach reach = models.find_reach(lifts, threshold, region, best);
    EXPECT_GE(reach.attained, best * (1 - 1e-6));
    EXPECT_LE(reach.attained, reach.admitted * (1 + 1e-9));
    EXPECT_LE(reach.admitted, reach.attained * (1 + 1e-4));
    if (!region.rules.empty()) {
      EXPECT_LE(reach.point.sum(), 0.25 + 1e-9);
    }
  }
  EXPECT_GT(reachable, 2);
}

TEST(AuditTrueSet, ReachesTheBestPointOfAGrid) {
  int reachable = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = model_with_rows(2, seed, LossKind::logistic, true);
    const TrueModels models(model, *model.rows, 0.1);
    const audit::Region region{.box = {.lower = Vector{{-1, -1.5}}, .upper = Vector{{1, 0.5}}}};
    const double threshold = 0.4;
    double best = 0;
    constexpr int steps = 12;
    for (int a = 0; a <= steps; ++a) {
      for (int b = 0; b <= steps; ++b) {
        const Vector x{{-1 + 2.0 * a / steps, -1.5 + 2.0 * b / steps}};
        const LongVector tilde = audit::extended(x);
        if (!(models.center().dot(tilde) > threshold)) continue;
        best = std::max(best, static_cast<double>(models.cheapest(tilde, threshold).proved));
      }
    }
    if (!(best > 0)) continue;
    ++reachable;
    for (const double near : {best, 0.3 * best, 3 * best}) {
      const audit::Reach reach = models.find_reach(threshold, region, near);
      EXPECT_GE(reach.attained, best * (1 - 1e-6));
      EXPECT_LE(reach.attained, reach.admitted * (1 + 1e-9));
      EXPECT_LE(reach.admitted, reach.attained * (1 + 1e-5));
      // The model that admits no more refuses the corners, and so all of the box.
      for (const double a : {-1.0, 1.0}) {
        for (const double b : {-1.5, 0.5}) {
          EXPECT_LE(static_cast<double>(reach.model.dot(audit::extended(Vector{{a, b}}))),
                    threshold + 1e-12);
        }
      }
      EXPECT_NEAR(static_cast<double>(models.excess(reach.model)), reach.admitted,
                  1e-12 * reach.admitted);
    }
  }
  EXPECT_GT(reachable, 2);
}

}  // namespace
}  // namespace ellice
