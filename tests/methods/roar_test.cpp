#include "methods/roar.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "ellice/core/error.hpp"
#include "support/network_model.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using problem_zoo::random_queries;

double softplus(double v) {
  return std::max(0.0, v) + std::log1p(std::exp(-std::abs(v)));
}

struct Case {
  UncertainLine line = {};
  Vector query = {};
  Box box = {};
};

Case random_case(Index columns, std::uint64_t seed) {
  Random random(seed);
  Case result{.line = {.slope = random.normal_vector(columns),
                       .constant = random.normal(),
                       .delta = 0.6 * random.uniform()},
              .query = 2 * random.normal_vector(columns)};
  result.box = {.lower = result.query - 3 * Vector::Ones(columns),
                .upper = result.query + 3 * Vector::Ones(columns)};
  result.box.lower[0] = result.box.upper[0] = result.query[0];
  return result;
}

/// KKT: with ρ the weight that belongs to f_w at x, 0 is in the subdifferential of
/// ρ·softplus(−f_w) + γ·|x − q| plus the normal cone of the box, column by column.
TEST(NearestBySlopes, SatisfiesTheOptimalityConditions) {
  int raised = 0;
  int reached = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 300)) {
    SCOPED_TRACE(seed);
    const Case c = random_case(5, seed);
    const double gamma = seed % 2 == 0 ? 0.01 : 0.5;  // the larger one has to be outweighed
    const Vector x = nearest_by_slopes(c.line, c.query, c.box, gamma, 0);
    const double worst = c.line.worst(x);
    ASSERT_TRUE(c.box.contains(x));
    if (worst < -1e-12) {
      // Out of reach: no point of the box has a larger f_w (it is concave and separable).
      for (Index j = 0; j < x.size(); ++j) {
        for (const double value : {c.box.lower[j], c.box.upper[j], 0.0}) {
          if (value < c.box.lower[j] || value > c.box.upper[j]) continue;
          Vector other = x;
          other[j] = value;
          EXPECT_LE(c.line.worst(other), worst + 1e-12);
        }
      }
      continue;
    }
    ++reached;
    const double sigma = 1 / (1 + std::exp(worst));
    // f_w > 0: ρ = 1. f_w = 0: any ρ ≥ 1 will do, and the columns must agree on one.
    double least_rho = 1;
    double most_rho = worst > 1e-9 ? 1 : 1e300;
    raised += worst > 1e-9 ? 0 : 1;
    for (Index j = 0; j < x.size(); ++j) {
      if (c.box.lower[j] == c.box.upper[j]) continue;
      // Right derivative ≥ 0 and left derivative ≤ 0, each unless the box is in the way.
      const auto slopes = [&](double direction) {
        const double sign = x[j] != 0 ? (x[j] > 0 ? 1 : -1) : direction;
        const double move =
            std::abs(x[j] - c.query[j]) > 1e-12 ? (x[j] > c.query[j] ? 1 : -1) : direction;
        return std::pair{c.line.slope[j] - c.line.delta * sign, move};
      };
      for (const double direction : {1.0, -1.0}) {
        const bool blocked =
            direction > 0 ? x[j] >= c.box.upper[j] - 1e-12 : x[j] <= c.box.lower[j] + 1e-12;
        if (blocked) continue;
        const auto [gain, move] = slopes(direction);
        // −ρσ·gain·direction + γ·move·direction ≥ 0
        const double a = sigma * gain * direction;
        const double b = gamma * move * direction;
        if (a > 1e-14) most_rho = std::min(most_rho, b / a);
        if (a < -1e-14) least_rho = std::max(least_rho, b / a);
      }
    }
    EXPECT_LE(least_rho, most_rho * (1 + 1e-6) + 1e-9) << "seed " << seed;
  }
  EXPECT_GT(reached, 150);
  EXPECT_GT(raised, 5);
}

TEST(NearestBySlopes, NoRandomPointIsBetter) {
  const double gamma = 0.01;
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    SCOPED_TRACE(seed);
    const Case c = random_case(3, seed);
    const auto loss = [&](const Vector& x) {
      return softplus(-c.line.worst(x)) + gamma * (x - c.query).lpNorm<1>();
    };
    const Vector x = nearest_by_slopes(c.line, c.query, c.box, gamma, -1e9);
    Random random(seed + 1000);
    for (int draw = 0; draw < 3000; ++draw) {
      Vector other = x + (draw % 2 == 0 ? 0.05 : 2) * random.normal_vector(3);
      other = other.cwiseMax(c.box.lower).cwiseMin(c.box.upper);
      EXPECT_GE(loss(other), loss(x) - 1e-12);
    }
  }
}

Vector encoded(const Model& model, const Answer& answer) {
  return model.encoder.encode(*answer.counterfactual);
}

TEST(Roar, AnswersKeepTheirClassForEverySurrogateOfTheBox) {
  const Model linear = problem_zoo::numeric_model(5, 2);
  const Model network = network_model({8}, Activation::relu, 2, 5);
  for (const Model* model : {&linear, &network}) {
    const Problem problem{
        .model = model, .epsilon = 1e-4, .constraints = {.range = RangePolicy::off}};
    const double delta = 0.05;
    const std::vector<Query> queries = random_queries(*model, 40, 3);
    int found = 0;
    for (const Answer& answer : Roar(problem, {.delta = delta}).generate(queries, {.threads = 2})) {
      if (answer.status == Status::not_found || answer.status == Status::already_robust) continue;
      ++found;
      const Vector x = encoded(*model, answer);
      EXPECT_GE(model->logit(x) - delta * (1 + x.lpNorm<1>()), 0);
    }
    EXPECT_GE(found, 10);
  }
}

TEST(Roar, MovesWholeNumbersToTheirGridAndKeepsCategories) {
  const Model model = problem_zoo::numeric_model(3, 4, [](Schema& schema) {
    schema.features[0].kind = FeatureKind::integer;
    schema.features[1].kind = FeatureKind::integer;
    schema.features[2].kind = FeatureKind::binary;
    schema.features[2].levels = {"no", "yes"};
  });
  const Problem problem{
      .model = &model, .epsilon = 1e-5, .constraints = {.range = RangePolicy::off}};
  std::vector<Query> queries = random_queries(model, 30, 6);
  for (Query& query : queries) {
    query.raw = query.raw.array().round();
    query.raw[2] = query.raw[2] > 0 ? 1 : 0;
  }
  const double delta = 0.02;
  int found = 0;
  for (const Answer& answer : Roar(problem, {.delta = delta}).generate(queries, {})) {
    if (answer.changes.empty() || !answer.counterfactual) continue;
    ++found;
    for (const std::size_t j : {std::size_t{0}, std::size_t{1}}) {
      const double value = std::get<double>((*answer.counterfactual)[j]);
      EXPECT_EQ(value, std::round(value));
    }
    EXPECT_EQ((*answer.counterfactual)[2], answer.query[2]);
    EXPECT_EQ(answer.held.size(), 1U);
    const Vector x = encoded(model, answer);
    EXPECT_GE(model.logit(x) - delta * (1 + x.lpNorm<1>()), 0);
  }
  EXPECT_GT(found, 4);
  // As published, everything moves, and the answer says so.
  const RoarOptions published{.variant = Variant::published, .delta = delta};
  for (const Answer& answer : Roar(problem, published).generate(queries, {})) {
    EXPECT_TRUE(answer.held.empty());
    EXPECT_NE(answer.message.find("moved like numbers"), std::string::npos) << answer.message;
  }
}

TEST(Roar, SaysWhenNoPointIsRobust) {
  const Model model = problem_zoo::numeric_model(3, 2);
  const Problem problem{
      .model = &model, .epsilon = 1e-4, .constraints = {.range = RangePolicy::off}};
  // δ above every weight and above the bias: f_w is negative everywhere.
  const double delta = 1 + model.network.head().cwiseAbs().maxCoeff();
  for (const Answer& answer :
       Roar(problem, {.delta = delta}).generate(random_queries(model, 10, 3), {})) {
    EXPECT_TRUE(answer.status == Status::not_found || answer.status == Status::already_robust);
  }
}

/// The published loop in plain words.
Vector published_by_hand(const Vector& w, double b, double delta, const Vector& query) {
  Vector x = query;
  Vector m = Vector::Zero(x.size());
  Vector v = m;
  Vector top = m;
  double before = 0;
  for (int t = 1; t <= 2000; ++t) {
    double logit = b - delta;
    for (Index j = 0; j < x.size(); ++j) {
      const double sign = x[j] > 0 ? 1 : x[j] < 0 ? -1 : 0;
      logit += (w[j] - delta * sign) * x[j];
    }
    const double loss = std::log1p(std::exp(-logit)) + 0.01 * (x - query).cwiseAbs().sum();
    for (Index j = 0; j < x.size(); ++j) {
      const double sign = x[j] > 0 ? 1 : x[j] < 0 ? -1 : 0;
      const double moved = x[j] > query[j] ? 1 : x[j] < query[j] ? -1 : 0;
      const double g = -(w[j] - delta * sign) / (1 + std::exp(logit)) + 0.01 * moved;
      m[j] = 0.9 * m[j] + 0.1 * g;
      v[j] = 0.999 * v[j] + 0.001 * g * g;
      top[j] = std::max(top[j], v[j]);
      x[j] -= 0.01 / (1 - std::pow(0.9, t)) * m[j] /
              (std::sqrt(top[j]) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8);
    }
    if (std::abs(loss - before) <= 1e-3) break;
    before = loss;
  }
  return x;
}

TEST(Roar, PublishedFollowsItsLoop) {
  const Model model = problem_zoo::numeric_model(4, 6);
  const Problem problem{.model = &model, .epsilon = 1e-4};
  const std::vector<Query> queries = random_queries(model, 15, 3);
  const RoarOptions options{.variant = Variant::published, .delta = 0.07};
  const Vector head = model.network.head();
  for (const Answer& answer : Roar(problem, options).generate(queries, {})) {
    const Vector expected =
        published_by_hand(head.head(4), head[4], 0.07, model.encoder.encode(answer.query));
    EXPECT_LE((encoded(model, answer) - expected).norm(), 1e-9);
  }
}

TEST(Roar, PublishedSurrogateIsTheWeightedRidgeRegression) {
  const Model model = network_model({6}, Activation::relu, 4, 3);
  const Problem problem{.model = &model, .epsilon = 1e-4};
  RowMatrix rows = problem_zoo::random_rows(200, 3, 5).features;
  rows.col(2).array() *= 3;
  const Roar roar(problem, {.variant = Variant::published, .delta = 0.1, .seed = 9}, &rows);
  const Vector x{{0.3, -1.0, 2.0}};
  const UncertainLine line = roar.surrogate(x);
  // Normal equations with an intercept that is not penalised.
  const Vector mean = rows.colwise().mean();
  Vector deviation(3);
  for (Index j = 0; j < 3; ++j)
    deviation[j] = std::sqrt((rows.col(j).array() - mean[j]).square().mean());
  Random random(9);
  Matrix normal = Matrix::Zero(4, 4);
  Vector right = Vector::Zero(4);
  const Vector x_scaled = (x - mean).cwiseQuotient(deviation);
  for (int i = 0; i < 5000; ++i) {
    Vector z = random.normal_vector(3);
    if (i == 0) z = x_scaled;
    const Vector point = z.cwiseProduct(deviation) + mean;
    const double target = 1 / (1 + std::exp(-model.logit(point)));
    const double weight = std::sqrt(std::exp(-(z - x_scaled).squaredNorm() / (0.75 * 0.75 * 3)));
    Vector row(4);
    row << z, 1;
    normal += weight * row * row.transpose();
    right += weight * target * row;
  }
  normal.diagonal().head(3).array() += 1;
  const Vector expected = normal.lu().solve(right);
  EXPECT_LE((line.slope - expected.head(3)).norm(), 1e-10);
  EXPECT_NEAR(line.constant, expected[3], 1e-10);
  EXPECT_THROW(Roar(problem, {.variant = Variant::published}), Error);
}

}  // namespace
}  // namespace ellice
