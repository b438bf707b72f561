#include "certificate/plain_objective.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "certificate/verification_check.hpp"
#include "core/random.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/true_set.hpp"
#include "support/class_cases.hpp"

namespace ellice {
namespace {

Model class_model(double l2, bool penalize_bias) {
  TrainingOptions options = problem_zoo::softmax_options(l2, {});
  options.penalize_bias = penalize_bias;
  options.store_rows = true;
  return train(problem_zoo::class_dataset(240, 3, 3, 7), {}, options).model;
}

LongVector extended(const Vector& heads) {
  return heads.cast<long double>();
}

// H = (KI − 11ᵀ) ⊗ S + λI with S = 11ᵀ of two columns: for a = (e₁ − e_K) ⊗ (1, −1), Ha = λa.
TEST(AddGauge, LeavesNoRoundingInWhatClassesDifferBy) {
  for (const Index classes : {2, 3, 4, 5, 7}) {
    for (const double lambda : {0x1p-20, 0x1p-40, 0x1p-45}) {
      const Index size = 2 * classes;
      verification::LongMatrix hessian(size, size);
      for (Index i = 0; i < size; ++i) {
        for (Index j = 0; j < size; ++j) {
          const bool is_own = i / 2 == j / 2;
          hessian(i, j) = (is_own ? static_cast<double>(classes) : 0.0) - 1 + (i == j ? lambda : 0);
        }
      }
      LongVector a = LongVector::Zero(size);
      a(0) = a(size - 1) = 1;
      a(1) = a(size - 2) = -1;
      verification::LongMatrix rest = verification::add_gauge(hessian, 2);
      const EliminatedHessian eliminated(std::move(hessian), std::move(rest));
      EXPECT_NEAR(static_cast<double>(a.dot(eliminated.solve(a)) * lambda), 4, 1e-14)
          << classes << " " << lambda;
    }
  }
}

// Heads with a common part have a larger objective, but are worst for a smaller set: what they
// prove of the larger one must not exceed its worst margin.
TEST(PlainObjective, WhatAllClassesShareProvesNothing) {
  constexpr double epsilon = 5e-3;
  for (const double l2 : {1e-3, 1e-5}) {
    const Model model = class_model(l2, false);
    const TrueSet set = true_set(model, *model.rows, epsilon);
    const PlainObjective plain(model, *model.rows);
    ASSERT_TRUE(plain.rows_fit());
    Random random(11);
    for (int trial = 0; trial < 5; ++trial) {
      const Vector x = with_one(random.normal_vector(3));
      Vector direction = Vector::Zero(12);
      direction.head(4) = x;
      direction.segment(4, 4) = -x;
      const WorstHead worst = set.worst(direction);
      const Vector smaller = set.with_epsilon(epsilon / 10)->worst(direction).model;
      const auto shifted = [&](double size) {
        Vector heads = smaller;
        for (const Index k : {0, 4, 8}) heads.segment(k, 3).array() += size;  // but not the biases
        return heads;
      };
      double low = 0;
      double high = 1;
      while (set.objective(shifted(high)) < set.optimum() + epsilon) high *= 2;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (set.objective(shifted(middle)) < set.optimum() + epsilon ? low : high) = middle;
      }
      const long double proved =
          plain.lower_bound(extended(shifted(low)), extended(direction), epsilon);
      EXPECT_LE(proved, worst.attained + 1e-9) << "l2 " << l2;
      // Its own worst heads prove the margin nearly in full.
      EXPECT_NEAR(static_cast<double>(
                      plain.lower_bound(extended(worst.model), extended(direction), epsilon)),
                  worst.attained, 1e-6);
    }
  }
}

// Rows moved along what no class looks at keep every score and the loss.
TEST(PlainObjective, OtherRowsWithTheSameLossDoNotFit) {
  const Model model = class_model(1e-2, true);
  const Matrix weights = model.network.layers.back().weights;  // one row per class
  Eigen::FullPivLU<Matrix> factor(weights.topRows(2) - weights.bottomRows(2));
  const Vector unseen = factor.kernel().col(0).normalized();
  StoredRows rows = *model.rows;
  Random random(3);
  // All classes' weights have the mean 0, so that the differences are all that counts.
  for (Index i = 0; i < rows.encoded.rows(); ++i)
    rows.encoded.row(i) += 3 * random.normal_vector(1)(0) * unseen.transpose();
  EXPECT_TRUE(PlainObjective(model, *model.rows).rows_fit());
  EXPECT_FALSE(PlainObjective(model, rows).rows_fit());
}

}  // namespace
}  // namespace ellice
