#include "sets/stress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "data/folds.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/encoder.hpp"
#include "support/datasets.hpp"
#include "support/stress_cases.hpp"

namespace ellice {
namespace {

using stress_cases::expect_inside;
using stress_cases::Labelled;
using stress_cases::plain_logit;
using stress_cases::random_rows;
using stress_cases::Trained;
using stress_cases::view;

void expect_same(const StressSet& first, const StressSet& second) {
  EXPECT_EQ(first.tried, second.tried);
  EXPECT_EQ(first.noise, second.noise);
  ASSERT_EQ(first.models.size(), second.models.size());
  for (std::size_t k = 0; k < first.models.size(); ++k) {
    EXPECT_EQ(first.models[k].objective, second.models[k].objective);
    EXPECT_EQ(parameter_vector(first.models[k].network),
              parameter_vector(second.models[k].network));
  }
}

TEST(StressSet, BaseObjectiveIsThatOfTheDefinition) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}, {5, 4}}) {
    const Trained trained(hidden);
    EXPECT_NEAR(base_objective(trained.source), trained.objective, 1e-13);
  }
}

TEST(StressSet, OfANeuralAdditiveModelHasNothingElse) {
  const Labelled data = random_rows(150, 3, 5);
  const NetworkOptions options{.hidden = {4, 3}, .learning_rate = 0.02, .epochs = 40};
  const std::vector<InputGroup> groups = {
      {.monotone = Monotone::increase}, {}, {.monotone = Monotone::decrease}};
  const Network base =
      fit_network(view(data), {}, LossKind::logistic, {.l2 = 1e-3}, options, Random(2), groups)
          .network;
  const StressSource source{
      .base = &base, .train = view(data), .penalty = {.l2 = 1e-3}, .network = options};
  const double bound = base_objective(source) + 0.1;
  for (const StressKind kind :
       {StressKind::retrain, StressKind::noise, StressKind::adversarial, StressKind::bootstrap}) {
    const StressSet set = make_stress_set(kind, source, bound, {.count = 6}, Random(1));
    ASSERT_FALSE(set.models.empty()) << enum_name(kind);
    for (const StressModel& model : set.models) {
      EXPECT_EQ(model.network.kind, NetworkKind::nam);
      EXPECT_EQ(model.network.groups, groups);
      for (std::size_t l = 0; l < 2; ++l) {
        const Matrix& weights = model.network.layers[l].weights;
        for (Index i = 0; i < weights.rows(); ++i) {
          for (Index j = 0; j < weights.cols(); ++j) {
            if (3 * i / weights.rows() != 3 * j / weights.cols()) {
              EXPECT_EQ(weights(i, j), 0);
            }
          }
        }
      }
      // Who trains again keeps the signs; who only moves parameters does not.
      const bool is_trained = kind == StressKind::retrain || kind == StressKind::bootstrap;
      const Vector signs = parameter_signs(model.network);
      if (is_trained) {
        EXPECT_GE(signs.cwiseProduct(parameter_vector(model.network)).minCoeff(), 0);
      }
    }
  }
}

TEST(StressSet, EveryModelIsInsideTheBoundByRecomputation) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}, {5, 4}}) {
    const Trained trained(hidden);
    for (const StressKind kind :
         {StressKind::retrain, StressKind::noise, StressKind::adversarial, StressKind::bootstrap}) {
      const StressSet set =
          make_stress_set(kind, trained.source, trained.objective + 0.05, {.count = 12}, Random(1));
      EXPECT_EQ(set.kind, kind);
      EXPECT_FALSE(set.models.empty()) << enum_name(kind);
      EXPECT_LE(set.models.size(), 12U);
      EXPECT_GE(set.tried, set.models.size());
      expect_inside(set, trained);
    }
  }
}

TEST(StressSet, IsTheSameForAnyNumberOfThreads) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}}) {
    const Trained trained(hidden);
    for (const Variant variant : {Variant::published, Variant::corrected}) {
      for (const StressKind kind : {StressKind::retrain, StressKind::noise, StressKind::adversarial,
                                    StressKind::bootstrap}) {
        const auto make = [&](int threads) {
          return make_stress_set(kind, trained.source, trained.objective + 0.02,
                                 {.variant = variant, .count = 10}, Random(2),
                                 {.threads = threads});
        };
        expect_same(make(1), make(3));
      }
    }
  }
}

TEST(StressSet, IsEmptyWhereNothingCanBeInside) {
  const Trained trained({6});
  for (const StressKind kind :
       {StressKind::retrain, StressKind::noise, StressKind::adversarial, StressKind::bootstrap}) {
    const StressSet set =
        make_stress_set(kind, trained.source, 1e-3, {.count = 4, .noise_attempts = 2}, Random(1));
    EXPECT_TRUE(set.models.empty());
    EXPECT_GE(set.tried, 4U);
    EXPECT_THROW((void)accepts_all(set, Vector::Zero(4), 0), Error);
    EXPECT_THROW((void)accepted_by_all(set, RowMatrix::Zero(2, 4), 0), Error);
  }
}

TEST(StressSet, RefusesWhatDoesNotFitTogether) {
  const Trained trained({6});
  StressSource source = trained.source;
  for (const double bound : {infinity, std::nan("")}) {
    EXPECT_THROW((void)noise_set(source, bound, {}, Random(1)), Error);
    EXPECT_THROW((void)adversarial_set(source, bound, {}), Error);
    EXPECT_THROW((void)adversarial_against(source, bound, Vector::Zero(4), {}), Error);
  }
  EXPECT_THROW((void)adversarial_against(source, 1, Vector::Zero(3), {}), Error);
  EXPECT_THROW((void)noise_set(source, 1, {.count = 0}, Random(1)), Error);
  source.network.hidden = {7};
  EXPECT_THROW((void)retrain_set(source, 1, {.count = 1}, Random(1)), Error);
  EXPECT_THROW((void)bootstrap_set(source, {.count = 1}, Random(1)), Error);
  const Labelled narrow = random_rows(20, 3, 1);
  source.train = view(narrow);
  EXPECT_THROW((void)base_objective(source), Error);
  EXPECT_THROW((void)adversarial_set({}, 1, {}), Error);
}

TEST(Retrain, KeepsTheFirstNetworksInsideInTheOrderOfTheirSeeds) {
  const Trained trained({6});
  const Random seeds(8);
  const StressSet all = retrain_set(trained.source, infinity, {.count = 12}, seeds);
  ASSERT_EQ(all.models.size(), 12U);
  EXPECT_EQ(all.tried, 12U);
  std::vector<double> objectives;
  for (std::size_t k = 0; k < 12; ++k) {
    const NetworkFit fit =
        fit_network(trained.source.train, trained.source.validation, trained.source.loss,
                    trained.source.penalty, trained.source.network, seeds.split(k));
    EXPECT_EQ(parameter_vector(all.models[k].network), parameter_vector(fit.network));
    objectives.push_back(all.models[k].objective);
  }
  std::sort(objectives.begin(), objectives.end());
  const double median = objectives[5];  // six inside

  const StressSet four =
      retrain_set(trained.source, median, {.count = 4, .retrain_attempts = 3}, seeds);
  const StressSet filtered = within(all, median);
  ASSERT_EQ(four.models.size(), 4U);
  ASSERT_EQ(filtered.models.size(), 6U);
  EXPECT_EQ(filtered.bound, median);
  EXPECT_EQ(filtered.tried, 12U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(four.models[k].objective, filtered.models[k].objective);
  }
  EXPECT_EQ(all.models[four.tried - 1].objective, four.models.back().objective);
  EXPECT_THROW((void)within(filtered, median + 1), Error);
}

TEST(Retrain, WithoutHiddenLayersIsTheBaseOnce) {
  const Trained trained({});
  const StressSet set =
      retrain_set(trained.source, trained.objective + 1e-9, {.count = 50}, Random(1));
  ASSERT_EQ(set.models.size(), 1U);
  EXPECT_EQ(parameter_vector(set.models[0].network), parameter_vector(trained.base));
  EXPECT_TRUE(retrain_set(trained.source, trained.objective - 1e-9, {}, Random(1)).models.empty());
}

TEST(Bootstrap, LinearModelsAreTheOptimumOfTheRowsDrawn) {
  const Trained trained({});
  const Random seeds(6);
  const StressSet set = bootstrap_set(trained.source, {.count = 5}, seeds);
  ASSERT_EQ(set.models.size(), 5U);
  EXPECT_EQ(set.bound, infinity);
  expect_inside(set, trained);
  for (std::size_t k = 0; k < 5; ++k) {
    const Vector theta = parameter_vector(set.models[k].network);
    Random draws = seeds.split(k).split(0);
    Vector gradient = 160e-3 * theta;
    for (int i = 0; i < 160; ++i) {
      const std::uint64_t row = draws.below(160);
      Vector x(5);
      x << trained.train.features.row(static_cast<Index>(row)).transpose(), 1;
      gradient += (1 / (1 + std::exp(-theta.dot(x))) - trained.train.labels[row]) * x;
    }
    EXPECT_LE(gradient.norm() / 160, 1e-9);
  }
}

TEST(Bootstrap, NetworksAreNotFiltered) {
  const Trained trained({6});
  const StressSet set = bootstrap_set(trained.source, {.count = 8}, Random(6));
  ASSERT_EQ(set.models.size(), 8U);
  EXPECT_EQ(set.tried, 8U);
  expect_inside(set, trained);
  const double middle = set.models[3].objective;
  const StressSet filtered = within(set, middle);
  EXPECT_GE(filtered.models.size(), 1U);
  expect_inside(filtered, trained);
}

TEST(AcceptedByAll, IsTheSmallestLogitAgainstTheThreshold) {
  const Trained trained({5, 4});
  const StressSet set =
      noise_set(trained.source, trained.objective + 0.03, {.count = 9}, Random(3));
  const RowMatrix& rows = trained.validation.features;
  const Matrix scores = stress_logits(set, rows, {.threads = 2});
  Vector smallest = Vector::Constant(60, infinity);
  for (Index i = 0; i < 60; ++i) {
    for (std::size_t k = 0; k < 9; ++k) {
      const double logit = plain_logit(set.models[k].network, rows.row(i).transpose());
      EXPECT_NEAR(scores(i, static_cast<Index>(k)), logit, 1e-12);
      smallest(i) = std::min(smallest(i), logit);
    }
  }
  const double threshold = smallest.mean();  // some above, some below
  const std::vector<bool> accepted = accepted_by_all(set, rows, threshold, {.threads = 2});
  ASSERT_EQ(accepted.size(), 60U);
  for (Index i = 0; i < 60; ++i) {
    EXPECT_EQ(accepted[static_cast<std::size_t>(i)], smallest(i) >= threshold);
    EXPECT_EQ(accepts_all(set, rows.row(i).transpose(), threshold), smallest(i) >= threshold);
  }
}

TEST(StressSet, OfAllKindsAreMadeForDiabetes) {
  ELLICE_NEEDS_DATASET("diabetes");
  const Dataset all = load_recipe("diabetes");
  const Dataset balanced = select_rows(all, balanced_rows(all.labels, Random(42)));
  const Fold fold = stratified_split(balanced.labels, 0.2, Random(1));
  const Dataset train = select_rows(balanced, fold.train);
  const Dataset validation = select_rows(balanced, fold.test);
  const Encoder encoder = Encoder::fit(train);
  const Trained trained({16}, {.features = encoder.encode(train.raw), .labels = train.labels},
                        {.features = encoder.encode(validation.raw), .labels = validation.labels});
  const double bound = 1.1 * trained.objective;
  for (const Variant variant : {Variant::published, Variant::corrected}) {
    for (const StressKind kind :
         {StressKind::retrain, StressKind::noise, StressKind::adversarial, StressKind::bootstrap}) {
      const StressSet set =
          make_stress_set(kind, trained.source, bound, {.variant = variant, .count = 6}, Random(1));
      EXPECT_FALSE(set.models.empty()) << enum_name(kind);
      expect_inside(set, trained);
    }
  }
}

}  // namespace
}  // namespace ellice
