#include "methods/proplace.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/error.hpp"
#include "methods/box_of_models.hpp"
#include "methods/delta_rows.hpp"
#include "solver/mixed_integer.hpp"
#include "support/messages.hpp"
#include "support/network_model.hpp"
#include "support/recourse_cases.hpp"

namespace ellice {
namespace {

using problem_zoo::random_queries;

#define SKIP_WITHOUT_CBC() \
  if (!has_mixed_integer()) GTEST_SKIP() << "skipped: built without CBC"

/// The least logit of networks whose every parameter is off by at most δ: random corners of the
/// box, each then turned one parameter at a time as long as that lowers the logit.
double least_sampled(const Network& network, const Vector& x, double delta, int seed) {
  const Vector centre = parameter_vector(network);
  Random random(static_cast<std::uint64_t>(seed) + 500);
  double least = network.logit(x);
  for (int start = 0; start < 3; ++start) {
    Vector theta = centre;
    for (double& value : theta) value += random.below(2) == 0 ? delta : -delta;
    double value = with_parameters(network, theta).logit(x);
    for (int sweep = 0; sweep < 3; ++sweep) {
      for (Index i = 0; i < theta.size(); ++i) {
        const double kept = theta[i];
        theta[i] = 2 * centre[i] - kept;
        const double turned = with_parameters(network, theta).logit(x);
        if (turned < value) {
          value = turned;
        } else {
          theta[i] = kept;
        }
      }
    }
    least = std::min(least, value);
  }
  return least;
}

struct Setting {
  Model model = {};
  RowMatrix rows = {};
  double delta = 0;
};

Setting setting(const std::vector<Index>& hidden, std::uint64_t seed) {
  Setting result{.model = hidden.empty() ? problem_zoo::numeric_model(4, seed)
                                         : network_model(hidden, Activation::relu, seed, 4)};
  result.rows = problem_zoo::random_rows(150, 4, seed + 40).features;
  const Problem problem{.model = &result.model};
  const Vector largest =
      largest_deltas(problem, result.model.encoder.encode(result.rows), Variant::corrected);
  result.delta = 0.25 * largest.maxCoeff();
  return result;
}

/// λ of a random point of a simplex, with some corners left out.
Vector random_weights(Index count, Random& random) {
  Vector weights(count);
  for (double& w : weights) w = random.uniform() < 0.5 ? 0 : -std::log(1 - random.uniform());
  if (weights.sum() == 0) weights[0] = 1;
  return weights / weights.sum();
}

TEST(Proplace, NoRandomPointOfTheHullIsNearerAndEveryAnswerIsRobust) {
  SKIP_WITHOUT_CBC();
  for (const std::vector<Index>& hidden : {std::vector<Index>{}, {7}, {5, 4}}) {
    const Setting s = setting(hidden, 3);
    const Problem problem{
        .model = &s.model, .epsilon = 1e-6, .constraints = {.range = RangePolicy::off}};
    for (const QueryInHull in_hull : {QueryInHull::yes, QueryInHull::no}) {
      const Proplace proplace(problem, s.rows,
                              {.delta = s.delta, .hull_rows = 6, .hull_query = in_hull});
      const IntervalRobustness check(s.model.network);
      int found = 0;
      for (const Answer& answer :
           proplace.generate(random_queries(s.model, 12, 5), {.threads = 2})) {
        if (answer.status == Status::already_robust) continue;
        ASSERT_TRUE(answer.counterfactual) << answer.message;
        ++found;
        const Vector x = s.model.encoder.encode(*answer.counterfactual);
        const Vector query = s.model.encoder.encode(answer.query);
        const auto worst = [&](const Vector& point) {
          return hidden.size() < 2 ? worst_logit(s.model.network, point, s.delta)
                                   : check.worst(point, s.delta)->logit;
        };
        EXPECT_GE(worst(x), hidden.size() < 2 ? 0.99e-4 : -1e-9);
        EXPECT_GE(least_sampled(s.model.network, x, s.delta, found), -1e-9);
        RowMatrix hull = proplace.corners(query);
        ASSERT_EQ(hull.rows(), 6);
        if (in_hull == QueryInHull::yes) {
          hull.conservativeResize(7, Eigen::NoChange);
          hull.row(6) = query.transpose();
        }
        Random random(found + 77);
        const int draws = hidden.size() < 2 ? 4000 : 300;
        for (int draw = 0; draw < draws; ++draw) {
          Vector other = hull.transpose() * random_weights(hull.rows(), random);
          // Half of them near the answer, which is where a better one would be.
          if (draw % 2 == 0) other = x + 0.05 * random.uniform() * (other - x);
          const double distance = (other - query).lpNorm<1>();
          if (distance >= answer.distance.l1 - 1e-7) continue;
          EXPECT_LT(worst(other), 1.01e-4);
        }
      }
      EXPECT_GE(found, 4);
    }
  }
}

TEST(Proplace, WhenTimeIsUpTheNearestRobustPointSeenIsTheAnswer) {
  SKIP_WITHOUT_CBC();
  const Setting s = setting({5, 4}, 3);
  const Problem problem{
      .model = &s.model, .epsilon = 1e-6, .constraints = {.range = RangePolicy::off}};
  const std::vector<Query> queries = random_queries(s.model, 12, 5);
  const std::vector<Answer> whole =
      Proplace(problem, s.rows, {.delta = s.delta, .hull_rows = 6}).generate(queries, {});
  const std::vector<Answer> hasty =
      Proplace(problem, s.rows, {.delta = s.delta, .hull_rows = 6, .query_seconds = 1e-9})
          .generate(queries, {});
  const IntervalRobustness check(s.model.network);
  int unfinished = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    ASSERT_TRUE(hasty[i].counterfactual) << hasty[i].message;
    const Vector x = s.model.encoder.encode(*hasty[i].counterfactual);
    EXPECT_TRUE(check.is_robust(x, s.delta));
    EXPECT_GE(least_sampled(s.model.network, x, s.delta, static_cast<int>(i)), -1e-9);
    EXPECT_GE(hasty[i].distance.l1, (1 - 2e-6) * whole[i].distance.l1);
    EXPECT_EQ(whole[i].message.find("may exist"), std::string::npos);
    unfinished += hasty[i].message.find("may exist") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(unfinished, 4);
}

TEST(Proplace, WithoutCbcSaysWhatToInstall) {
  if (has_mixed_integer()) GTEST_SKIP() << "skipped: built with CBC";
  const Setting s = setting({6}, 8);
  const Problem problem{.model = &s.model, .epsilon = 1e-6};
  const auto expect_refused = [](const auto& call) {
    testing_support::expect_words(testing_support::message_of(ErrorCode::argument, call),
                                  {"coinor-libcbc-dev", "build again"});
  };
  expect_refused(
      [&] { return Proplace(problem, s.rows, {.delta = s.delta}).corners(s.rows.row(0)); });
  // Two hidden layers: where bounds leave the question open.
  const Model deep = network_model({9, 9}, Activation::relu, 3, 4);
  const Problem open{.model = &deep, .epsilon = 1e-6};
  expect_refused(
      [&] { return largest_deltas(open, deep.encoder.encode(s.rows), Variant::corrected); });
}

TEST(Proplace, HoldsFixedFeaturesAndRangesInTheProgram) {
  SKIP_WITHOUT_CBC();
  const Setting s = setting({6}, 8);
  Problem problem{.model = &s.model, .epsilon = 1e-6};
  problem.constraints.features["x1"].locked = true;
  int found = 0;
  for (const Answer& answer : Proplace(problem, s.rows, {.delta = 0.2 * s.delta})
                                  .generate(random_queries(s.model, 15, 5), {})) {
    if (!answer.counterfactual) {
      EXPECT_EQ(answer.status, Status::not_found);
      EXPECT_FALSE(answer.message.empty());
      continue;
    }
    ++found;
    EXPECT_EQ((*answer.counterfactual)[1], answer.query[1]);
    EXPECT_EQ(answer.message.find("breaks"), std::string::npos) << answer.message;
  }
  EXPECT_GT(found, 2);
}

TEST(Proplace, PublishedLinearIgnoresTheSignOfTheColumns) {
  SKIP_WITHOUT_CBC();
  const Setting s = setting({}, 5);
  const Problem problem{.model = &s.model, .epsilon = 1e-6};
  const ProplaceOptions options{.variant = Variant::published, .delta = s.delta};
  int found = 0;
  int wrong = 0;
  for (const Answer& answer :
       Proplace(problem, s.rows, options).generate(random_queries(s.model, 30, 5), {})) {
    ASSERT_TRUE(answer.counterfactual);
    if (answer.changes.empty()) continue;  // the query itself
    ++found;
    const Vector x = s.model.encoder.encode(*answer.counterfactual);
    EXPECT_GE(s.model.logit(x) - s.delta * (1 + x.sum()), -1e-9);
    wrong += worst_logit(s.model.network, x, s.delta) < 0 ? 1 : 0;
  }
  EXPECT_GT(found, 5);
  EXPECT_GT(wrong, 0);
}

TEST(Proplace, WithoutRobustRowsThereIsNoAnswer) {
  SKIP_WITHOUT_CBC();
  const Setting s = setting({6}, 8);
  const Problem problem{.model = &s.model, .epsilon = 1e-6};
  const std::vector<Query> queries = random_queries(s.model, 6, 5);
  int refused = 0;
  for (const Answer& answer :
       Proplace(problem, s.rows, {.delta = 100 * s.delta}).generate(queries, {})) {
    if (answer.status == Status::already_robust) continue;
    ++refused;
    EXPECT_EQ(answer.status, Status::not_found);
    EXPECT_NE(answer.message.find("largest delta"), std::string::npos) << answer.message;
  }
  EXPECT_GT(refused, 2);
  const ProplaceOptions published{.variant = Variant::published, .delta = 100 * s.delta};
  for (const Answer& answer : Proplace(problem, s.rows, published).generate(queries, {})) {
    EXPECT_TRUE(answer.counterfactual);
    EXPECT_TRUE(answer.changes.empty());
  }
}

TEST(Proplace, IsTheSameForAnyNumberOfThreads) {
  SKIP_WITHOUT_CBC();
  const Setting s = setting({6}, 8);
  const Problem problem{.model = &s.model, .epsilon = 1e-6};
  const std::vector<Query> queries = random_queries(s.model, 10, 5);
  for (const Variant variant : {Variant::published, Variant::corrected}) {
    const Proplace proplace(problem, s.rows, {.variant = variant, .delta = s.delta});
    const std::vector<Answer> one = proplace.generate(queries, {.threads = 1});
    const std::vector<Answer> four = proplace.generate(queries, {.threads = 4});
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].counterfactual, four[i].counterfactual);
      EXPECT_EQ(one[i].status, four[i].status);
    }
  }
}

TEST(DeltaRows, TakesTheNearestRobustRow) {
  const Setting s = setting({7}, 3);
  const Problem problem{
      .model = &s.model, .epsilon = 1e-6, .constraints = {.range = RangePolicy::off}};
  const RowMatrix encoded = s.model.encoder.encode(s.rows);
  const DeltaRows generator(problem, s.rows, {.delta = s.delta});
  int searched = 0;
  for (const Answer& answer : generator.generate(random_queries(s.model, 20, 5), {.threads = 2})) {
    if (answer.status == Status::already_robust) continue;
    ++searched;
    const Vector query = s.model.encoder.encode(answer.query);
    double nearest = 1e300;
    for (Index i = 0; i < encoded.rows(); ++i) {
      const Vector row = encoded.row(i);
      if (worst_logit(s.model.network, row, s.delta) > 0)
        nearest = std::min(nearest, (row - query).norm());
    }
    EXPECT_NEAR(answer.distance.l2, nearest, 1e-12);
  }
  EXPECT_GT(searched, 5);
  const DeltaRows none(problem, s.rows, {.delta = 100 * s.delta});
  EXPECT_EQ(none.robust_rows(), 0);
}

TEST(DeltaRows, RefusesNetworksWithoutRelu) {
  const Model model = network_model({5}, Activation::tanh, 3, 4);
  const Problem problem{.model = &model, .epsilon = 1e-6};
  const RowMatrix rows = problem_zoo::random_rows(20, 4, 40).features;
  EXPECT_THROW(DeltaRows(problem, rows), Error);
  EXPECT_THROW(Proplace(problem, rows), Error);
}

}  // namespace
}  // namespace ellice
