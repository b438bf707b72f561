#include "sets/true_set.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "model/head_objective.hpp"
#include "sets/ellipsoid.hpp"
#include "support/datasets.hpp"
#include "support/numeric_dataset.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

/// A fitted model with the rows that it was fitted on.
Model fitted(const Dataset& data, TrainingOptions options = {}) {
  options.folds = 0;
  options.store_rows = true;
  return train(data, {.balance = true}, options).model;
}

Model random_model(Index columns, std::uint64_t seed, TrainingOptions options = {}) {
  return fitted(problem_zoo::numeric_dataset(problem_zoo::random_rows(300, columns, seed)),
                options);
}

/// The objective from its definition, row by row, with its gradient.
double plain_objective(const Model& model, const Vector& theta, Vector& gradient) {
  const StoredRows& rows = *model.rows;
  const auto n = static_cast<double>(rows.encoded.rows());
  const TrainingRecord& training = model.training;
  gradient = training.l2 * theta;
  double value = training.l2 / 2 * theta.squaredNorm();
  if (!training.penalize_bias) {
    const double bias = theta(theta.size() - 1);
    gradient(theta.size() - 1) = 0;
    value -= training.l2 / 2 * bias * bias;
  }
  for (Index i = 0; i < rows.encoded.rows(); ++i) {
    const Vector x = with_one(rows.encoded.row(i).transpose());
    const double score = theta.dot(x);
    const double label = rows.labels[static_cast<std::size_t>(i)];
    if (training.loss_kind == LossKind::logistic) {
      value += (std::max(score, 0.0) + std::log1p(std::exp(-std::abs(score))) - label * score) / n;
      gradient += (1 / (1 + std::exp(-score)) - label) / n * x;
    } else {
      value += (score - (2 * label - 1)) * (score - (2 * label - 1)) / (2 * n);
      gradient += (score - (2 * label - 1)) / n * x;
    }
  }
  return value;
}

/// min θᵀx̃ over the set by bisection for the multiplier, each step a minimisation by L-BFGS.
double plain_minimum(const Model& model, double epsilon, const Vector& x) {
  Vector theta = model.network.head();
  Vector unused;
  const double level = plain_objective(model, theta, unused) + epsilon;
  const auto at = [&](double tau) {
    theta = oracles::minimize_lbfgs(
        [&](const Vector& at_theta, Vector& gradient) {
          const double value = plain_objective(model, at_theta, gradient) + tau * at_theta.dot(x);
          gradient += tau * x;
          return value;
        },
        theta);
    return plain_objective(model, theta, unused);
  };
  double low = 0;
  double high = 1e-3;
  while (at(high) < level) high *= 2;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (at(middle) < level ? low : high) = middle;
  }
  (void)at((low + high) / 2);
  return theta.dot(x);
}

void expect_minimum(const Model& model, double epsilon, const Vector& x, double tolerance) {
  const WorstHead worst = true_set(model, *model.rows, epsilon).worst(x);
  const double penalty = model.network.head().dot(x) - worst.attained;
  EXPECT_LE(worst.proved, worst.attained);
  EXPECT_LE(worst.attained - worst.proved, 1e-8 * penalty);
  EXPECT_NEAR(worst.attained, plain_minimum(model, epsilon, x), tolerance * penalty);
}

TEST(TrueSet, WorstModelIsThatOfAnIndependentSolver) {
  Random random(5);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Model model = random_model(5, seed);
    for (const double epsilon : {1e-3, 0.01, 0.1}) {
      expect_minimum(model, epsilon, with_one(random.normal_vector(5)), 1e-5);
    }
  }
}

TEST(TrueSet, WorstModelOnDiabetesIsThatOfAnIndependentSolver) {
  ELLICE_NEEDS_DATASET("diabetes");
  const Model model = fitted(load_recipe("diabetes"));
  for (const Index row : {0, 7, 100}) {
    expect_minimum(model, 0.01, with_one(model.rows->encoded.row(row).transpose()), 1e-5);
  }
}

TEST(TrueSet, BoundHoldsWithoutPenaltyOnTheBiasAndWithoutAny) {
  for (const TrainingOptions& options :
       {TrainingOptions{.penalize_bias = false}, TrainingOptions{.l2 = 0}}) {
    const Model model = random_model(4, 9, options);
    expect_minimum(model, 0.02, with_one(Random(3).normal_vector(4)), 1e-5);
  }
}

TEST(TrueSet, ForSquaredLossIsTheEllipsoid) {
  const Model model = random_model(6, 4, {.loss = LossKind::squared});
  const Ellipsoid ellipsoid = last_layer_set(model, 0.05);
  const TrueSet set = true_set(model, *model.rows, 0.05);
  Random random(8);
  for (int k = 0; k < 20; ++k) {
    const Vector x = with_one(random.normal_vector(6));
    const WorstHead worst = set.worst(x);
    const double scale = robustness_penalty(ellipsoid, x);
    EXPECT_NEAR(worst.proved, robust_logit(ellipsoid, x), 1e-10 * scale);
    EXPECT_NEAR(worst.attained, robust_logit(ellipsoid, x), 1e-10 * scale);
    EXPECT_LT((worst.model - worst_model(ellipsoid, x)).norm(), 1e-8);
    const double t = robust_logit(ellipsoid, x);
    EXPECT_NEAR(set.radius(x, t), 0.05, 1e-9);
  }
}

TEST(TrueSet, NoModelInsideScoresBelowTheBound) {
  const Model model = random_model(6, 2);
  const double epsilon = 0.05;
  const TrueSet set = true_set(model, *model.rows, epsilon);
  Random random(1);
  const Vector x = with_one(random.normal_vector(6));
  const WorstHead worst = set.worst(x);
  Vector unused;
  const double level = plain_objective(model, model.network.head(), unused) + epsilon;
  EXPECT_LE(plain_objective(model, worst.model, unused), level);
  EXPECT_NEAR(plain_objective(model, worst.model, unused), level, 1e-10);
  for (int k = 0; k < 10'000; ++k) {
    // On the boundary, along a random direction; half of them close to the worst one.
    Vector direction = random.normal_vector(7);
    if (k % 2 == 1) {
      const Vector towards = worst.model - set.center();
      direction = towards + 0.1 * towards.norm() / direction.norm() * direction;
    }
    double inside = 0;
    double outside = 1;
    while (plain_objective(model, set.center() + outside * direction, unused) < level) outside *= 2;
    for (int step = 0; step < 12; ++step) {
      const double middle = (inside + outside) / 2;
      const bool is_inside =
          plain_objective(model, set.center() + middle * direction, unused) <= level;
      (is_inside ? inside : outside) = middle;
    }
    ASSERT_GE((set.center() + inside * direction).dot(x), worst.proved);
  }
}

TEST(TrueSet, AnEllipsoidInsideTouchesItAtTheWorstModel) {
  for (const double epsilon : {0.003, 0.1}) {
    for (const LossKind loss : {LossKind::logistic, LossKind::squared}) {
      const Model model = random_model(4, 8, {.loss = loss, .l2 = 1e-2});
      const TrueSet set = true_set(model, *model.rows, epsilon);
      Random random(5);
      for (int trial = 0; trial < 10; ++trial) {
        const Vector a = with_one(random.normal_vector(4));
        const WorstHead worst = set.worst(a);
        const std::optional<InnerEllipsoid> inner = set.touching(worst);
        ASSERT_TRUE(inner);
        const Eigen::LLT<Matrix> factor(inner->inverse);
        // It reaches as far as the set does in this direction, and nowhere farther.
        const double fall = std::sqrt(2 * epsilon * a.dot(inner->inverse * a));
        const double penalty = set.center().dot(a) - worst.attained;
        EXPECT_NEAR(inner->center.dot(a) - fall, worst.attained, 1e-5 * penalty);
        EXPECT_GE(inner->center.dot(a) - fall, worst.proved);
        // Heads on its border, whichever, belong to the set by the objective's definition.
        for (int k = 0; k < 200; ++k) {
          const Vector direction = random.normal_vector(5);
          const Vector away = factor.matrixL() * direction.normalized();
          const Vector head = inner->center + std::sqrt(2 * epsilon) * away;
          Vector unused;
          EXPECT_LE(plain_objective(model, head, unused), set.level() + 1e-13);
        }
      }
    }
  }
}

/// The mean logistic loss with the penalty of all parameters, in extended precision.
long double extended_objective(const RowMatrix& features, const std::vector<int>& labels, double l2,
                               const Vector& theta) {
  const Index d = features.cols();
  long double sum = 0;
  for (Index i = 0; i < features.rows(); ++i) {
    long double score = theta(d);
    for (Index j = 0; j < d; ++j)
      score += static_cast<long double>(theta(j)) * static_cast<long double>(features(i, j));
    sum += std::log1p(std::exp(labels[static_cast<std::size_t>(i)] == 1 ? -score : score));
  }
  long double penalty = 0;
  for (const double entry : theta) penalty += static_cast<long double>(entry) * entry;
  return sum / features.rows() + l2 / 2 * penalty;
}

TEST(TrueSet, AnEllipsoidInsideStaysInsideHoweverIllConditioned) {
  int made = 0;
  for (const double apart : {1e-3, 1e-4, 1e-5, 4e-6, 1e-6}) {
    for (const double l2 : {1e-9, 1e-12}) {
      auto [features, labels] = problem_zoo::random_rows(60, 3, 31);
      Random random(32);
      for (Index i = 0; i < features.rows(); ++i)
        features(i, 1) = features(i, 0) + apart * random.normal();
      const Penalty penalty{.l2 = l2};
      const HeadObjective objective(features, labels, LossKind::logistic, 1, penalty);
      const double epsilon = 0.01;
      const TrueSet set(features, labels, LossKind::logistic, 1, penalty,
                        objective.minimize({.gradient_tolerance = 1e-8}, "rows").point, epsilon);
      const long double least = extended_objective(features, labels, l2, set.center());
      for (int trial = 0; trial < 10; ++trial) {
        const std::optional<InnerEllipsoid> inner =
            set.touching(set.worst(with_one(random.normal_vector(3))));
        if (!inner) continue;  // so ill-conditioned that no ellipsoid is sure
        ++made;
        const Eigen::SelfAdjointEigenSolver<Matrix> axes(inner->inverse);
        for (int k = 0; k < 100; ++k) {
          const Vector direction = random.normal_vector(4).normalized();
          const Vector away = axes.eigenvectors() *
                              axes.eigenvalues().cwiseMax(0).cwiseSqrt().cwiseProduct(direction);
          const Vector head = inner->center + std::sqrt(2 * epsilon) * away;
          EXPECT_LE(static_cast<double>(extended_objective(features, labels, l2, head) - least),
                    epsilon)
              << apart << " " << l2;
        }
      }
    }
  }
  EXPECT_GT(made, 40);
}

TEST(TrueSet, WarmStartEndsAtTheSameModel) {
  const Model model = random_model(5, 6);
  const TrueSet set = true_set(model, *model.rows, 0.03);
  Random random(2);
  Vector x = with_one(random.normal_vector(5));
  const WorstHead near = set.worst(x);
  x.head(5) += 0.2 * random.normal_vector(5);
  const WorstHead cold = set.worst(x);
  const WorstHead warm = set.worst(x, &near);
  EXPECT_NEAR(warm.attained, cold.attained, 1e-9);
  EXPECT_NEAR(warm.proved, cold.proved, 1e-10);
  EXPECT_EQ(set.worst(x, &warm).iterations, 0);
}

TEST(TrueSet, IsTheSameForAnyNumberOfThreads) {
  const auto rows = problem_zoo::random_rows(9000, 4, 3);
  const Model model = fitted(problem_zoo::numeric_dataset(rows));
  const auto with_threads = [&](int threads) {
    return TrueSet(model.rows->encoded, model.rows->labels, LossKind::logistic, 1, {},
                   model.network.head(), 0.01, threads)
        .worst(with_one(Vector::Ones(4)));
  };
  const WorstHead one = with_threads(1);
  const WorstHead four = with_threads(4);
  EXPECT_EQ(one.proved, four.proved);
  EXPECT_EQ(one.model, four.model);
}

TEST(TrueSet, RadiusIsWhereTheWorstScoreIsTheThreshold) {
  const Model model = random_model(5, 11);
  const TrueSet set = true_set(model, *model.rows, 0.02);
  Random random(4);
  for (int k = 0; k < 5; ++k) {
    const Vector x = with_one(random.normal_vector(5));
    const double t = set.worst(x).attained;
    EXPECT_NEAR(set.radius(x, t), 0.02, 1e-8);
    EXPECT_EQ(set.radius(x, set.center().dot(x) + 1), 0);
    const Vector elsewhere = set.worst(with_one(random.normal_vector(5))).model;
    EXPECT_NEAR(set.radius(x, t, &elsewhere), set.radius(x, t), 1e-12);
  }
}

TEST(TrueSet, BoundsMeetHoweverLargeTheSet) {
  // Far from the minimum losses are straight lines, and the little curvature that is left leads
  // Newton's method astray.
  Random random(12);
  for (const TrainingOptions& options : {TrainingOptions{.l2 = 1e-5}, TrainingOptions{.l2 = 1e-3},
                                         TrainingOptions{.l2 = 1e-3, .penalize_bias = false}}) {
    const Model model = random_model(2, 21, options);
    for (const double epsilon : {1.0, 10.0, 60.0}) {
      const TrueSet set = true_set(model, *model.rows, epsilon);
      for (int k = 0; k < 6; ++k) {
        const Vector x = with_one((k + 1) * random.normal_vector(2));
        const WorstHead worst = set.worst(x);
        const double penalty = model.network.head().dot(x) - worst.attained;
        EXPECT_LE(worst.proved, worst.attained);
        EXPECT_LE(worst.attained - worst.proved, 1e-6 * penalty);
        EXPECT_NEAR(worst.attained, worst.model.dot(x), 1e-12 * penalty);
        Vector gradient;
        const double level = plain_objective(model, model.network.head(), gradient) + epsilon;
        const double own = plain_objective(model, worst.model, gradient);
        EXPECT_LE(own, level * (1 + 1e-12));
        // L(θ) ≥ L(w) + gᵀ(θ − w) + l2/2·‖θ − w‖² with g = −τx̃ + r: whatever the set holds scores
        // less than w by no more than (level − L(w) + r²/2l2)/τ.
        const double tau = -gradient.dot(x) / x.squaredNorm();
        const double residual = (gradient + tau * x).squaredNorm() / (2 * options.l2);
        if (options.penalize_bias) {
          EXPECT_LE((level - own + residual) / tau, 1e-5 * penalty);
        }
        EXPECT_NEAR(set.radius(x, worst.attained), epsilon, 1e-5 * epsilon);
      }
    }
  }
}

TEST(TrueSet, AnyStartEndsAtTheSameWorstModel) {
  // Starts bring a Hessian of elsewhere along.
  for (const TrainingOptions& options :
       {TrainingOptions{}, TrainingOptions{.penalize_bias = false}}) {
    const Model model = random_model(7, 13, options);
    const TrueSet set = true_set(model, *model.rows, 0.1);
    Random random(5);
    WorstHead last = set.worst(with_one(random.normal_vector(7)));
    for (int k = 0; k < 20; ++k) {
      const Vector x = with_one(random.normal_vector(7));
      const WorstHead cold = set.worst(x);
      last = set.worst(x, &last);
      const double scale = set.center().dot(x) - cold.attained;
      EXPECT_NEAR(last.proved, cold.proved, 1e-9 * scale);
      EXPECT_NEAR(last.attained, cold.attained, 1e-9 * scale);
      EXPECT_LE(set.objective(last.model), set.level());
    }
  }
}

TEST(TrueSet, RefusesAModelWhoseStoredObjectiveIsNotTheOneOnItsRows) {
  Model model = random_model(4, 1);
  model.training.objective *= 1 + 1e-6;
  try {
    (void)true_set(model, *model.rows, 0.01);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_NE(std::string(error.what()).find("training.objective"), std::string::npos);
  }
}

TEST(TrueSet, RefusesRowsOfAnotherModelAndAnEpsilonWithinRounding) {
  const Model model = random_model(4, 1);
  StoredRows other = *model.rows;
  other.encoded(0, 0) += 1;
  EXPECT_THROW((void)true_set(model, other, 0.01), Error);
  other = *model.rows;
  other.labels.pop_back();
  other.encoded.conservativeResize(other.encoded.rows() - 1, Eigen::NoChange);
  EXPECT_THROW((void)true_set(model, other, 0.01), Error);
  EXPECT_THROW((void)true_set(model, *model.rows, 0), Error);
  EXPECT_THROW((void)true_set(model, *model.rows, 1e-12), Error);
  const StoredRows& rows = *model.rows;
  EXPECT_THROW(TrueSet(rows.encoded, rows.labels, LossKind::logistic, 1, {},
                       model.network.head() * 1.1, 1e-4),
               Error);
}

}  // namespace
}  // namespace ellice
