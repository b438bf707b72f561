#include "study/quick_evaluators.hpp"

#include <gtest/gtest.h>

#include "ellice/core/error.hpp"
#include "study/trained_case.hpp"

namespace ellice {
namespace {

using study_cases::few_models;
using study_cases::TrainedCase;

/// Gives the first coordinate, and counts the points that it was asked for.
class CountingEvaluator final : public Evaluator {
 public:
  explicit CountingEvaluator(std::size_t models)
      : Evaluator({.kind = EvaluatorKind::retrain, .models = models}) {}
  [[nodiscard]] const StressSet* models() const override { return &set_; }
  [[nodiscard]] std::optional<WorstScores> worst(RowMatrixArg points,
                                                 const Execution&) const override {
    asked += points.rows();
    return WorstScores{.logits = points.col(0)};
  }
  mutable Index asked = 0;

 private:
  StressSet set_;
};

TEST(RememberedEvaluator, AsksOnceForEachPoint) {
  const auto counting = std::make_shared<CountingEvaluator>(1);
  const EvaluatorPointer evaluator = remembered(counting);
  RowMatrix points(4, 2);
  points << 1, 0, 2, 0, 1, 0, 1, 5;
  EXPECT_EQ(evaluator->worst(points)->logits, Vector(points.col(0)));
  EXPECT_EQ(counting->asked, 3);  // the third is the first
  EXPECT_EQ(evaluator->worst(points.bottomRows(2))->logits, Vector(points.col(0).tail(2)));
  EXPECT_EQ(counting->asked, 3);
  points(0, 0) = 7;
  EXPECT_EQ(evaluator->worst(points)->logits, Vector(points.col(0)));
  EXPECT_EQ(counting->asked, 4);
}

TEST(RememberedEvaluator, SaysNothingWhereTheSetIsEmpty) {
  EXPECT_FALSE(remembered(std::make_shared<CountingEvaluator>(0))->worst(RowMatrix::Ones(1, 2)));
}

TEST(DecidingEvaluator, AgreesWithTheSmallestLogitOfAllModels) {
  const TrainedCase trained({6});
  const RowMatrix points = trained.points();
  const EvaluatorOptions options{.dropout_models = 50, .awp_models = 40};
  int rejected = 0;
  for (const EvaluatorPointer& evaluator :
       make_evaluators(trained.source, {EvaluatorKind::awp, EvaluatorKind::dropout}, {0.03},
                       options, Random(3))) {
    const Vector smallest = evaluator->worst(points)->logits;
    for (const double threshold : {-0.5, 0.0, 0.7}) {
      const EvaluatorPointer quick = deciding(evaluator, threshold);
      const Vector logits = quick->worst(points)->logits;
      EXPECT_EQ(logits, quick->worst(points, {.threads = 3})->logits);
      for (Index i = 0; i < points.rows(); ++i) {
        EXPECT_EQ(logits(i) >= threshold, smallest(i) >= threshold);
        EXPECT_GE(logits(i), smallest(i) - 1e-12);
        if (smallest(i) >= threshold) {
          EXPECT_NEAR(logits(i), smallest(i), 1e-12);
        }
        rejected += logits(i) < threshold ? 1 : 0;
      }
    }
  }
  EXPECT_GT(rejected, 20);
  EXPECT_FALSE(deciding(std::make_shared<CountingEvaluator>(0), 0)->worst(points));
}

TEST(RememberedEvaluator, GivesWhatTheEvaluatorGives) {
  const TrainedCase trained({6});
  const RowMatrix points = trained.points();
  for (const EvaluatorPointer& evaluator :
       make_evaluators(trained.source, {EvaluatorKind::awp, EvaluatorKind::dropout}, {0.03},
                       few_models, Random(3))) {
    const EvaluatorPointer again = remembered(evaluator);
    EXPECT_EQ(again->models(), evaluator->models());
    EXPECT_TRUE(again->worst(points.topRows(5)).has_value());
    EXPECT_LE((again->worst(points)->logits - evaluator->worst(points)->logits).norm(), 1e-12);
  }
  const EvaluatorPointer sought =
      make_evaluators(trained.source, {EvaluatorKind::awp_targeted}, {0.03}, few_models, Random(3))
          .front();
  EXPECT_THROW(static_cast<void>(remembered(sought)), Error);
}

}  // namespace
}  // namespace ellice
