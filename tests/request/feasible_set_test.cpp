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

}  // namespace
}  // namespace ellice
