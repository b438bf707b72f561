// Cones that agree with the ellipsoid at rows and say less between levels, and what searches that
// end early say by them, against rows drawn at random.

#include "search/level_cones.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "core/random.hpp"
#include "search/exact_search.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

constexpr std::size_t categories = 9;
constexpr std::size_t level_count = 5;

Dataset levels_data(std::uint64_t seed) {
  Random random(seed);
  Dataset data;
  for (std::size_t j = 0; j < categories; ++j) {
    data.schema.features.push_back({.name = "c" + std::to_string(j),
                                    .kind = FeatureKind::categorical,
                                    .levels = {"a", "b", "c", "d", "e"}});
  }
  data.schema.features.push_back({.name = "x"});
  const Index rows = 400;
  const Vector worth = random.normal_vector(static_cast<Index>(categories * level_count));
  const auto x = static_cast<Index>(categories);
  data.raw.resize(rows, x + 1);
  for (Index i = 0; i < rows; ++i) {
    double score = random.normal();
    for (Index j = 0; j < x; ++j) {
      data.raw(i, j) = static_cast<double>(random.below(level_count));
      score += worth(j * static_cast<Index>(level_count) + static_cast<Index>(data.raw(i, j)));
    }
    data.raw(i, x) = random.normal();
    data.labels.push_back(score + data.raw(i, x) > 0 ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  return data;
}

/// A row of one level per category, with the 1 of the bias.
Vector random_row(const Encoder& encoder, Random& random) {
  Vector x = Vector::Zero(encoder.columns() + 1);
  for (std::size_t j = 0; j < categories; ++j)
    x(encoder.first_column(j) + static_cast<Index>(random.below(level_count))) = 1;
  x(encoder.first_column(categories)) = random.normal();
  x(encoder.columns()) = 1;
  return x;
}

TEST(LevelCones, AgreeAtRowsAndSayLessBetweenThem) {
  const Dataset data = levels_data(1);
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
  const std::vector<BoxFactor> cones = {BoxFactor(model.network.head(), model.curvature.hessian)};
  const std::vector<BoxFactor> found = level_cones(cones, model.encoder);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].theta(), cones[0].theta());
  const Matrix& form = cones[0].inverse();
  const Matrix& less = found[0].inverse();
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix>(less).eigenvalues()(0), 0);
  Random random(2);
  double gained = 0;
  for (int k = 0; k < 300; ++k) {
    const Vector one = random_row(model.encoder, random);
    const Vector other = random_row(model.encoder, random);
    const double plain = one.dot(form * one);
    EXPECT_LE(one.dot(less * one), plain);
    EXPECT_GE(one.dot(less * one), plain * (1 - 1e-7));
    const Vector between = 0.5 * (one + other);
    EXPECT_GE(between.dot(less * between), between.dot(form * between) * (1 - 1e-7));
    gained = std::max(gained, between.dot(less * between) / between.dot(form * between));
  }
  EXPECT_GT(gained, 1.2);
}

TEST(LevelCones, AreTheConesWhereNothingHasLevels) {
  const Model model = problem_zoo::numeric_model(3, 4);
  const std::vector<BoxFactor> cones = {BoxFactor(model.network.head(), model.curvature.hessian)};
  EXPECT_EQ(level_cones(cones, model.encoder)[0].inverse(), cones[0].inverse());
}

TEST(LevelCones, LetSearchesThatEndEarlyBracketTheLargestEpsilon) {
  const Dataset data = levels_data(3);
  const Model model = train(data, {}, {.l2 = 1e-2, .folds = 0}).model;
  const std::vector<bool> all(static_cast<std::size_t>(model.encoder.columns()), true);
  const double limit = epsilon_limit(model.network.head(), model.curvature.hessian, all);
  const Problem problem{.model = &model, .epsilon = 0.95 * limit};
  const std::vector<Query> queries = problem_zoo::queries_of(data, 6);
  int infeasible = 0;
  for (const Answer& answer : ExactSearch(problem, {}).generate(queries, {})) {
    if (answer.status != Status::infeasible) continue;
    ++infeasible;
    const EpsilonBounds& bounds = answer.infeasible->max_epsilon;
    ASSERT_TRUE(bounds.lower);
    EXPECT_LE(*bounds.lower, bounds.upper);
    EXPECT_LE(bounds.upper, 1.35 * *bounds.lower);
    EXPECT_LE(answer.infeasible->best_robust_logit, answer.infeasible->best_bound);
    Random random(5);
    const Vector theta = model.network.head();
    const Matrix inverse = BoxFactor(theta, model.curvature.hessian).inverse();
    const Index x = model.encoder.first_column(categories);
    const auto radius_of = [&](const Vector& row) {
      const double lead = theta.dot(row);
      return lead > 0 ? 0.5 * lead * lead / row.dot(inverse * row) : 0;
    };
    // Rows at random, each made better level by level.
    for (int k = 0; k < 60; ++k) {
      Vector row = random_row(model.encoder, random);
      row(x) = (data.raw.col(static_cast<Index>(categories)).maxCoeff() - model.encoder.mean()(x)) /
               model.encoder.scale()(x);
      double most = radius_of(row);
      for (int round = 0; round < 3; ++round) {
        for (std::size_t j = 0; j < categories; ++j) {
          for (std::size_t level = 0; level < level_count; ++level) {
            Vector next = row;
            next.segment(model.encoder.first_column(j), static_cast<Index>(level_count)).setZero();
            next(model.encoder.first_column(j) + static_cast<Index>(level)) = 1;
            const double radius = radius_of(next);
            if (radius <= most) continue;
            most = radius;
            row = next;
          }
        }
      }
      EXPECT_LT(most, bounds.upper * (1 + 1e-9));
    }
  }
  EXPECT_GE(infeasible, 3);
}

}  // namespace
}  // namespace ellice
