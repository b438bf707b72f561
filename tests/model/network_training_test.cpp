#include "model/network_training.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "solver/allocation_count.hpp"
#include "support/problem_zoo.hpp"

namespace ellice {
namespace {

LabelledRows view(const problem_zoo::Labelled& data) {
  return {.features = &data.features, .labels = &data.labels};
}

/// Two classes that no plane separates: inside and outside of a ring.
problem_zoo::Labelled ring(Index rows, std::uint64_t seed) {
  Random random(seed);
  problem_zoo::Labelled data{.features = RowMatrix(rows, 2)};
  for (Index i = 0; i < rows; ++i) {
    data.features.row(i) = random.normal_vector(2).transpose();
    data.labels.push_back(data.features.row(i).norm() < 1.18 ? 1 : 0);
  }
  return data;
}

double accuracy_on(const Network& network, const problem_zoo::Labelled& data) {
  const Vector logits = network.logits(data.features);
  double right = 0;
  for (Index i = 0; i < logits.size(); ++i)
    right += (logits(i) >= 0 ? 1 : 0) == data.labels[static_cast<std::size_t>(i)] ? 1 : 0;
  return right / static_cast<double>(logits.size());
}

TEST(FitNetwork, LearnsWhatNoPlaneSeparates) {
  const auto data = ring(600, 1);
  const auto fresh = ring(2000, 2);
  for (const Activation activation : {Activation::relu, Activation::tanh}) {
    for (const int batch_size : {0, 64}) {
      const NetworkFit fit = fit_network(view(data), {}, LossKind::logistic, {.l2 = 1e-4},
                                         {.hidden = {16, 8},
                                          .activation = activation,
                                          .learning_rate = 0.02,
                                          .epochs = 200,
                                          .batch_size = batch_size},
                                         Random(3));
      EXPECT_EQ(fit.epochs, 200);
      EXPECT_FALSE(fit.stopped_early);
      EXPECT_GE(accuracy_on(fit.network, fresh), 0.93) << enum_name(activation) << batch_size;
      EXPECT_EQ(fit.network.kind, NetworkKind::mlp);
      NetworkObjective objective(view(data), LossKind::logistic, {.l2 = 1e-4});
      EXPECT_EQ(fit.objective, objective.value(fit.network));
    }
  }
}

TEST(FitNetwork, StartsUniformlyWithinTheInverseRootOfTheInputs) {
  const auto data = ring(50, 1);
  const NetworkFit fit =
      fit_network(view(data), {}, LossKind::logistic, {},
                  {.hidden = {400, 100}, .learning_rate = 1e-12, .epochs = 1}, Random(5));
  for (const Layer& layer : fit.network.layers) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.weights.cols()));
    EXPECT_LE(layer.weights.cwiseAbs().maxCoeff(), bound + 1e-9);
    EXPECT_LE(layer.bias.cwiseAbs().maxCoeff(), bound + 1e-9);
  }
  const Matrix& middle = fit.network.layers[1].weights;  // 40 000 draws from ±1/20
  EXPECT_NEAR(middle.mean(), 0, 1e-3);
  EXPECT_NEAR(middle.squaredNorm() / static_cast<double>(middle.size()), 1.0 / 1200, 2e-5);
}

TEST(FitNetwork, TakesAdamsStepsAsPublished) {
  // Three steps by hand on a head alone, where the gradient is that of Objective.
  const auto data = problem_zoo::random_rows(80, 3, 4);
  const Penalty penalty{.l2 = 0.01};
  NetworkOptions options{.hidden = {}, .learning_rate = 0.05, .epochs = 1};
  Vector theta = [&] {
    options.learning_rate = 1e-300;
    return fit_network(view(data), {}, LossKind::logistic, penalty, options, Random(8))
        .network.head();
  }();
  options = {.hidden = {}, .learning_rate = 0.05, .epochs = 3};
  const NetworkFit fit =
      fit_network(view(data), {}, LossKind::logistic, penalty, options, Random(8));
  EXPECT_EQ(fit.network.kind, NetworkKind::logistic);
  const Objective objective(data.features, data.labels, LossKind::logistic, penalty);
  Vector m = Vector::Zero(4);
  Vector v = Vector::Zero(4);
  for (int t = 1; t <= 3; ++t) {
    Vector g;
    Matrix hessian;
    objective.derivatives(theta, g, hessian);
    for (Index i = 0; i < 4; ++i) {
      m(i) = 0.9 * m(i) + 0.1 * g(i);
      v(i) = 0.999 * v(i) + 0.001 * g(i) * g(i);
      theta(i) -= 0.05 * (m(i) / (1 - std::pow(0.9, t))) /
                  (std::sqrt(v(i) / (1 - std::pow(0.999, t))) + 1e-8);
    }
  }
  EXPECT_LE((fit.network.head() - theta).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(FitNetwork, EarlyStoppingReturnsTheBestValidationState) {
  // Few noisy rows and many units: the validation objective turns round soon.
  const auto data = problem_zoo::random_rows(60, 8, 5);
  const auto validation = problem_zoo::random_rows(60, 8, 6);
  NetworkOptions options{.hidden = {32}, .learning_rate = 0.02, .epochs = 300, .patience = 10};
  const Penalty penalty{.l2 = 1e-3};
  const auto fit_for = [&](int epochs) {
    NetworkOptions fewer = options;
    fewer.epochs = epochs;
    return fit_network(view(data), {}, LossKind::logistic, penalty, fewer, Random(7));
  };
  const NetworkFit stopped =
      fit_network(view(data), view(validation), LossKind::logistic, penalty, options, Random(7));
  EXPECT_TRUE(stopped.stopped_early);
  EXPECT_LT(stopped.epochs, 300);
  NetworkObjective judge(view(validation), LossKind::logistic, penalty);
  EXPECT_EQ(stopped.validation_objective, judge.value(stopped.network));
  // The state ten epochs before the stop, and better than all after it and the one before.
  const int best_epoch = stopped.epochs - options.patience;
  EXPECT_EQ(parameter_vector(fit_for(best_epoch).network), parameter_vector(stopped.network));
  EXPECT_GT(judge.value(fit_for(best_epoch - 1).network), stopped.validation_objective);
  for (int later = best_epoch + 1; later <= stopped.epochs; ++later)
    EXPECT_GE(judge.value(fit_for(later).network), stopped.validation_objective);

  options.patience = 0;
  const NetworkFit patient =
      fit_network(view(data), view(validation), LossKind::logistic, penalty, options, Random(7));
  EXPECT_EQ(patient.epochs, 300);
  EXPECT_FALSE(patient.stopped_early);
  EXPECT_LE(patient.validation_objective, stopped.validation_objective);
  EXPECT_EQ(patient.validation_objective, judge.value(patient.network));
}

TEST(FitNetwork, EndsWithTheLastStateWhereAskedToAndNothingStoppedIt) {
  const auto data = problem_zoo::random_rows(60, 8, 5);
  const auto validation = problem_zoo::random_rows(60, 8, 6);
  NetworkOptions options{
      .hidden = {32}, .learning_rate = 0.02, .epochs = 300, .patience = 0, .keep_best = false};
  const Penalty penalty{.l2 = 1e-3};
  const auto fit = [&](LabelledRows judge) {
    return fit_network(view(data), judge, LossKind::logistic, penalty, options, Random(7));
  };
  const NetworkFit last = fit(view(validation));
  EXPECT_EQ(parameter_vector(last.network), parameter_vector(fit({}).network));
  NetworkObjective judge(view(validation), LossKind::logistic, penalty);
  EXPECT_EQ(last.validation_objective, judge.value(last.network));
  options.keep_best = true;
  EXPECT_LT(fit(view(validation)).validation_objective, last.validation_objective);

  // Early stopping goes back to the best state either way.
  options.patience = 10;
  const NetworkFit best = fit(view(validation));
  options.keep_best = false;
  EXPECT_TRUE(best.stopped_early);
  EXPECT_EQ(parameter_vector(fit(view(validation)).network), parameter_vector(best.network));
}

TEST(FitNetworks, AreTheSameForAnyNumberOfThreads) {
  const auto data = ring(300, 1);
  const auto validation = ring(100, 2);
  const NetworkOptions options{.hidden = {8, 8}, .epochs = 30, .batch_size = 50};
  std::vector<NetworkFit> alone;
  for (std::uint64_t k = 0; k < 7; ++k) {
    alone.push_back(fit_network(view(data), view(validation), LossKind::logistic, {}, options,
                                Random(9).split(k)));
  }
  EXPECT_NE(parameter_vector(alone[0].network), parameter_vector(alone[1].network));
  for (const int threads : {1, 2, 5}) {
    const std::vector<NetworkFit> fits =
        fit_networks(view(data), view(validation), LossKind::logistic, {}, options, Random(9), 7,
                     {.threads = threads});
    for (std::size_t k = 0; k < 7; ++k)
      EXPECT_EQ(parameter_vector(fits[k].network), parameter_vector(alone[k].network));
  }
}

TEST(FitNetwork, AllocatesNothingPerEpoch) {
  if (!allocation_count()) GTEST_SKIP() << "skipped: allocations cannot be counted here";
  const auto data = ring(300, 1);
  const auto validation = ring(100, 2);
  for (const int batch_size : {0, 70}) {
    const auto allocations = [&](int epochs) {
      const NetworkOptions options{
          .hidden = {8, 8}, .epochs = epochs, .patience = 0, .batch_size = batch_size};
      const std::size_t before = *allocation_count();
      (void)fit_network(view(data), view(validation), LossKind::logistic, {}, options, Random(9));
      return *allocation_count() - before;
    };
    (void)allocations(1);
    EXPECT_EQ(allocations(2), allocations(50)) << "batches of " << batch_size;
  }
}

TEST(FitNetwork, SaysWhenItDiverged) {
  const auto data = ring(50, 1);
  const NetworkOptions options{.learning_rate = 1e200, .epochs = 20};
  try {
    (void)fit_network(view(data), {}, LossKind::logistic, {}, options, Random(1));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("learning_rate smaller than 1e+200"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ellice
