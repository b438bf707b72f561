#include "ellice/rashomon/stress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/data/folds.hpp"
#include "support/datasets.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

using problem_zoo::Labelled;
using problem_zoo::random_rows;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The logit of a relu network, unit by unit.
double plain_logit(const Network& network, const Vector& x) {
  std::vector<double> a(x.begin(), x.end());
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    std::vector<double> z;
    for (Index j = 0; j < layer.bias.size(); ++j) {
      double sum = layer.bias(j);
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += layer.weights(j, static_cast<Index>(i)) * a[i];
      }
      z.push_back(l + 1 < network.layers.size() ? std::max(0.0, sum) : sum);
    }
    a = z;
  }
  return a.front();
}

/// L(Θ) of the logistic loss from its definition, all biases included.
double plain_objective(const Network& network, const Labelled& rows, double l2) {
  double sum = 0;
  for (Index i = 0; i < rows.features.rows(); ++i) {
    const double f = plain_logit(network, rows.features.row(i).transpose());
    const double m = rows.labels[static_cast<std::size_t>(i)] == 1 ? f : -f;
    sum += m > 0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m));
  }
  double squares = 0;
  for (const Layer& layer : network.layers) {
    for (const double w : layer.weights.reshaped()) squares += w * w;
    for (const double b : layer.bias) squares += b * b;
  }
  return sum / static_cast<double>(rows.features.rows()) + l2 / 2 * squares;
}

LabelledRows view(const Labelled& rows) {
  return {.features = &rows.features, .labels = &rows.labels};
}

/// A base with what it was trained on. Not copied: the source points into it.
struct Trained {
  explicit Trained(std::vector<int> hidden, Labelled train_rows = random_rows(160, 4, 31),
                   Labelled validation_rows = random_rows(60, 4, 32))
      : train(std::move(train_rows)), validation(std::move(validation_rows)) {
    source = {.train = view(train),
              .validation = view(validation),
              .network = {.hidden = std::move(hidden), .learning_rate = 0.02, .epochs = 150}};
    // A convex objective is trained close to its minimum, so that bounds mean what they say.
    if (source.network.hidden.empty()) source.network.epochs = 2000;
    base = fit_network(source.train, source.validation, source.loss, source.penalty, source.network,
                       Random(5))
               .network;
    source.base = &base;
    objective = plain_objective(base, train, source.penalty.l2);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  Labelled train, validation;
  Network base;
  StressSource source;
  double objective = 0;
};

void expect_inside(const StressSet& set, const Trained& trained) {
  for (const StressModel& model : set.models) {
    const double objective = plain_objective(model.network, trained.train, 1e-3);
    EXPECT_NEAR(objective, model.objective, 1e-12);
    EXPECT_LE(objective, set.bound + 1e-12);
  }
}

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
    for (const StressVariant variant : {StressVariant::published, StressVariant::corrected}) {
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

/// The base with each parameter times 1 + σ·normal, by draws that are not those of the factory.
double plain_share_inside(const Trained& trained, double sigma, double bound) {
  Random random(987);
  constexpr int draws = 1500;
  int inside = 0;
  const Vector parameters = parameter_vector(trained.base);
  for (int k = 0; k < draws; ++k) {
    Vector noisy = parameters;
    for (double& value : noisy) value *= 1 + sigma * random.normal();
    if (plain_objective(with_parameters(trained.base, noisy), trained.train, 1e-3) <= bound) {
      ++inside;
    }
  }
  return inside / static_cast<double>(draws);
}

TEST(WeightNoise, IsBisectedToTheShareThatIsAskedFor) {
  for (const std::vector<int>& hidden : {std::vector<int>{}, {6}}) {
    const Trained trained(hidden);
    const double bound = trained.objective + 0.02;
    for (const double share : {0.1, 0.5}) {
      const StressSet set =
          noise_set(trained.source, bound, {.count = 100, .noise_share = share}, Random(3));
      EXPECT_EQ(set.models.size(), 100U);
      EXPECT_NEAR(plain_share_inside(trained, set.noise, bound), share, 0.06);
      EXPECT_NEAR(100 / static_cast<double>(set.tried), share, 0.12);
      expect_inside(set, trained);
    }
  }
}

TEST(WeightNoise, StopsAtTheCapOfItsAttempts) {
  const Trained trained({6});
  const StressSet set = noise_set(trained.source, trained.objective + 0.02,
                                  {.count = 200, .noise_attempts = 1}, Random(3));
  EXPECT_EQ(set.tried, 200U);
  EXPECT_GT(set.models.size(), 5U);
  EXPECT_LT(set.models.size(), 60U);
}

TEST(WeightNoise, CannotMoveWhatIsZero) {
  Trained trained({6});
  trained.base.layers[0].weights(2, 1) = 0;
  trained.base.layers[1].bias(0) = 0;
  const StressSet set =
      noise_set(trained.source, base_objective(trained.source) + 0.02, {.count = 5}, Random(3));
  ASSERT_EQ(set.models.size(), 5U);
  for (const StressModel& model : set.models) {
    EXPECT_EQ(model.network.layers[0].weights(2, 1), 0);
    EXPECT_EQ(model.network.layers[1].bias(0), 0);
    EXPECT_NE(model.network.layers[0].weights(0, 0), trained.base.layers[0].weights(0, 0));
  }
}

TEST(WeightNoise, PublishedTakesTheLargestGridValueAndRedrawsOnce) {
  const Trained trained({12});
  const double bound = trained.objective + 0.01;
  constexpr std::size_t count = 150;
  const StressSet set = noise_set(trained.source, bound,
                                  {.variant = StressVariant::published, .count = count}, Random(4));
  const double ratio = std::pow(8000.0, 1 / 19.0);
  const double step = std::log(set.noise / 1e-4) / std::log(ratio);
  EXPECT_NEAR(step, std::round(step), 1e-9);
  ASSERT_LT(set.noise, 0.79) << "the case must not be at the end of the grid";
  EXPECT_GT(plain_share_inside(trained, set.noise, bound), 0.03);
  EXPECT_LT(plain_share_inside(trained, set.noise * ratio, bound), 0.07);

  expect_inside(set, trained);
  ASSERT_GE(set.tried, count);
  const std::size_t redrawn = set.tried - count;
  EXPECT_GT(redrawn, 0U);
  EXPECT_LE(redrawn, count);
  // A model's own σ shows in its factors: 12·4 + 12 + 12 + 1 of them.
  std::size_t first_draws = 0;
  const Vector parameters = parameter_vector(trained.base);
  for (const StressModel& model : set.models) {
    const Vector factors = parameter_vector(model.network).cwiseQuotient(parameters);
    const double deviation = std::sqrt((factors.array() - 1).square().mean());
    if (deviation > 0.75 * set.noise) ++first_draws;
  }
  EXPECT_NEAR(static_cast<double>(first_draws), static_cast<double>(count - redrawn), 3);
}

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
      adversarial_set(trained.source, bound, {.variant = StressVariant::published, .count = 7});
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

TEST(AdversarialWeights, LastStepIsCheckedInTheCorrectedVariantOnly) {
  const Trained trained({});
  const double bound = trained.objective + 0.005;
  // With as many steps as the first row needs to leave the set, its last step is the one outside.
  const int steps = plain_descent(trained, 0, bound, 400).steps + 1;
  ASSERT_LT(steps, 400);
  const StressSet published = adversarial_set(
      trained.source, bound, {.variant = StressVariant::published, .count = 1, .steps = steps});
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
  const Trained trained({6}, random_rows(15, 4, 31));
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
      int lower = 0;
      for (const StressModel& model : others.models) {
        lower += plain_logit(model.network, x) < logit ? 1 : 0;
      }
      EXPECT_LE(lower, 4);
    }
  }
}

TEST(AdversarialAgainst, HasNothingWhereTheBaseIsOutside) {
  const Trained trained({6});
  EXPECT_FALSE(adversarial_against(trained.source, trained.objective - 1e-6, Vector::Zero(4), {}));
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
  for (const double threshold : {0.0, 0.4}) {
    const std::vector<bool> accepted = accepted_by_all(set, rows, threshold, {.threads = 2});
    const Matrix scores = stress_logits(set, rows, {.threads = 2});
    ASSERT_EQ(accepted.size(), 60U);
    for (Index i = 0; i < 60; ++i) {
      double smallest = infinity;
      for (std::size_t k = 0; k < 9; ++k) {
        const double logit = plain_logit(set.models[k].network, rows.row(i).transpose());
        EXPECT_NEAR(scores(i, static_cast<Index>(k)), logit, 1e-12);
        smallest = std::min(smallest, logit);
      }
      EXPECT_EQ(accepted[static_cast<std::size_t>(i)], smallest >= threshold);
      EXPECT_EQ(accepts_all(set, rows.row(i).transpose(), threshold), smallest >= threshold);
    }
    EXPECT_NE(std::count(accepted.begin(), accepted.end(), true), 0);
    EXPECT_NE(std::count(accepted.begin(), accepted.end(), false), 0);
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
  const Trained trained({16}, {encoder.encode(train.raw), train.labels},
                        {encoder.encode(validation.raw), validation.labels});
  const double bound = 1.1 * trained.objective;
  for (const StressVariant variant : {StressVariant::published, StressVariant::corrected}) {
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
