#include "request/feasible_set.hpp"

#include <gtest/gtest.h>

namespace ellice {
namespace {

TEST(FeatureRange, SnapsRoundingToItsGridAndNothingElse) {
  const FeatureRange range{.query = 0.351, .lower = 0.078, .upper = 2.42, .step = 0.002};
  EXPECT_EQ(range.snapped(2.4199999999999995), 2.42);
  EXPECT_EQ(range.snapped(2.4199), 2.4199);
  EXPECT_EQ(range.snapped(0.351), 0.351);
  const FeatureRange free{.query = 0.351, .lower = 0, .upper = 3};
  EXPECT_EQ(free.snapped(2.4199999999999995), 2.4199999999999995);
  const FeatureRange below{.query = 0, .lower = 0, .upper = 2.4199999999999995, .step = 0.002};
  EXPECT_EQ(below.snapped(2.4199999999999995), 2.4199999999999995);
}

/// One number and two rows between which it lies.
Dataset one_number(Feature feature) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {std::move(feature)};
  data.raw.resize(2, 1);
  data.raw << 0, 900;
  data.labels = {0, 1};
  data.classes = {"no", "yes"};
  return data;
}

bool allows(const Dataset& data, const Constraints& constraints, double value) {
  const Encoder encoder = Encoder::fit(data);
  return FeasibleSet(encoder, constraints, 0, Vector{{255}}).violations(Vector{{value}}).empty();
}

TEST(FeasibleSet, BeginsGridsWhereTheSchemaDoesWhateverARunBounds) {
  const Dataset data = one_number({.name = "income", .min = 50, .step = 100});
  const Constraints none;
  Constraints bounded;
  bounded.features["income"] = {.min = 120};
  for (const Constraints& constraints : {none, bounded}) {
    EXPECT_TRUE(allows(data, constraints, 350));
    EXPECT_FALSE(allows(data, constraints, 320));
    EXPECT_FALSE(allows(data, constraints, 300));
  }
  EXPECT_TRUE(allows(data, none, 50));
  EXPECT_FALSE(allows(data, bounded, 50));
}

TEST(FeasibleSet, TakesOfAllowedValuesThoseOfTheGrid) {
  const Dataset data =
      one_number({.name = "income", .step = 100, .allowed = {150.0, 200.0, 250.0, 400.0}});
  EXPECT_TRUE(allows(data, {}, 200));
  EXPECT_TRUE(allows(data, {}, 400));
  EXPECT_FALSE(allows(data, {}, 250));
  EXPECT_FALSE(allows(data, {}, 300));
  const Dataset empty = one_number({.name = "income", .step = 100, .allowed = {150.0}});
  EXPECT_FALSE(allows(empty, {}, 150));
  EXPECT_TRUE(allows(empty, {}, 255));
}

TEST(FeasibleSet, NamesDisallowedValuesOfFeaturesThatMayNotChange) {
  const Dataset data = one_number({.name = "income", .allowed = {150.0}, .immutable = true});
  const Encoder encoder = Encoder::fit(data);
  const Constraints none;
  EXPECT_EQ(FeasibleSet(encoder, none, 0, Vector{{255}}).query_violations(),
            std::vector<std::string>{"income: 255 is not an allowed value"});
}

}  // namespace
}  // namespace ellice
