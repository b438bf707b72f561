#include "report/batch_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/lending.hpp"

namespace ellice {
namespace {

using std::string_literals::operator""s;

Answer certified(double distance, std::vector<Change> changes) {
  Answer answer{.status = Status::certified};
  answer.changes = std::move(changes);
  answer.distance = {.l2 = distance, .changed = static_cast<int>(answer.changes.size())};
  return answer;
}

TEST(BatchSummary, CountsTheFirstPlanOfEachQuery) {
  BatchSummary summary(lending_schema());
  summary.add(certified(1, {{"income", 1.0, 2.0}}));
  Answer second = certified(5, {{"debt", 2.0, 1.0}});
  second.plan = 1;
  summary.add(second);
  summary.add({.status = Status::infeasible});
  summary.add({.status = Status::already_robust});
  summary.add({.status = Status::invalid});
  EXPECT_EQ(summary.queries(), 4U);
  EXPECT_EQ(summary.further_plans(), 1U);
  EXPECT_EQ(summary.count(Status::certified), 1U);
  EXPECT_EQ(summary.in_need(), 2U);
  EXPECT_EQ(summary.helped(), 1U);
  EXPECT_EQ(summary.distances(), std::vector<double>{1});
}

TEST(BatchSummary, QuantilesAreValuesWithAtLeastThatShareAtOrBelow) {
  BatchSummary summary(lending_schema());
  Random random(5);
  std::vector<double> distances;
  for (int i = 0; i < 101; ++i) {
    const double distance = random.uniform();
    distances.push_back(distance);
    std::vector<Change> changes(1 + random.below(4), {"income", 1.0, 2.0});
    summary.add(certified(distance, changes));
  }
  constexpr std::array<double, 5> shares = {0, 0.1, 0.5, 0.9, 1};
  const std::vector<double> found = summary.distance_quantiles(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto share_below = [&](double bound, bool strictly) {
      const auto count = std::count_if(distances.begin(), distances.end(),
                                       [&](double d) { return strictly ? d < bound : d <= bound; });
      return static_cast<double>(count) / static_cast<double>(distances.size());
    };
    EXPECT_EQ(std::count(distances.begin(), distances.end(), found[i]), 1);
    EXPECT_GE(share_below(found[i], false), shares[i]);
    if (shares[i] > 0) {
      EXPECT_LT(share_below(found[i], true), shares[i]);
    }
  }
}

TEST(BatchSummary, ChangesHaveQuantilesToo) {
  BatchSummary summary(lending_schema());
  for (const std::size_t n : {1U, 1U, 2U, 3U, 4U}) {
    summary.add(certified(1, std::vector<Change>(n, {"income", 1.0, 2.0})));
  }
  EXPECT_EQ(summary.changes_quantile(0), 1);
  EXPECT_EQ(summary.changes_quantile(0.4), 1);
  EXPECT_EQ(summary.changes_quantile(0.5), 2);
  EXPECT_EQ(summary.changes_quantile(0.8), 3);
  EXPECT_EQ(summary.changes_quantile(1), 4);
}

TEST(BatchSummary, SaysWhatHappensToEachFeature) {
  const Schema schema = lending_schema();
  BatchSummary summary(schema);
  summary.add(certified(1, {{"income", 10000.0, 12000.0}, {"housing", "rent"s, "own"s}}));
  summary.add(certified(1, {{"income", 10000.0, 16000.0}, {"education", "none"s, "master"s}}));
  summary.add(certified(1, {{"income", 900.0, 700.0}}));
  Answer fragile = certified(1, {{"debt", 2.0, 1.0}});
  fragile.status = Status::uncertified;
  summary.add(fragile);
  const auto told = [&](const char* name) {
    const std::size_t j = *schema.find(name);
    return describe(summary.features()[j], schema.features[j]);
  };
  EXPECT_EQ(told("income"),
            "raised in 2, by 4 000 EUR/year on average; lowered in 1, by 200 EUR/year on average");
  EXPECT_EQ(told("housing"), "to own in 1");
  EXPECT_EQ(told("education"), "raised in 1, by 3 levels on average");
  EXPECT_EQ(told("debt"), "");
  EXPECT_EQ(summary.most_changed(),
            (std::vector<std::size_t>{*schema.find("income"), *schema.find("education"),
                                      *schema.find("housing")}));
}

TEST(BatchSummary, HasNoQuantilesOfNothing) {
  const BatchSummary summary(lending_schema());
  constexpr std::array<double, 1> half = {0.5};
  EXPECT_THROW((void)summary.distance_quantiles(half), Error);
  EXPECT_THROW((void)summary.changes_quantile(0.5), Error);
  EXPECT_EQ(summary.queries(), 0U);
}

}  // namespace
}  // namespace ellice
