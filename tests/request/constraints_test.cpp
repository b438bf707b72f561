#include "ellice/request/constraints.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "support/mixed_model.hpp"

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
  if (random.below(2) == 0) constraints.rules = {"a <= 2 * b", "if a rises then c stays"};
  if (random.below(2) == 0) constraints.weights = {{"b", 0.1 + random.uniform()}};
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
    EXPECT_EQ(again.rules, constraints.rules);
    EXPECT_EQ(again.weights, constraints.weights);
    for (std::size_t query = 0; query < 4; ++query) {
      for (const std::string& name : features)
        EXPECT_EQ(again.of(query, name), constraints.of(query, name)) << seed << ": " << name;
    }
    with_queries += constraints.queries.empty() ? 0 : 1;
  }
  EXPECT_GT(with_queries, 50);
}

TEST(Wishes, StandInTheSchemaAndLeaveTheRestOfTheModel) {
  const Model model = problem_zoo::mixed_case(1, true).model;
  EXPECT_FALSE(with_wishes(model, {}).has_value());
  Constraints constraints;
  constraints.rules = {"whole <= 2", "if flag changes then grade stays"};
  constraints.weights = {{"kind", 7}};
  const std::optional<Model> wished = with_wishes(model, constraints);
  ASSERT_TRUE(wished.has_value());
  Schema expected = model.schema();
  expected.constraints.push_back(parse_rule("whole <= 2"));
  expected.implications.push_back(parse_implication("if flag changes then grade stays"));
  expected.features[*expected.find("kind")].weight = 7;
  EXPECT_EQ(wished->schema(), expected);
  EXPECT_EQ(wished->sha256, model.sha256);
  EXPECT_EQ(wished->encoder.mean(), model.encoder.mean());
  EXPECT_EQ(wished->encoder.scale(), model.encoder.scale());
  EXPECT_EQ(wished->encoder.min(), model.encoder.min());
  EXPECT_EQ(wished->encoder.max(), model.encoder.max());
  EXPECT_EQ(to_json(*wished)["network"], to_json(model)["network"]);
}

TEST(Wishes, RefuseWhatASchemaCouldNotHold) {
  const Model model = problem_zoo::mixed_case(1, false).model;
  for (const char* rule : {"", "whole", "whole <= nothing", "grade <= 1", "whole < 2",
                           "if whole rises then kind rises"}) {
    Constraints constraints;
    constraints.rules = {rule};
    EXPECT_THROW((void)with_wishes(model, constraints), Error) << rule;
  }
  for (const auto& [name, weight] : std::map<std::string, double>{
           {"whale", 1}, {"whole", 0}, {"flag", -1}, {"kind", std::nan("")}, {"grade", 1e13}}) {
    Constraints constraints;
    constraints.weights = {{name, weight}};
    EXPECT_THROW((void)with_wishes(model, constraints), Error) << name;
  }
}

}  // namespace
}  // namespace ellice
