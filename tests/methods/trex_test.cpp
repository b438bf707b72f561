#include "methods/trex.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ellice/core/error.hpp"
#include "methods/stability.hpp"
#include "support/network_model.hpp"
#include "support/oracles.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::random_queries;

double probability(const Network& network, const Vector& x, double threshold = 0) {
  return 1 / (1 + std::exp(threshold - network.logit(x)));
}

/// R by its definition, a draw at a time.
double stability_by_loop(const Network& network, const Vector& x, const RowMatrix& noise) {
  double sum = 0;
  const double m = probability(network, x);
  for (Index i = 0; i < noise.rows(); ++i) {
    const double mi = probability(network, x + noise.row(i).transpose());
    sum += mi - std::abs(m - mi);
  }
  return sum / static_cast<double>(noise.rows());
}

TEST(Stability, IsTheMeanOfItsDefinition) {
  for (const std::vector<Index>& hidden : {std::vector<Index>{}, {5}, {5, 4}}) {
    const Network network = random_network(3, hidden, Activation::relu, Random(2));
    const RowMatrix noise = stability_noise(50, 3, false, Random(5));
    const Stability stability(network, 0, noise);
    const Vector x = Random(9).normal_vector(3);
    EXPECT_NEAR(stability.value(x), stability_by_loop(network, x, noise), 1e-13);
    EXPECT_LE(stability.value(x), probability(network, x));
  }
}

TEST(Stability, ItsGradientIsThatOfFiniteDifferences) {
  for (const Activation activation : {Activation::tanh, Activation::sigmoid, Activation::relu}) {
    const Network network = random_network(4, {6, 5}, activation, Random(3));
    const Stability stability(network, 0.2, stability_noise(40, 4, true, Random(6)));
    const Vector x = Random(10).normal_vector(4);
    const Vector numerical =
        oracles::numerical_gradient([&](const Vector& at) { return stability.value(at); }, x);
    Vector gradient;
    EXPECT_DOUBLE_EQ(stability.gradient(x, gradient), stability.value(x));
    EXPECT_LE((gradient - numerical).norm(), 1e-6 * (1 + numerical.norm()));
  }
}

TEST(Stability, TheClosedFormIsTheLimitOfSampling) {
  for (const double scale : {0.3, 5.0, 80.0}) {
    const Network network = linear_network(scale * Vector{{1.0, -2.0, 0.5, 0.1}});
    const Stability closed(network, 0);
    for (const double logit : {-2.0, 0.3, 4.0}) {
      Vector x = Vector::Zero(3);
      x[0] = (logit - 0.1 * scale) / scale;
      // Definition, integrated over the one direction that matters; the kink at 0 is a node.
      const double spread = 0.1 * network.layers[0].weights.norm();
      const double m = 1 / (1 + std::exp(-logit));
      const int nodes = 400000;
      double integral = 0;
      double mass = 0;
      for (int i = -nodes; i <= nodes; ++i) {
        const double u = 9.0 * i / nodes;
        const double mi = 1 / (1 + std::exp(-logit - spread * u));
        const double density = std::exp(-u * u / 2);
        integral += density * (mi - std::abs(m - mi));
        mass += density;
      }
      EXPECT_NEAR(closed.value(x), integral / mass, 1e-8);
      // And plain draws.
      const RowMatrix noise = stability_noise(20000, 3, true, Random(4));
      EXPECT_NEAR(closed.value(x), stability_by_loop(network, x, noise), 0.012);
      const double h = 1e-5;
      EXPECT_NEAR(closed.at_logit(logit).slope,
                  (closed.at_logit(logit + h).value - closed.at_logit(logit - h).value) / (2 * h),
                  1e-8);
    }
  }
}

/// R of a row, as the corrected method means it: of a linear model the integral over the one
/// direction that matters, of others the mean of its definition over the draws of the seed.
double plain_stability(const Model& model, const Vector& z, std::uint64_t seed) {
  const Layer& first = model.network.layers[0];
  if (model.network.layers.size() > 1) {
    return stability_by_loop(model.network, z, stability_noise(1000, z.size(), true, Random(seed)));
  }
  const double logit = first.weights.row(0).dot(z) + first.bias(0);
  const double spread = 0.1 * first.weights.norm();
  const double m = 1 / (1 + std::exp(-logit));
  double integral = 0;
  double mass = 0;
  constexpr int nodes = 20'000;
  for (int i = -nodes; i <= nodes; ++i) {
    const double u = 9.0 * i / nodes;
    const double mi = 1 / (1 + std::exp(-logit - spread * u));
    integral += std::exp(-u * u / 2) * (mi - std::abs(m - mi));
    mass += std::exp(-u * u / 2);
  }
  return integral / mass;
}

RowMatrix rows_of_model(Index inputs, unsigned seed) {
  return problem_zoo::random_rows(80, inputs, seed).features;
}

TEST(Trex, TakesTheNearestStableRow) {
  for (const bool linear : {true, false}) {
    const Model model =
        linear ? problem_zoo::numeric_model(4, 3) : network_model({6}, Activation::relu, 3, 4);
    const Problem problem{
        .model = &model, .epsilon = 1e-4, .constraints = {.range = RangePolicy::off}};
    const RowMatrix rows = problem_zoo::random_rows(300, 4, 17).features;
    const RowMatrix encoded = model.encoder.encode(rows);
    const TrexOptions options{.tau = 0.55, .seed = 11};
    const Trex trex(problem, rows, options);
    Vector stability(rows.rows());
    for (Index row = 0; row < rows.rows(); ++row)
      stability[row] = plain_stability(model, encoded.row(row).transpose(), options.seed);
    EXPECT_LE((stabilities(problem, encoded, options) - stability).cwiseAbs().maxCoeff(), 1e-7);
    EXPECT_EQ(trex.stable_rows(), (stability.array() > 0.55).count());
    EXPECT_GT(trex.stable_rows(), 3);
    int compared = 0;
    const std::vector<Query> queries = random_queries(model, 30, 5);
    const std::vector<Answer> answers = trex.generate(queries, {.threads = 3});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (answers[i].status == Status::already_robust) continue;
      const Vector query = model.encoder.encode(answers[i].query);
      double nearest = 1e300;
      for (Index row = 0; row < rows.rows(); ++row)
        if (stability[row] > 0.55)
          nearest = std::min(nearest, (encoded.row(row).transpose() - query).norm());
      ASSERT_TRUE(answers[i].counterfactual);
      EXPECT_NEAR(answers[i].distance.l2, nearest, 1e-12);
      ++compared;
    }
    EXPECT_GT(compared, 5);
  }
}

TEST(Trex, PublishedLooksAtAHundredRowsAndOtherwiseReturnsTheQuery) {
  const Model model = problem_zoo::numeric_model(3, 4);
  const Problem problem{.model = &model, .epsilon = 1e-4};
  const RowMatrix rows = problem_zoo::random_rows(600, 3, 18).features;
  const RowMatrix encoded = model.encoder.encode(rows);
  int returned = 0;
  for (const double tau : {0.6, 0.85}) {
    const TrexOptions options{.variant = Variant::published, .tau = tau, .seed = 2};
    const Vector stability = stabilities(problem, encoded, options);
    // 200 draws of its own for every row: off by chance, and on average not at all.
    double error = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
      const double off = stability[i] - plain_stability(model, encoded.row(i).transpose(), 0);
      EXPECT_LT(std::abs(off), 0.03);
      error += off / static_cast<double>(rows.rows());
    }
    EXPECT_LT(std::abs(error), 1e-3);
    const std::vector<Query> queries = random_queries(model, 25, 6);
    const std::vector<Answer> answers = Trex(problem, rows, options).generate(queries, {});
    for (const Answer& answer : answers) {
      const Vector query = model.encoder.encode(answer.query);
      std::vector<Index> order;
      for (Index i = 0; i < rows.rows(); ++i)
        if (model.logit(encoded.row(i).transpose()) >= 0) order.push_back(i);
      const auto distance = [&](Index i) { return (encoded.row(i).transpose() - query).norm(); };
      std::sort(order.begin(), order.end(),
                [&](Index a, Index b) { return distance(a) < distance(b); });
      order.resize(100);
      const auto first =
          std::find_if(order.begin(), order.end(), [&](Index i) { return stability[i] > tau; });
      ASSERT_TRUE(answer.counterfactual);
      EXPECT_NEAR(answer.distance.l2, first == order.end() ? 0 : distance(*first), 1e-12);
      returned += first == order.end() ? 1 : 0;
    }
  }
  EXPECT_GT(returned, 0);
}

TEST(Trex, FixedFeaturesAreKeptByTheCorrectedVariant) {
  const Model model = problem_zoo::numeric_model(3, 4, [](Schema& schema) {
    schema.features[1].kind = FeatureKind::integer;
    schema.features[1].immutable = true;
  });
  RowMatrix rows = problem_zoo::random_rows(400, 3, 18).features;
  rows.col(1) = rows.col(1).array().round();
  const Problem problem{.model = &model, .epsilon = 1e-4};
  std::vector<Query> queries = random_queries(model, 20, 6);
  for (Query& query : queries) query.raw[1] = std::round(query.raw[1]);
  int found = 0;
  for (const Answer& answer : Trex(problem, rows, {.tau = 0.6}).generate(queries, {})) {
    if (!answer.counterfactual) continue;
    ++found;
    EXPECT_EQ((*answer.counterfactual)[1], answer.query[1]);
  }
  EXPECT_GT(found, 5);
}

TEST(TrexContinuous, ReachesTauAndNotMuchMore) {
  for (const bool linear : {true, false}) {
    const Model model =
        linear ? problem_zoo::numeric_model(4, 3) : network_model({8, 6}, Activation::relu, 5, 4);
    const Problem problem{
        .model = &model, .epsilon = 1e-5, .constraints = {.range = RangePolicy::off}};
    const TrexOptions options{.tau = 0.62, .seed = 3};
    const std::vector<Query> queries = random_queries(model, 60, 8);
    int found = 0;
    for (const Answer& answer : TrexContinuous(problem, options).generate(queries, {})) {
      if (answer.status == Status::already_robust || !answer.counterfactual) continue;
      ++found;
      const double stability =
          plain_stability(model, model.encoder.encode(*answer.counterfactual), options.seed);
      EXPECT_GE(stability, options.tau - 1e-7);
      EXPECT_LE(stability, options.tau + 1e-3);
    }
    EXPECT_GE(found, 10);
  }
}

/// All features whole numbers, as German credit has them.
Model whole_number_model() {
  return problem_zoo::numeric_model(3, 4, [](Schema& schema) {
    for (Feature& feature : schema.features) feature.kind = FeatureKind::integer;
  });
}

std::vector<Query> whole_queries(const Model& model) {
  std::vector<Query> queries = random_queries(model, 30, 6);
  for (Query& query : queries) query.raw = query.raw.array().round();
  return queries;
}

TEST(TrexContinuous, MovesWholeNumbersToTheirGrid) {
  const Model model = whole_number_model();
  const Problem problem{
      .model = &model, .epsilon = 1e-5, .constraints = {.range = RangePolicy::off}};
  const TrexOptions options{.tau = 0.6};
  int found = 0;
  for (const Answer& answer : TrexContinuous(problem, options).generate(whole_queries(model), {})) {
    if (answer.changes.empty()) continue;
    ++found;
    ASSERT_TRUE(answer.counterfactual);
    for (const Value& value : *answer.counterfactual)
      EXPECT_EQ(std::get<double>(value), std::round(std::get<double>(value)));
    EXPECT_TRUE(answer.held.empty());
    EXPECT_GE(plain_stability(model, model.encoder.encode(*answer.counterfactual), options.seed),
              options.tau - 1e-7);
  }
  EXPECT_GT(found, 8);
}

TEST(TrexContinuous, PublishedMovesWholeNumbersAndSaysSo) {
  const Model model = whole_number_model();
  const Problem problem{
      .model = &model, .epsilon = 1e-5, .constraints = {.range = RangePolicy::off}};
  const TrexOptions options{.variant = Variant::published, .tau = 0.6};
  int moved = 0;
  for (const Answer& answer : TrexContinuous(problem, options).generate(whole_queries(model), {})) {
    moved += answer.changes.empty() ? 0 : 1;
    EXPECT_TRUE(answer.held.empty());
    EXPECT_NE(answer.message.find("moved like numbers"), std::string::npos) << answer.message;
  }
  EXPECT_GT(moved, 4);
}

TEST(TrexContinuous, AQueryIsItsOwnAnswerByTheMethodsRule) {
  const Model model = problem_zoo::numeric_model(4, 3);
  // No set to speak of: every accepted query is certified, whether stable or not.
  const Problem problem{
      .model = &model, .epsilon = 1e-12, .constraints = {.range = RangePolicy::off}};
  const TrexOptions options{.tau = 0.62};
  int kept = 0;
  int moved = 0;
  for (const Answer& answer :
       TrexContinuous(problem, options).generate(random_queries(model, 60, 8), {})) {
    const Vector query = model.encoder.encode(answer.query);
    const bool is_stable = plain_stability(model, query, options.seed) >= options.tau;
    EXPECT_EQ(answer.status == Status::already_robust, is_stable);
    EXPECT_EQ(answer.changes.empty(), is_stable);
    kept += is_stable ? 1 : 0;
    moved += !is_stable && model.logit(query) >= 0 ? 1 : 0;
  }
  EXPECT_GT(kept, 5);
  EXPECT_GT(moved, 2);
}

TEST(Trex, AStableQueryStaysAlsoWhereTheSetRejectsIt) {
  const Model model = problem_zoo::numeric_model(4, 3);
  const Problem problem{.model = &model, .epsilon = 10, .constraints = {.range = RangePolicy::off}};
  const TrexOptions options{.tau = 0.55};
  const RowMatrix rows = rows_of_model(4, 17);
  int kept = 0;
  for (const Answer& answer :
       Trex(problem, rows, options).generate(random_queries(model, 60, 8), {})) {
    const Vector query = model.encoder.encode(answer.query);
    if (plain_stability(model, query, options.seed) <= options.tau) continue;
    ++kept;
    EXPECT_EQ(answer.status, Status::uncertified);
    EXPECT_TRUE(answer.changes.empty());
    EXPECT_NE(answer.message.find("own rule"), std::string::npos);
  }
  EXPECT_GT(kept, 5);
}

TEST(TrexContinuous, SaysWhenTauCannotBeReached) {
  const Model model = problem_zoo::numeric_model(3, 3);
  const Problem problem{.model = &model, .epsilon = 1e-3};
  const std::vector<Query> queries = random_queries(model, 10, 8);
  const std::vector<Answer> answers = TrexContinuous(problem, {.tau = 1}).generate(queries, {});
  ASSERT_EQ(answers.size(), 10U);
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.status == Status::not_found || answer.status == Status::already_robust);
  }
}

TEST(TrexContinuous, PublishedReturnsWhateverComesOut) {
  const Model model = network_model({6}, Activation::relu, 5, 4);
  const Problem problem{.model = &model, .epsilon = 1e-3};
  const TrexOptions options{.variant = Variant::published, .tau = 0.975, .seed = 3};
  const std::vector<Query> queries = random_queries(model, 8, 8);
  const TrexContinuous trex(problem, options);
  const std::vector<Answer> one = trex.generate(queries, {.threads = 1});
  const std::vector<Answer> four = trex.generate(queries, {.threads = 4});
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_TRUE(one[i].counterfactual);
    EXPECT_EQ(one[i].counterfactual, four[i].counterfactual);
    EXPECT_TRUE(one[i].status == Status::certified || one[i].status == Status::uncertified);
  }
}

TEST(Trex, RefusesATauThatIsNoProbability) {
  const Model model = problem_zoo::numeric_model(3, 3);
  const Problem problem{.model = &model, .epsilon = 1e-3};
  EXPECT_THROW(Trex(problem, rows_of_model(3, 1), {.tau = 1.5}), Error);
  EXPECT_THROW(TrexContinuous(problem, {.tau = -0.1}), Error);
}

}  // namespace
}  // namespace ellice
