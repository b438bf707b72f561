// Sets whose Hessian is so ill-conditioned that double precision does not see where they end.

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>

#include "certificate/eliminated_hessian.hpp"
#include "search/linear_question.hpp"
#include "search/stated_gap.hpp"
#include "support/exact_answers.hpp"
#include "support/recourse_cases.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using problem_zoo::expect_audited;
using problem_zoo::numeric_model;
using problem_zoo::random_queries;
using problem_zoo::solve;

/// With a Hessian whose eigenvalues go down to 1/condition, in directions of its own.
Model ill_conditioned(std::uint64_t seed, double condition) {
  Random random(seed);
  const auto d = static_cast<Index>(2 + random.below(4));
  Model model = numeric_model(static_cast<int>(d), seed, [&](Schema& schema) {
    if (seed % 3 == 0) schema.features[0].step = 0.25;
    if (seed % 4 == 0) schema.features[1].immutable = true;
  });
  Matrix directions(d + 1, d + 1);
  for (Index j = 0; j <= d; ++j) directions.col(j) = random.normal_vector(d + 1);
  directions = Matrix(directions.householderQr().householderQ());
  Vector values(d + 1);
  for (Index i = 0; i <= d; ++i)
    values(i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(d));
  const Matrix h = directions * values.asDiagonal() * directions.transpose();
  model.curvature.hessian = (h + h.transpose()) / 2;
  return model;
}

// The oracle eliminates in 64 bits and refines by residuals of 104.
TEST(IllConditioned, NoMoreIsLostThanTheQuestionSays) {
  int ill = 0;
  double most = 0;
  for (const std::uint64_t seed : testing_support::seeds(1, 60)) {
    const double condition = std::pow(10, 2 + static_cast<double>(seed % 10));
    const Model model = ill_conditioned(seed, condition);
    const LinearQuestion question({.model = &model, .epsilon = 0.01});
    const EliminatedHessian exact(model.curvature.hessian.cast<long double>());
    EXPECT_EQ(question.lost() > 0, condition > 3e7) << condition;
    ill += question.lost() > 0 ? 1 : 0;
    Random random(seed + 1000);
    for (int k = 0; k < 50; ++k) {
      const Vector x = random.normal_vector(model.curvature.hessian.rows());
      // Where the ellipsoid is shortest, most is lost.
      const Vector a = k % 2 == 0 ? x : Vector(model.curvature.hessian * x);
      const EliminatedHessian::LongVector wide = a.cast<long double>();
      const auto expected = static_cast<double>(wide.dot(exact.solve(wide)));
      const double found = a.dot(question.cones().front().inverse() * a);
      const double off = std::abs(found - expected) / expected;
      EXPECT_LE(off, std::max(question.lost(), 1e-7)) << condition;
      if (question.lost() > 0) most = std::max(most, off / question.lost());
    }
  }
  EXPECT_GT(ill, 20);
  EXPECT_GT(most, 1e-4) << "the bound is far from what happens";
}

TEST(IllConditioned, WhatIsStatedOfThemHolds) {
  std::map<Status, int> met;
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) {
    const Model model = ill_conditioned(seed, std::pow(10, 8 + static_cast<double>(seed % 4)));
    Problem problem{.model = &model,
                    .epsilon = std::pow(10, -11 + static_cast<double>(seed % 5)),
                    .cost = {.kind = seed % 2 == 0 ? CostKind::l2 : CostKind::l1}};
    if (seed % 5 == 0) problem.constraints.range = RangePolicy::off;
    const std::vector<Answer> answers = solve(problem, random_queries(model, 6, seed));
    for (const Answer& answer : answers) {
      ++met[answer.status];
      EXPECT_FALSE(answer.message.starts_with(contradicted)) << seed << ": " << answer.message;
    }
    expect_audited(problem, answers);
  }
  EXPECT_GT(met[Status::certified] + met[Status::optimal], 20);
  EXPECT_GT(met[Status::infeasible], 10);
}

Answer certified_at(double cost) {
  Answer answer;
  answer.status = Status::certified;
  answer.distance.weighted = cost;
  return answer;
}

TEST(StatedGap, SaysWhatIsLeftToSave) {
  Answer answer = certified_at(4);
  state_gap(answer, 3);
  EXPECT_EQ(answer.status, Status::certified);
  EXPECT_EQ(answer.gap, 0.25);
  EXPECT_TRUE(answer.message.empty());
  state_gap(answer, -1);
  EXPECT_EQ(answer.gap, 1);
  state_gap(answer, 3, 1e-5);
  EXPECT_NE(answer.message.find("ill-conditioned"), std::string::npos);
}

TEST(StatedGap, IsOptimalUpToABillionthOfTheCost) {
  for (const double share : {-0.9e-8, 0.0, 0.9e-9}) {
    Answer answer = certified_at(4);
    state_gap(answer, 4 * (1 - share));
    EXPECT_EQ(answer.status, Status::optimal) << share;
    EXPECT_EQ(answer.gap, 0);
  }
  Answer answer = certified_at(4);
  state_gap(answer, 4 * (1 - 1.1e-9));
  EXPECT_EQ(answer.status, Status::certified);
  EXPECT_GT(*answer.gap, 0);
}

// A number typed as 1e12 costs so much that a billionth of it is more than all other changes.
TEST(StatedGap, OfACostThatHidesOthersIsSaid) {
  for (const double cost : {1e10, 1e24}) {
    Answer answer = certified_at(cost);
    state_gap(answer, cost);
    EXPECT_EQ(answer.status, Status::certified) << cost;
    EXPECT_GT(*answer.gap, 0);
    EXPECT_LT(*answer.gap, 1e-14);
    EXPECT_NE(answer.message.find("hides what other changes cost"), std::string::npos);
  }
  Answer dear = certified_at(1e6);
  state_gap(dear, 1e6 * (1 - 1e-11));
  EXPECT_EQ(dear.status, Status::certified);
  Answer settled = certified_at(1e6);
  state_gap(settled, 1e6 * (1 - 1e-13));
  EXPECT_EQ(settled.status, Status::optimal);
}

// A bound that a certified row undercuts is no bound, and nothing is said as if it were.
TEST(StatedGap, IsNotStatedWhereTheBoundContradictsTheAnswer) {
  for (const double bound : {4 * (1 + 1.1e-8), 5.0, HUGE_VAL, std::nan("")}) {
    Answer answer = certified_at(4);
    answer.gap = 0;
    state_gap(answer, bound);
    EXPECT_EQ(answer.status, Status::certified) << bound;
    EXPECT_FALSE(answer.gap);
    EXPECT_TRUE(answer.message.starts_with(contradicted)) << answer.message;
  }
}

}  // namespace
}  // namespace ellice
