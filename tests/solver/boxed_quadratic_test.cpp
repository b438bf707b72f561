#include "solver/boxed_quadratic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "allocation_count.hpp"
#include "core/random.hpp"
#include "solver/block_cholesky.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

struct StepShape {
  Index variables = 0;
  Index root_rows = 0;
  Index rows = 1;
  std::size_t kinks = 0;
};

struct StepProblem {
  BoxedQuadratic quadratic;
  std::vector<KinkRow> kinks = {};
};

/// With a box that some coordinates leave, one-sided for some, and one that is held.
StepProblem random_step(const StepShape& shape, Random& random) {
  StepProblem problem{.quadratic = BoxedQuadratic(shape.variables, shape.rows)};
  BoxedQuadratic& q = problem.quadratic;
  q.diagonal = random.normal_vector(shape.variables).array().abs() + 0.2;
  q.root.resize(shape.root_rows, shape.variables);
  for (Index i = 0; i < shape.variables; ++i) q.root.col(i) = random.normal_vector(shape.root_rows);
  q.linear = random.normal_vector(shape.variables);
  for (Index i = 0; i < shape.variables; ++i) {
    q.lower[i] = random.uniform() < 0.3 ? 0 : -random.uniform();
    q.upper[i] =
        random.uniform() < 0.3 ? std::numeric_limits<double>::infinity() : random.uniform();
  }
  q.lower[0] = q.upper[0] = 0;
  for (Index k = 0; k < shape.rows; ++k) {
    q.constants[k] = -random.uniform();
    q.normals.col(k) = random.normal_vector(shape.variables);
  }
  for (std::size_t j = 0; j < shape.kinks; ++j) {
    const KinkRow kink{
        .owner = static_cast<Index>(random.below(static_cast<std::size_t>(shape.rows))),
        .weight = 0.1 + random.uniform()};
    q.add_kink(kink, 0.3 * random.uniform());
    q.normals.col(q.constants.size() - 1) = random.normal_vector(shape.variables);
    problem.kinks.push_back(kink);
  }
  return problem;
}

double value_of_step(const StepProblem& problem, Index row) {
  const BoxedQuadratic& q = problem.quadratic;
  const Vector h = q.constants + q.normals.transpose() * q.step();
  const Index rows = q.constants.size() - static_cast<Index>(problem.kinks.size());
  double value = h[row];
  for (std::size_t j = 0; j < problem.kinks.size(); ++j) {
    if (problem.kinks[j].owner == row)
      value -= problem.kinks[j].weight * std::max(0.0, -h[rows + static_cast<Index>(j)]);
  }
  return value;
}

/// How much the conditions of optimality, which suffice, are missed by; they do without D, R and
/// the rest of what the solver makes of the problem.
double missed_conditions(const StepProblem& problem) {
  const BoxedQuadratic& q = problem.quadratic;
  const Vector& p = q.step();
  const Vector& y = q.multipliers();
  const Vector h = q.constants + q.normals.transpose() * p;
  const Index rows = q.constants.size() - static_cast<Index>(problem.kinks.size());
  double worst = 0;
  const auto is_zero = [&](double value) { worst = std::max(worst, std::abs(value)); };
  const auto at_least_zero = [&](double value) { worst = std::max(worst, -value); };
  const Vector slope =
      q.diagonal.cwiseProduct(p) + q.root.transpose() * (q.root * p) + q.linear - q.normals * y;
  for (Index i = 0; i < p.size(); ++i) {
    at_least_zero(p[i] - q.lower[i]);
    at_least_zero(q.upper[i] - p[i]);
    if (p[i] > q.lower[i] && p[i] < q.upper[i]) is_zero(slope[i]);
    if (p[i] > q.lower[i]) at_least_zero(-slope[i]);
    if (p[i] < q.upper[i]) at_least_zero(slope[i]);
  }
  for (Index k = 0; k < rows; ++k) {
    at_least_zero(y[k]);
    at_least_zero(value_of_step(problem, k));
    is_zero(y[k] * value_of_step(problem, k));
  }
  for (std::size_t j = 0; j < problem.kinks.size(); ++j) {
    const Index k = rows + static_cast<Index>(j);
    const double most = problem.kinks[j].weight * y[problem.kinks[j].owner];
    at_least_zero(y[k]);
    at_least_zero(most - y[k]);
    is_zero((most - y[k]) * std::max(0.0, -h[k]));
    is_zero(y[k] * std::max(0.0, h[k]));
  }
  return worst;
}

/// Whether the step keeps the rows.
bool keeps_rows(const StepProblem& problem) {
  const BoxedQuadratic& q = problem.quadratic;
  for (Index k = 0; k < q.constants.size() - static_cast<Index>(problem.kinks.size()); ++k) {
    if (value_of_step(problem, k) < -1e-7) return false;
  }
  return true;
}

TEST(BoxedQuadratic, MeetsTheOptimalityConditions) {
  int solved = 0;
  int cases = 0;
  int at_bounds = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 600)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const StepShape shape{.variables = 2 + static_cast<Index>(random.below(25)),
                          .root_rows = static_cast<Index>(random.below(20)),
                          .rows = 1 + static_cast<Index>(random.below(2)),
                          .kinks = random.below(4)};
    StepProblem problem = random_step(shape, random);
    problem.quadratic.solve();
    ++cases;
    if (!keeps_rows(problem)) continue;  // nothing is promised
    ++solved;
    EXPECT_LT(missed_conditions(problem), 1e-6 * (1 + problem.quadratic.multipliers().norm()));
    const Vector& p = problem.quadratic.step();
    at_bounds += (p.array() == problem.quadratic.lower.array()).count() > 1 ? 1 : 0;
    // From there again, as a search does: what stands at a bound may begin there.
    const Vector lower = problem.quadratic.lower - 0.5 * p;
    const Vector upper = problem.quadratic.upper - 0.5 * p;
    problem.quadratic.lower = lower.cwiseMin(0);
    problem.quadratic.upper = upper.cwiseMax(0);
    problem.quadratic.solve(true);
    if (keeps_rows(problem)) {
      EXPECT_LT(missed_conditions(problem), 1e-6 * (1 + problem.quadratic.multipliers().norm()));
    }
  }
  EXPECT_GE(solved, cases / 3) << "of " << cases;
  EXPECT_GE(at_bounds, solved / 4);
}

TEST(BoxedQuadratic, KinksThatAreAddedLaterCountAsMuch) {
  int compared = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const StepShape shape{.variables = 12, .root_rows = 5, .kinks = 3};
    StepProblem together = random_step(shape, random);
    Random again(seed);
    StepProblem apart = random_step(shape, again);
    const Vector constants = apart.quadratic.constants;
    const Matrix normals = apart.quadratic.normals;
    apart.quadratic.clear_kinks();
    apart.quadratic.solve();
    for (std::size_t j = 0; j < apart.kinks.size(); ++j) {
      const Index k = 1 + static_cast<Index>(j);
      apart.quadratic.add_kink(apart.kinks[j], constants[k]);
      apart.quadratic.normals.col(k) = normals.col(k);
      apart.quadratic.solve_again();
    }
    together.quadratic.solve();
    if (!keeps_rows(together)) continue;
    ++compared;
    EXPECT_LT((together.quadratic.step() - apart.quadratic.step()).norm(), 1e-7);
  }
  EXPECT_GE(compared, 60);
}

TEST(BoxedQuadratic, GoesAsFarAsTheBoxLetsItWhereRowsAreOutOfReach) {
  for (const std::uint64_t seed : testing_support::seeds(0, 100)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index d = 9;
    StepProblem problem = random_step({.variables = d, .root_rows = 4}, random);
    BoxedQuadratic& q = problem.quadratic;
    q.upper = q.upper.cwiseMin(1);
    q.constants[0] = -1 - q.normals.col(0).cwiseAbs().sum();
    for (const bool knows_bounds : {false, true}) {
      q.solve(knows_bounds);
      for (Index i = 0; i < d; ++i)
        EXPECT_EQ(q.step()[i], q.normals(i, 0) > 0 ? q.upper[i] : q.lower[i]) << i;
    }
  }
}

TEST(BlockCholesky, LeavesTheRestOfTheMatrix) {
  for (const std::uint64_t seed : testing_support::seeds(0, 50)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Index size = 1 + static_cast<Index>(random.below(30));
    const Index pivots = static_cast<Index>(random.below(static_cast<std::size_t>(size) + 1));
    Matrix root(size, size);
    for (Index i = 0; i < size; ++i) root.col(i) = random.normal_vector(size);
    const Matrix matrix = root * root.transpose() + Matrix::Identity(size, size);
    Matrix columns = Matrix::Zero(padded(size) + 8, size);
    columns.topRows(size) = matrix.triangularView<Eigen::Lower>();
    ASSERT_TRUE(eliminate_columns(columns.data(), columns.rows(), pivots, size));
    Matrix factor = Matrix::Zero(size, pivots);
    for (Index j = 0; j < pivots; ++j)
      factor.col(j).tail(size - j) = columns.col(j).segment(j, size - j);
    const Matrix rest = matrix - factor * factor.transpose();
    const double close = 1e-10 * matrix.norm();
    EXPECT_LT(rest.leftCols(pivots).norm(), close);
    for (Index j = pivots; j < size; ++j) {
      for (Index i = j; i < size; ++i) EXPECT_NEAR(columns(i, j), rest(i, j), close);
    }
  }
  Matrix indefinite(8, 2);
  indefinite.setZero();
  indefinite(0, 0) = 1;
  indefinite(1, 0) = 2;
  indefinite(1, 1) = 1;
  EXPECT_FALSE(eliminate_columns(indefinite.data(), 8, 2, 2));
}

TEST(BoxedQuadratic, DoesNotAllocateOnceItHasSolved) {
  if (!allocation_count()) GTEST_SKIP() << "skipped: allocations are not counted here";
  Random random(3);
  StepProblem problem = random_step({.variables = 20, .root_rows = 8}, random);
  problem.quadratic.solve();
  const std::optional<std::size_t> before = allocation_count();
  problem.quadratic.solve();
  EXPECT_EQ(*allocation_count(), *before);
}

}  // namespace
}  // namespace ellice
