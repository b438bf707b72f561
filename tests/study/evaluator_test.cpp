#include "study/evaluator.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "ellice/core/error.hpp"
#include "study/trained_case.hpp"
#include "support/messages.hpp"
#include "support/oracles.hpp"

namespace ellice {
namespace {

using stress_cases::plain_logit;
using study_cases::all_kinds;
using study_cases::few_models;
using study_cases::TrainedCase;
using testing_support::expect_words;
using testing_support::message_of;

EvaluatorPointer make_one(const TrainedCase& trained, EvaluatorKind kind, double epsilon,
                          const EvaluatorOptions& options = few_models) {
  return make_evaluators(trained.source, {kind}, {epsilon}, options, Random(3)).front();
}

TEST(Evaluators, ThatAreFilteredHoldOnlyModelsInsideTheBound) {
  for (const bool is_network : {false, true}) {
    const TrainedCase trained(is_network ? std::vector<int>{6} : std::vector<int>{});
    for (const Variant variant : {Variant::published, Variant::corrected}) {
      EvaluatorOptions options = few_models;
      options.variant = variant;
      for (const EvaluatorKind kind :
           {EvaluatorKind::retrain, EvaluatorKind::dropout, EvaluatorKind::awp}) {
        const EvaluatorPointer evaluator = make_one(trained, kind, 0.03, options);
        const EvaluatorSummary& summary = evaluator->summary();
        ASSERT_TRUE(evaluator->models() != nullptr && summary.models > 0);
        EXPECT_EQ(summary.objectives.size(), summary.models);
        EXPECT_GE(summary.tried, summary.models);
        EXPECT_NEAR(*summary.bound, trained.objective + 0.03, 1e-9);
        for (std::size_t k = 0; k < summary.models; ++k) {
          const double plain = trained.objective_of(evaluator->models()->models[k].network);
          EXPECT_NEAR(plain, summary.objectives[k], 1e-10);
          EXPECT_LE(plain, trained.objective + 0.03 + 1e-10) << enum_name(kind);
        }
      }
    }
  }
}

TEST(Evaluators, OfASetGiveTheSmallestLogitOfItsModels) {
  const TrainedCase trained({6});
  const EvaluatorPointer evaluator = make_one(trained, EvaluatorKind::awp, 0.03);
  const RowMatrix points = trained.points();
  const WorstScores scores = *evaluator->worst(points);
  EXPECT_EQ(scores.objectives.size(), 0);
  for (Index i = 0; i < points.rows(); ++i) {
    double smallest = std::numeric_limits<double>::infinity();
    for (const StressModel& model : evaluator->models()->models) {
      smallest = std::min(smallest, plain_logit(model.network, points.row(i).transpose()));
    }
    EXPECT_NEAR(scores.logits(i), smallest, 1e-10);
  }
}

TEST(TargetedEvaluator, AttacksEachAnswerInsideTheBound) {
  for (const bool is_network : {false, true}) {
    TrainedCase trained(is_network ? std::vector<int>{6} : std::vector<int>{});
    const EvaluatorPointer evaluator = make_one(trained, EvaluatorKind::awp_targeted, 0.03);
    // Below no logit of ours: the search goes on to its end.
    trained.source.threshold = -1e9;
    const EvaluatorPointer thorough = make_one(trained, EvaluatorKind::awp_targeted, 0.03);
    const EvaluatorPointer rows = make_one(trained, EvaluatorKind::awp, 0.03);
    EXPECT_TRUE(evaluator->summary().is_per_answer && evaluator->summary().is_defined());
    const RowMatrix points = trained.points().topRows(8);
    const WorstScores early = *evaluator->worst(points);
    const WorstScores scores = *thorough->worst(points);
    const WorstScores by_rows = *rows->worst(points);
    for (Index i = 0; i < points.rows(); ++i) {
      EXPECT_LE(scores.objectives(i), trained.objective + 0.03 + 1e-10);
      EXPECT_LE(early.objectives(i), trained.objective + 0.03 + 1e-10);
      EXPECT_EQ(early.logits(i) >= 0, scores.logits(i) >= 0);  // the verdict is the same
      EXPECT_LT(scores.logits(i), plain_logit(trained.model.network, points.row(i).transpose()));
      // The models that it finds exist: made again, they are inside and give that logit.
      const StressSource source{.base = &trained.model.network, .train = labelled(trained.fitted)};
      const StressModel model =
          *adversarial_against(source, *evaluator->summary().bound, points.row(i).transpose(), {});
      EXPECT_NEAR(trained.objective_of(model.network), scores.objectives(i), 1e-10);
      EXPECT_NEAR(plain_logit(model.network, points.row(i).transpose()), scores.logits(i), 1e-10);
    }
    // Sharper than models that aim elsewhere, on the whole.
    EXPECT_LT(scores.logits.mean(), by_rows.logits.mean());
  }
}

/// min θᵀa over heads with L ≤ bound: a minimisation by L-BFGS for each multiplier of a bisection.
double plain_worst_head(const TrainedCase& trained, double bound, const Vector& x) {
  Network network = trained.model.network;
  RowMatrix features(trained.fitted.encoded.rows(), network.head().size());
  const auto hidden = [&](const Vector& point) {
    Vector a(network.head().size());
    a << network.features(point), 1;
    return a;
  };
  for (Index i = 0; i < features.rows(); ++i) {
    features.row(i) = hidden(trained.fitted.encoded.row(i).transpose()).transpose();
  }
  const Vector goal = hidden(x);
  const double l2 = trained.model.training.l2;
  Network bare = network;
  bare.set_head(Vector::Zero(network.head().size()));
  double penalty = 0;  // of the hidden layers
  for (const Layer& layer : bare.layers) {
    penalty += l2 / 2 * (layer.weights.squaredNorm() + layer.bias.squaredNorm());
  }
  const auto objective = [&](const Vector& theta, Vector& gradient) {
    const auto n = static_cast<double>(features.rows());
    gradient = l2 * theta;
    double value = penalty + l2 / 2 * theta.squaredNorm();
    for (Index i = 0; i < features.rows(); ++i) {
      const double y = trained.fitted.labels[static_cast<std::size_t>(i)];
      const double f = features.row(i).dot(theta);
      value += (std::max(f, 0.0) + std::log1p(std::exp(-std::abs(f))) - y * f) / n;
      gradient += (1 / (1 + std::exp(-f)) - y) / n * features.row(i).transpose();
    }
    return value;
  };
  Vector theta = network.head();
  Vector unused(theta.size());
  const auto at = [&](double tau) {
    theta = oracles::minimize_lbfgs(
        [&](const Vector& candidate, Vector& gradient) {
          const double value = objective(candidate, gradient) + tau * candidate.dot(goal);
          gradient += tau * goal;
          return value;
        },
        theta);
    return objective(theta, unused);
  };
  double low = 0;
  double high = 1e-3;
  while (at(high) < bound) high *= 2;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (at(middle) < bound ? low : high) = middle;
  }
  (void)at((low + high) / 2);
  return theta.dot(goal);
}

TEST(TrueEvaluator, FindsTheWorstHeadWithinTheBoundOfTheBase) {
  for (const bool is_network : {false, true}) {
    // A network's head is not at its optimum; the bound is still counted from the base.
    const TrainedCase trained(is_network ? std::vector<int>{4} : std::vector<int>{});
    const EvaluatorPointer evaluator = make_one(trained, EvaluatorKind::true_set, 0.02);
    const RowMatrix points = trained.points().topRows(3);
    const WorstScores scores = *evaluator->worst(points);
    for (Index i = 0; i < points.rows(); ++i) {
      const double plain =
          plain_worst_head(trained, trained.objective + 0.02, points.row(i).transpose());
      EXPECT_NEAR(scores.logits(i), plain, 2e-5 * (1 + std::abs(plain)));
      EXPECT_LE(scores.objectives(i), trained.objective + 0.02 + 1e-10);
      EXPECT_NEAR(scores.objectives(i), trained.objective + 0.02, 1e-6);
    }
  }
}

TEST(EllipsoidEvaluator, IsTheClosedFormOfBothVariants) {
  const TrainedCase trained({4});
  const RowMatrix points = trained.points().topRows(5);
  const Matrix& hessian = trained.model.curvature.hessian;
  const double epsilon = 0.02;
  for (const Variant variant : {Variant::published, Variant::corrected}) {
    EvaluatorOptions options = few_models;
    options.variant = variant;
    const WorstScores scores =
        *make_one(trained, EvaluatorKind::ellipsoid, epsilon, options)->worst(points);
    const bool is_published = variant == Variant::published;
    const Matrix q = hessian / (2 * epsilon) +
                     (is_published ? 1e-6 : 0) * Matrix::Identity(hessian.rows(), hessian.cols());
    for (Index i = 0; i < points.rows(); ++i) {
      Vector h(hessian.rows());
      h << trained.model.network.features(points.row(i).transpose()), 1;
      const double expected = trained.model.network.head().dot(h) -
                              (is_published ? 0.99 : 1) * std::sqrt(h.dot(q.inverse() * h));
      EXPECT_NEAR(scores.logits(i), expected, 1e-10);
      // The objective is that of the model that attains it.
      const Vector worst = trained.model.network.head() - (is_published ? 0.99 : 1) * q.inverse() *
                                                              h / std::sqrt(h.dot(q.inverse() * h));
      Network network = trained.model.network;
      network.set_head(worst);
      EXPECT_NEAR(scores.objectives(i), trained.objective_of(network), 1e-9);
    }
  }
}

TEST(ShiftEvaluator, TrainsOnTheOtherRowsAlone) {
  const TrainedCase linear({});
  const EvaluatorPointer evaluator = make_one(linear, EvaluatorKind::shift, 0.02);
  ASSERT_EQ(evaluator->summary().models, 1U);
  EXPECT_FALSE(evaluator->summary().bound.has_value());
  EXPECT_FALSE(evaluator->summary().epsilon.has_value());
  const stress_cases::Labelled other{.features = linear.other.encoded,
                                     .labels = linear.other.labels};
  const Vector minimiser = oracles::minimize_lbfgs(
      [&](const Vector& theta, Vector& gradient) {
        const auto value = [&](const Vector& at) {
          return stress_cases::plain_objective(linear_network(at), other, 1e-3);
        };
        gradient = oracles::numerical_gradient(value, theta);
        return value(theta);
      },
      Vector::Zero(4));
  const Vector found = evaluator->models()->models.front().network.head();
  EXPECT_LT((found - minimiser).norm(), 1e-5);

  const TrainedCase network({5});
  const EvaluatorPointer several = make_one(network, EvaluatorKind::shift, 0.02);
  EXPECT_EQ(several->summary().models, 5U);
  for (const double objective : several->summary().objectives) EXPECT_LT(objective, 0.693);

  EvaluatorOptions published = few_models;
  published.variant = Variant::published;
  const EvaluatorPointer filtered = make_one(network, EvaluatorKind::shift, 0.05, published);
  ASSERT_TRUE(filtered->summary().bound.has_value());
  for (const double objective : filtered->summary().objectives) {
    EXPECT_LE(objective, *filtered->summary().bound);
  }
}

TEST(Evaluators, OfSeveralTolerancesComeByKindAndAreNested) {
  const TrainedCase trained({5});
  const std::vector<EvaluatorPointer> made = make_evaluators(
      trained.source, {EvaluatorKind::retrain, EvaluatorKind::bootstrap, EvaluatorKind::ellipsoid},
      {0.5, 0.01, 0.1}, few_models, Random(3));
  ASSERT_EQ(made.size(), 7U);  // three, once, three
  EXPECT_EQ(made[3]->summary().kind, EvaluatorKind::bootstrap);
  EXPECT_FALSE(made[3]->summary().bound.has_value());
  EXPECT_EQ(*made[1]->summary().epsilon, 0.01);
  EXPECT_GE(made[0]->summary().models, made[2]->summary().models);
  EXPECT_GE(made[2]->summary().models, made[1]->summary().models);
  EXPECT_EQ(made[0]->summary().tried, made[1]->summary().tried);
  const RowMatrix points = trained.points();
  const WorstScores wide = *made[4]->worst(points);
  const WorstScores narrow = *made[5]->worst(points);
  EXPECT_TRUE((wide.logits.array() <= narrow.logits.array()).all());
}

TEST(Evaluators, WithoutModelsAreUndefined) {
  TrainedCase trained({5});
  trained.model.training.network->epochs = 1;  // too few to come near the base
  const EvaluatorPointer evaluator = make_one(trained, EvaluatorKind::retrain, 1e-6);
  EXPECT_EQ(evaluator->summary().models, 0U);
  EXPECT_EQ(evaluator->summary().tried, 12U);  // twice as many as were wanted
  EXPECT_FALSE(evaluator->summary().is_defined());
  EXPECT_FALSE(evaluator->worst(trained.points()).has_value());
}

TEST(Evaluators, AreTheSameForAnyNumberOfThreads) {
  const TrainedCase trained({5});
  const RowMatrix points = trained.points().topRows(6);
  const auto scores = [&](int threads) {
    std::vector<Vector> result;
    for (const EvaluatorPointer& evaluator : make_evaluators(
             trained.source, all_kinds(), {0.03}, few_models, Random(9), {.threads = threads})) {
      result.push_back(evaluator->worst(points, {.threads = threads})->logits);
    }
    return result;
  };
  EXPECT_EQ(scores(1), scores(2));
}

TEST(Evaluators, CanBeMadeOfModelsThatWereKept) {
  const TrainedCase trained({5});
  const EvaluatorPointer made = make_one(trained, EvaluatorKind::dropout, 0.03);
  const EvaluatorPointer again = evaluator_of(EvaluatorKind::dropout, 0.03, *made->models());
  EXPECT_EQ(made->worst(trained.points())->logits, again->worst(trained.points())->logits);
  EXPECT_EQ(made->summary().objectives, again->summary().objectives);
}

TEST(Evaluators, RefuseWhatTheyCannotJudge) {
  TrainedCase trained({5});
  const auto make = [&](const EvaluationSource& source, EvaluatorKind kind, double epsilon) {
    return message_of(ErrorCode::argument, [&] {
      return make_evaluators(source, {kind}, {epsilon}, few_models, Random(3));
    });
  };
  expect_words(make(trained.source, EvaluatorKind::awp, 0), {"target epsilon = 0", "> 0"});
  EvaluationSource without = trained.source;
  without.other = nullptr;
  expect_words(make(without, EvaluatorKind::shift, 0.1), {"shift", "not trained on"});
  trained.model.network.layers.back().weights = Matrix::Zero(3, 5);
  trained.model.network.layers.back().bias = Vector::Zero(3);
  expect_words(make(trained.source, EvaluatorKind::awp, 0.1), {"3 outputs", "logistic or mlp"});
}

TEST(Evaluators, AreKnownByNameAndSuggested) {
  const std::vector<EvaluatorKind> kinds = parse_evaluators({"awp", "true", "awp"});
  EXPECT_EQ(kinds, (std::vector{EvaluatorKind::awp, EvaluatorKind::true_set}));
  expect_words(message_of(ErrorCode::argument, [] { return parse_evaluators({"bootstap"}); }),
               {"no evaluator \"bootstap\"", "did you mean \"bootstrap\"?"});
}

}  // namespace
}  // namespace ellice
