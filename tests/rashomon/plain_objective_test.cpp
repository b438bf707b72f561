#include "rashomon/plain_objective.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "ellice/core/random.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/rashomon/true_softmax.hpp"
#include "support/class_cases.hpp"

namespace ellice {
namespace {

Model class_model(double l2, bool penalize_bias) {
  TrainingOptions options = problem_zoo::softmax_options(l2, {});
  options.penalize_bias = penalize_bias;
  options.store_rows = true;
  return train(problem_zoo::class_dataset(240, 3, 3, 7), {}, options).model;
}

PlainObjective::LongVector flat(const Matrix& heads) {
  return Eigen::Map<const Vector>(heads.data(), heads.size()).cast<long double>();
}

// Heads with a common part have a larger objective, but are worst for a smaller set: what they
// prove of the larger one must not exceed its worst margin.
TEST(PlainObjective, WhatAllClassesShareProvesNothing) {
  constexpr double epsilon = 5e-3;
  for (const double l2 : {1e-3, 1e-5}) {
    const Model model = class_model(l2, false);
    const TrueSoftmax set = true_softmax(model, *model.rows, epsilon);
    const PlainObjective plain(model, *model.rows);
    ASSERT_TRUE(plain.rows_fit());
    Random random(11);
    for (int trial = 0; trial < 5; ++trial) {
      const Vector x = with_one(random.normal_vector(3));
      const TrueMargin worst = set.worst(x, 0, 1);
      Matrix direction = Matrix::Zero(4, 3);
      direction.col(0) = x;
      direction.col(1) = -x;
      const Matrix smaller = set.with_epsilon(epsilon / 10).worst(x, 0, 1).heads;
      const auto shifted = [&](double size) {
        Matrix heads = smaller;
        heads.topRows(3).array() += size;
        return heads;
      };
      double low = 0;
      double high = 1;
      while (set.objective(shifted(high)) < set.optimum() + epsilon) high *= 2;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (set.objective(shifted(middle)) < set.optimum() + epsilon ? low : high) = middle;
      }
      const long double proved = plain.lower_bound(flat(shifted(low)), flat(direction), epsilon);
      EXPECT_LE(proved, worst.attained + 1e-9) << "l2 " << l2;
      // Its own worst heads prove the margin nearly in full.
      EXPECT_NEAR(
          static_cast<double>(plain.lower_bound(flat(worst.heads), flat(direction), epsilon)),
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
