#include "ellice/request/constraints.hpp"

#include <gtest/gtest.h>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/random.hpp"

namespace ellice {
namespace {

const std::vector<std::string> features = {"a", "b", "c"};

FeatureLimits draw_limits(Random& random) {
  const auto coin = [&] { return random.below(2) == 0; };
  FeatureLimits limits{.locked = coin()};
  if (coin()) limits.min = random.normal();
  if (coin()) limits.max = random.normal();
  if (coin()) limits.direction = static_cast<Direction>(random.below(3));
  return random.below(3) == 0 ? FeatureLimits{} : limits;
}

Constraints draw(Random& random) {
  Constraints constraints{.range = static_cast<RangePolicy>(random.below(2))};
  for (const std::string& name : features) {
    if (random.below(2) == 0) constraints.features[name] = draw_limits(random);
    if (random.below(2) == 0) constraints.queries[random.below(3)][name] = draw_limits(random);
  }
  if (random.below(2) == 0)
    constraints.horizon = Horizon{.amount = 1 + static_cast<double>(random.below(40)) / 2,
                                  .per = static_cast<Pace::Period>(random.below(4))};
  return constraints;
}

TEST(Horizon, IsANumberAndATime) {
  EXPECT_EQ(parse_horizon("12 months"), (Horizon{.amount = 12, .per = Pace::Period::month}));
  EXPECT_EQ(parse_horizon("1 year"), (Horizon{.amount = 1, .per = Pace::Period::year}));
  EXPECT_EQ(to_text(parse_horizon("1 years")), "1 year");
  EXPECT_EQ(to_text(parse_horizon("2.5 weeks")), "2.5 weeks");
  for (const char* wrong : {"", "12", "months", "0 days", "-1 years", "1 decade", "12  months",
                            "inf years", "1e9 years", "nan days", "12 monthss"}) {
    EXPECT_THROW((void)parse_horizon(wrong), Error) << wrong;
  }
}

TEST(Horizon, LetsAYearBeTwelveMonthsAndAWeekSevenDays) {
  const Feature tenure{.name = "tenure", .slow = Pace{.amount = 1, .per = Pace::Period::year}};
  EXPECT_EQ(most_change(tenure, parse_horizon("12 months")), 1);
  EXPECT_EQ(most_change(tenure, parse_horizon("18 months")), 1.5);
  EXPECT_EQ(most_change(tenure, parse_horizon("3 years")), 3);
  const Feature daily{.name = "days", .slow = Pace{.amount = 2, .per = Pace::Period::day}};
  EXPECT_EQ(most_change(daily, parse_horizon("3 weeks")), 42);
  Feature degree{.name = "degree", .kind = FeatureKind::ordinal};
  degree.slow = Pace{.amount = 1, .per = Pace::Period::year};
  EXPECT_EQ(most_change(degree, parse_horizon("18 months")), 1);
  EXPECT_EQ(most_change(degree, parse_horizon("11 months")), 0);
}

TEST(Constraints, BindTheSameWhenReadBackFromTheirJson) {
  int with_queries = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Constraints constraints = draw(random);
    const Json written = parse_json(to_text(to_json(constraints)), "constraints");
    JsonObject object(written, "constraints");
    const Constraints again = constraints_from_json(object);
    object.finish();
    EXPECT_EQ(again.range, constraints.range);
    EXPECT_EQ(again.horizon, constraints.horizon);
    for (std::size_t query = 0; query < 4; ++query) {
      for (const std::string& name : features)
        EXPECT_EQ(again.of(query, name), constraints.of(query, name)) << seed << ": " << name;
    }
    with_queries += constraints.queries.empty() ? 0 : 1;
  }
  EXPECT_GT(with_queries, 50);
}

}  // namespace
}  // namespace ellice
