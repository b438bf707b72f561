#include "search/gradient.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "support/network_model.hpp"
#include "support/oracles.hpp"
#include "support/plain_judge.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::numeric_model;
using problem_zoo::queries_of;
using problem_zoo::random_queries;

constexpr std::array presets = {GradientPreset::printed, GradientPreset::as_run,
                                GradientPreset::corrected};

std::vector<Answer> descend(const Problem& problem, const std::vector<Query>& queries,
                            const GradientOptions& options = {}, int threads = 1) {
  return GradientSearch(problem, options).generate(queries, {.threads = threads});
}

Vector encoded(const Model& model, const RawRow& row) {
  return model.encoder.encode(row);
}

TEST(GradientObjective, ItsGradientIsThatOfFiniteDifferences) {
  const Model linear = numeric_model(8, 1);
  const Model network = network_model({6, 5}, Activation::tanh, 2, 8);
  for (const Model* model : {&linear, &network}) {
    for (const SetKind kind : {SetKind::last_layer, SetKind::isotropic}) {
      const std::unique_ptr<UncertaintySet> set = make_set(*model, {.kind = kind});
      Random random(3);
      const Vector query = random.normal_vector(8);
      const Vector x = random.normal_vector(8);
      for (const double threshold : {0.0, 0.7}) {
        const GradientSettings settings{
            .alpha = 0.8, .beta = 1.3, .proximity = 0.2, .sparsity = 0.1, .radius_factor = 0.99};
        GradientObjective objective(*set, 0.05, settings, threshold);
        const Vector numerical = oracles::numerical_gradient(
            [&](const Vector& at) { return objective.evaluate(query, at).loss; }, x);
        const Vector gradient = objective.evaluate(query, x).gradient;
        EXPECT_LE((gradient - numerical).norm(), 1e-7 * (1 + numerical.norm()));
      }
    }
  }
}

TEST(GradientObjective, StaysFiniteFarOut) {
  const Model model = numeric_model(3, 5);
  const std::unique_ptr<UncertaintySet> set = make_set(model, {});
  GradientObjective objective(*set, 0.01, {}, 0);
  const Vector far = 1e6 * Vector::Ones(3);
  for (const Vector& x : {far, Vector(-far)}) {
    const GradientObjective::Value value = objective.evaluate(Vector::Zero(3), x);
    EXPECT_TRUE(std::isfinite(value.loss));
    EXPECT_TRUE(value.gradient.allFinite());
  }
}

/// The paper's line-by-line loop with its own arithmetic: the inverse of H itself.
Vector printed_by_hand(const Model& model, double epsilon, const Vector& query, double eta, int t,
                       double alpha, double beta, double lambda, double gamma) {
  const Vector omega = model.network.head();
  const Matrix inverse = model.curvature.hessian.inverse();
  Vector x = query;
  for (int steps = 0; steps < t; ++steps) {
    Vector h(x.size() + 1);
    h << x, 1.0;
    const Vector worst =
        omega - std::sqrt(2 * epsilon) * (inverse * h) / std::sqrt(h.dot(inverse * h));
    const double centre_slope = -1 / (1 + std::exp(h.dot(omega)));
    const double worst_slope = -1 / (1 + std::exp(h.dot(worst)));
    Vector gradient = alpha * centre_slope * omega.head(x.size()) +
                      beta * worst_slope * worst.head(x.size()) + 2 * lambda * (x - query);
    for (Index j = 0; j < x.size(); ++j) {
      gradient[j] += gamma * ((x[j] > query[j]) - (x[j] < query[j]));
    }
    x -= eta * gradient;
    if (h.dot(worst) >= 0) break;
  }
  return x;
}

TEST(GradientSearch, PrintedFollowsTheAlgorithmLineByLine) {
  const Model model = numeric_model(5, 11);
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(model, 25, 12);
  const GradientOptions options{.preset = GradientPreset::printed,
                                .alpha = 0.9,
                                .beta = 0.7,
                                .proximity = 0.002,
                                .sparsity = 0.001,
                                .step = 0.2,
                                .max_steps = 60};
  const std::vector<Answer> answers = descend(problem, queries, options);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Vector start = encoded(model, answers[i].query);
    const Vector expected = printed_by_hand(model, 0.01, start, 0.2, 60, 0.9, 0.7, 0.002, 0.001);
    ASSERT_TRUE(answers[i].counterfactual);
    EXPECT_LE((encoded(model, *answers[i].counterfactual) - expected).norm(), 1e-9);
  }
}

/// As-run in plain words: Adam with torch's defaults, clipped, best point by the shrunken penalty.
Vector as_run_by_hand(const Model& model, double epsilon, const Vector& query) {
  const Vector omega = model.network.head();
  Matrix q = model.curvature.hessian / (2 * epsilon);
  q += 1e-6 * Matrix::Identity(q.rows(), q.cols());
  const Matrix inverse = q.inverse();
  const Index d = query.size();
  Vector x = query, best = query, m = Vector::Zero(d), v = Vector::Zero(d);
  double best_logit = -1e300;
  int since = 0;
  for (int step = 1; step <= 1000; ++step) {
    Vector h(d + 1);
    h << x, 1.0;
    const double norm = std::sqrt(h.dot(inverse * h));
    const Vector worst = omega - 0.99 * (inverse * h) / norm;
    const double g = h.dot(worst);
    if (g > best_logit) {
      best_logit = g;
      best = x;
      since = 0;
    } else {
      ++since;
    }
    if (g > 0 || since >= 100) break;
    const Vector gradient =
        -1 / (1 + std::exp(h.dot(omega))) * omega.head(d) - 0.5 / (1 + std::exp(g)) * worst.head(d);
    for (Index j = 0; j < d; ++j) {
      m[j] = 0.9 * m[j] + 0.1 * gradient[j];
      v[j] = 0.999 * v[j] + 0.001 * gradient[j] * gradient[j];
      x[j] -= 0.1 * m[j] / (1 - std::pow(0.9, step)) /
              (std::sqrt(v[j] / (1 - std::pow(0.999, step))) + 1e-8);
      const double low =
          (model.encoder.min()[j] - model.encoder.mean()[j]) / model.encoder.scale()[j];
      const double high =
          (model.encoder.max()[j] - model.encoder.mean()[j]) / model.encoder.scale()[j];
      x[j] = std::min(std::max(x[j], low), high);
    }
  }
  return best;
}

TEST(GradientSearch, AsRunIsAdamWithTheAuthorsSet) {
  const Model model = numeric_model(5, 13);
  for (const double epsilon : {0.01, 0.3}) {  // the larger one is out of reach for most
    const Problem problem{.model = &model, .epsilon = epsilon};
    const std::vector<Query> queries = random_queries(model, 25, 14);
    const std::vector<Answer> answers =
        descend(problem, queries, {.preset = GradientPreset::as_run});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Vector expected = as_run_by_hand(model, epsilon, encoded(model, answers[i].query));
      ASSERT_TRUE(answers[i].counterfactual);
      EXPECT_LE((encoded(model, *answers[i].counterfactual) - expected).norm(), 1e-6)
          << "query " << i << ", epsilon " << epsilon;
    }
  }
}

TEST(GradientSearch, RowsThatFailTheCheckAreCalledUncertified) {
  const Model model = numeric_model(5, 15);
  int certified = 0;
  int uncertified = 0;
  for (const GradientPreset preset : {GradientPreset::printed, GradientPreset::as_run}) {
    for (const double epsilon : {0.005, 0.3}) {
      const Problem problem{.model = &model, .epsilon = epsilon};
      const plain::Ellipsoid judge(model, epsilon);
      for (const Answer& answer :
           descend(problem, random_queries(model, 60, 16), {.preset = preset})) {
        ASSERT_TRUE(answer.counterfactual);
        const double g = judge.robust_logit(plain::code(model, *answer.counterfactual));
        const Vector from = plain::numbers(model.schema(), answer.query);
        const Vector to = plain::numbers(model.schema(), *answer.counterfactual);
        const bool is_allowed = plain::fault(problem, answer.query_index, from, to).empty();
        if (std::abs(g) > 1e-9) {
          EXPECT_EQ(answer.status == Status::certified, g > 0 && is_allowed) << g;
        }
        if (answer.status == Status::certified) {
          ++certified;
          ASSERT_TRUE(answer.certificate);
          continue;
        }
        ++uncertified;
        EXPECT_EQ(answer.status, Status::uncertified);
        EXPECT_FALSE(answer.certificate);
        EXPECT_FALSE(answer.message.empty());
      }
    }
  }
  EXPECT_GT(certified, 10);
  EXPECT_GT(uncertified, 10);
}

TEST(GradientSearch, WhatOnlyTheRealNetworkRefusesIsSaidToBeThat) {
  const Model model = network_model({8, 8}, Activation::tanh, 17, 4);
  int refused = 0;
  for (const double epsilon : {0.02, 0.1, 0.5}) {
    const Problem problem{.model = &model, .set = {.kind = SetKind::isotropic}, .epsilon = epsilon};
    for (const Answer& answer :
         descend(problem, random_queries(model, 60, 18), {.preset = GradientPreset::as_run})) {
      if (answer.status != Status::uncertified || answer.message.starts_with("breaks")) continue;
      const bool is_real = answer.message.find("but the real network gives") != std::string::npos;
      EXPECT_EQ(is_real, answer.robust_logit >= problem.threshold) << answer.message;
      refused += is_real ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(GradientSearch, CorrectedSearchesEveryPieceWhereTheQueryLiesOutsideARange) {
  const Model model = numeric_model(2, 17);
  const double towards = model.network.head()(0) > 0 ? 1 : -1;
  bool kept = false;
  bool entered = false;
  // A range of x0 that begins behind the query helps nobody; one before it does.
  for (const double distance : {-50.0, 1e-3}) {
    Problem problem{.model = &model, .epsilon = 0.002, .threshold = 0.5};
    problem.constraints.range = RangePolicy::off;
    for (const Query& query : random_queries(model, 10, 18)) {
      const double edge = query.raw(0) + towards * distance;
      FeatureLimits& limits = problem.constraints.queries[query.index]["x0"];
      (towards * distance > 0 ? limits.min : limits.max) = edge;
    }
    const std::vector<Query> queries = random_queries(model, 10, 18);
    const std::vector<Answer> answers = descend(problem, queries);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (answers[i].status == Status::already_robust) continue;
      ASSERT_EQ(answers[i].status, Status::certified) << answers[i].message;
      const bool own = std::get<double>((*answers[i].counterfactual)[0]) == queries[i].raw(0);
      EXPECT_TRUE(own || distance > 0) << "far behind";
      (own ? kept : entered) = true;
    }
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(entered);
}

TEST(GradientSearch, CorrectedIsCertifiedAndNeverNearerThanTheOptimum) {
  int found = 0;
  int bounded = 0;  // by more than half of the cost
  for (const std::uint64_t seed : {21, 22, 23}) {
    const Model model = numeric_model(6, seed, [](Schema& schema) {
      schema.features[0].immutable = true;
      schema.features[1].direction = Direction::increase;
      schema.features[2].max = 0.8;
    });
    for (const double epsilon : {0.0, 0.002, 0.02}) {
      const Problem problem{.model = &model, .epsilon = epsilon};
      const plain::Ellipsoid judge(model, epsilon);
      const std::vector<Query> queries = random_queries(model, 30, seed + 100);
      const std::vector<Answer> answers = descend(problem, queries);
      for (std::size_t i = 0; i < queries.size(); ++i) {
        if (answers[i].status == Status::already_robust) continue;
        if (answers[i].status == Status::not_found) {
          EXPECT_FALSE(answers[i].counterfactual);
          EXPECT_FALSE(answers[i].message.empty());
          continue;
        }
        ++found;
        ASSERT_EQ(answers[i].status, Status::certified);
        plain::expect_allowed(problem, answers[i]);
        const Vector z = plain::code(model, *answers[i].counterfactual);
        EXPECT_GE(judge.robust_logit(z), 0);
        const double bound = plain::least_cost(plain::nearest_of(problem, i, queries[i].raw),
                                               judge.worst(z), problem.threshold);
        bounded += bound > 0.5 * answers[i].distance.weighted ? 1 : 0;
        const double paid = plain::cost(problem.cost, model, queries[i].raw,
                                        plain::numbers(model.schema(), *answers[i].counterfactual));
        EXPECT_NEAR(answers[i].distance.weighted, paid, 1e-9 * paid);
        EXPECT_GE(paid, bound * (1 - 1e-9));
      }
    }
  }
  EXPECT_GT(found, 60);
  EXPECT_GT(bounded, 30);
}

TEST(GradientSearch, CorrectedReachesWhatCanBeReachedWithoutRanges) {
  const Model model = numeric_model(5, 31);
  Problem problem{.model = &model, .epsilon = 0.002};
  problem.constraints.range = RangePolicy::off;
  const plain::Ellipsoid judge(model, problem.epsilon);
  const std::vector<Answer> answers = descend(problem, random_queries(model, 60, 32));
  ASSERT_EQ(answers.size(), 60U);
  for (const Answer& answer : answers) {
    ASSERT_TRUE(is_certified(answer.status)) << answer.message;
    EXPECT_GE(judge.robust_logit(plain::code(model, *answer.counterfactual)), 0);
  }
}

TEST(GradientSearch, WhatIsImpossibleIsNotFoundAndNeverReturned) {
  const Model model = numeric_model(5, 33);
  const Problem problem{.model = &model, .epsilon = 100};
  const std::vector<Answer> answers = descend(problem, random_queries(model, 10, 34));
  ASSERT_EQ(answers.size(), 10U);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.status, Status::not_found);
    EXPECT_FALSE(answer.counterfactual);
  }
}

TEST(GradientSearch, FixedAndHeldFeaturesStayInEveryPreset) {
  const Dataset data = lending_dataset(1500, 4);
  const Model model = train(data, {}, {.folds = 0}).model;
  Problem problem{.model = &model, .epsilon = 1e-4};
  problem.constraints.features["savings"].locked = true;
  const std::vector<Query> queries = queries_of(data, 40);
  int moved = 0;
  for (const GradientPreset preset : presets) {
    for (const Answer& answer : descend(problem, queries, {.preset = preset})) {
      for (const Change& change : answer.changes) {
        const std::size_t j = *model.schema().find(change.feature);
        EXPECT_EQ(model.schema().features[j].kind, FeatureKind::numeric) << change.feature;
        EXPECT_FALSE(model.schema().features[j].immutable) << change.feature;
        EXPECT_NE(change.feature, "savings");
        ++moved;
      }
    }
  }
  EXPECT_GT(moved, 40);
}

TEST(GradientSearch, CorrectedAnswersLieOnTheirGrids) {
  const Model model = numeric_model(4, 35, [](Schema& schema) {
    schema.features[0].step = 0.25;
    schema.features[1].allowed = {-1.0, 0.0, 0.5, 1.5};
  });
  const Problem problem{.model = &model, .epsilon = 0.002};
  const std::vector<Query> queries = random_queries(model, 60, 36);
  int certified = 0;
  const std::vector<Answer> answers = descend(problem, queries);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].status != Status::certified) continue;
    ++certified;
    const double x0 = std::get<double>((*answers[i].counterfactual)[0]);
    const double x1 = std::get<double>((*answers[i].counterfactual)[1]);
    EXPECT_TRUE(x0 == queries[i].raw[0] || x0 == 0.25 * std::round(x0 / 0.25)) << x0;
    EXPECT_TRUE(x1 == queries[i].raw[1] || x1 == -1 || x1 == 0 || x1 == 0.5 || x1 == 1.5) << x1;
  }
  EXPECT_GT(certified, 10);
}

TEST(GradientSearch, TheAnswerIsTheSameForAnyNumberOfThreads) {
  const Model model = numeric_model(5, 37);
  const Problem problem{.model = &model, .epsilon = 0.01};
  const std::vector<Query> queries = random_queries(model, 40, 38);
  for (const GradientPreset preset : presets) {
    const auto text = [&](int threads) {
      std::string result;
      for (const Answer& answer : descend(problem, queries, {.preset = preset}, threads)) {
        result += to_json(answer, model.schema()).dump();
      }
      return result;
    };
    EXPECT_EQ(text(1), text(3));
  }
}

TEST(GradientOptions, ThePresetFillsInWhatIsNotGiven) {
  const GradientSettings as_run = settings_of({.preset = GradientPreset::as_run});
  EXPECT_EQ(as_run, (GradientSettings{.preset = GradientPreset::as_run,
                                      .optimizer = Optimizer::adam,
                                      .alpha = 1,
                                      .beta = 0.5,
                                      .proximity = 0,
                                      .sparsity = 0,
                                      .step = 0.1,
                                      .max_steps = 1000,
                                      .patience = 100,
                                      .radius_factor = 0.99,
                                      .jitter = 1e-6}));
  EXPECT_EQ(settings_of({.preset = GradientPreset::printed}).optimizer, Optimizer::gd);
  EXPECT_EQ(settings_of({.preset = GradientPreset::printed}).patience, 0);
  EXPECT_EQ(settings_of({}).radius_factor, 1);
  const GradientSettings own =
      settings_of({.optimizer = Optimizer::gd, .step = 0.3, .patience = 7});
  EXPECT_EQ(own.optimizer, Optimizer::gd);
  EXPECT_EQ(own.step, 0.3);
  EXPECT_EQ(own.patience, 7);
}

TEST(GradientOptions, ValuesOutOfRangeAreRefused) {
  EXPECT_THROW((void)settings_of({.step = 0.0}), Error);
  EXPECT_THROW((void)settings_of({.max_steps = 0}), Error);
  EXPECT_THROW((void)settings_of({.proximity = -1.0}), Error);
  EXPECT_THROW((void)settings_of({.alpha = std::nan("")}), Error);
}

}  // namespace
}  // namespace ellice
