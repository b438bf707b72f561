// The methods of others on real data, every column numeric as in the paper's runs.

#include <gtest/gtest.h>

#include <cmath>

#include "data/recipe.hpp"
#include "ellice/certificate/verification.hpp"
#include "ellice/model/training.hpp"
#include "methods/box_of_models.hpp"
#include "methods/delta_rows.hpp"
#include "methods/proplace.hpp"
#include "methods/roar.hpp"
#include "methods/trex.hpp"
#include "solver/mixed_integer.hpp"
#include "support/datasets.hpp"
#include "support/plain_judge.hpp"

namespace ellice {
namespace {

class BaselineData : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ELLICE_NEEDS_DATASET(GetParam()); }

  void fit(bool linear) {
    const Dataset data = with_numeric_columns(load_recipe(GetParam()));
    Selection selection{.balance = true};
    TrainingOptions options{.folds = 0, .store_rows = true};
    if (!linear) {
      options.model = NetworkKind::mlp;
      options.network.learning_rate = 0.01;
      options.network.epochs = 100;
      selection.validation = 0.2;
    }
    model_ = train(data, selection, options).model;
    const Dataset fitted = select_rows(data, apply_selection(data, selection).fit);
    rows_ = fitted.raw;
    queries_.clear();
    for (Index i = 0; i < rows_.rows() && queries_.size() < 12; ++i)
      if (model_.logit(model_.rows->encoded.row(i).transpose()) < 0)
        queries_.push_back({.index = queries_.size(), .raw = rows_.row(i)});
    problem_ = {.model = &model_, .epsilon = 1e-3, .constraints = {.range = RangePolicy::off}};
  }

  Model model_;
  RowMatrix rows_;
  std::vector<Query> queries_;
  Problem problem_;
};

TEST_P(BaselineData, EveryMethodAnswersAndEveryCertificateHolds) {
  for (const bool linear : {true, false}) {
    fit(linear);
    const Vector largest = largest_deltas(problem_, model_.rows->encoded, Variant::corrected);
    const double delta = 0.2 * largest.maxCoeff();
    ASSERT_GT(delta, 0);
    const Verifier verifier(model_);
    const plain::Ellipsoid judge(model_, problem_.epsilon);
    const auto check = [&](const Generator& generator, bool is_delta_robust) {
      int answered = 0;
      for (const Answer& answer : generator.generate(queries_, {.threads = 2})) {
        if (!answer.counterfactual) continue;
        ++answered;
        const Vector x = model_.encoder.encode(*answer.counterfactual);
        EXPECT_GE(model_.logit(x), 0);
        EXPECT_TRUE(!is_delta_robust || worst_logit(model_.network, x, delta) > 0);
        EXPECT_TRUE(!answer.certificate || verifier.verify(*answer.certificate).holds());
        const double g = judge.robust_logit(plain::code(model_, *answer.counterfactual));
        EXPECT_TRUE(!answer.certificate || g >= 0) << g;
        if (answer.status == Status::certified) plain::expect_allowed(problem_, answer);
      }
      EXPECT_GE(answered, 8);
    };
    check(Trex(problem_, rows_, {.tau = 0.55}), false);
    check(TrexContinuous(problem_, {.tau = 0.55}), false);
    check(DeltaRows(problem_, rows_, largest, {.delta = delta}), true);
    if (has_mixed_integer()) check(Proplace(problem_, rows_, largest, {.delta = delta}), true);
    check(Roar(problem_, {.delta = 0.02}), false);
  }
}

TEST_P(BaselineData, ThePublishedCheckAcceptsRowsThatAreNotRobust) {
  for (const bool linear : {true, false}) {
    fit(linear);
    const RowMatrix& encoded = model_.rows->encoded;
    const Vector exact = largest_deltas(problem_, encoded, Variant::corrected);
    const Vector published = largest_deltas(problem_, encoded, Variant::published);
    const double delta = 0.5 * exact.maxCoeff();
    int wrong = 0;
    for (Index i = 0; i < encoded.rows(); ++i) {
      const Vector x = encoded.row(i);
      EXPECT_EQ(exact[i] > delta, worst_logit(model_.network, x, delta) > 0);
      wrong += published[i] > delta && exact[i] <= delta ? 1 : 0;
    }
    EXPECT_GT(wrong, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, BaselineData, testing::Values("diabetes", "banknote", "german"),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace ellice
