#include "report/trade_off.hpp"

#include <gtest/gtest.h>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

std::vector<Answer> plans_of(const std::vector<std::pair<int, double>>& changes_and_costs) {
  std::vector<Answer> plans;
  for (const auto& [changed, cost] : changes_and_costs) {
    Answer plan{.counterfactual = RawRow{}};
    plan.distance = {.weighted = cost, .changed = changed};
    plan.plan = static_cast<int>(plans.size());
    plans.push_back(std::move(plan));
  }
  return plans;
}

TEST(TradeOff, RecommendsThePlanAfterWhichAnotherChangeSavesTooLittle) {
  const std::vector<Answer> plans = plans_of({{1, 4.0}, {2, 2.0}, {3, 1.7}, {4, 0.1}});
  EXPECT_EQ(recommended(plans, 0.2), 1U);  // 50 %, then 15 %; what comes later does not count
  EXPECT_EQ(recommended(plans, 0.6), 0U);
  EXPECT_EQ(recommended(plans, 0.1), 3U);
  EXPECT_EQ(recommended(plans_of({{2, 3.0}}), 0.2), 0U);
}

TEST(TradeOff, AsksOfEveryFurtherChangeThatItSaves) {
  const std::vector<Answer> plans = plans_of({{1, 4.0}, {3, 2.8}});  // 30 % for two changes
  EXPECT_DOUBLE_EQ(saving_per_change(plans[0], plans[1]), 0.15);
  EXPECT_EQ(recommended(plans, 0.2), 0U);
  EXPECT_EQ(recommended(plans, 0.14), 1U);
}

TEST(TradeOff, LeavesThePlanToRecommendWithWhatMoreChangesWouldSave) {
  std::vector<Answer> answers = plans_of({{1, 4.0}, {2, 2.0}, {3, 1.7}});
  Answer alone{.query_index = 3, .status = Status::not_found};
  answers.push_back(alone);
  for (Answer& plan : plans_of({{1, 4.0}, {2, 2.0}})) {
    plan.query_index = 7;
    answers.push_back(plan);
  }
  answers.back().reason = "5 changes would lower the cost to 1.9";
  const std::vector<Answer> kept = recommended_alone(answers, 0.2);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].distance.changed, 2);
  EXPECT_EQ(kept[0].plan, 0);
  EXPECT_NE(kept[0].message.find("3 changes would lower the cost to 1.7"), std::string::npos);
  EXPECT_EQ(kept[1].query_index, 3U);
  EXPECT_EQ(kept[1].message, "");
  EXPECT_EQ(kept[2].distance.changed, 2);
  EXPECT_NE(kept[2].message.find("5 changes would lower the cost to 1.9"), std::string::npos);
  EXPECT_EQ(kept[2].reason, "");
}

TEST(TradeOff, SaysOfAPlanAloneWhatMoreChangesWouldSaveInItsMessageToo) {
  // With up to four changes there is one, and the nearest has nine: a reason is for several plans.
  std::vector<Answer> answers = plans_of({{2, 3.0}});
  answers.front().reason = "9 changes would lower the cost to 2.862";
  answers.front().message = "kept";
  const std::vector<Answer> kept = recommended_alone(answers, 0.2);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].reason, "");
  EXPECT_EQ(kept[0].message, "kept; 9 changes would lower the cost to 2.862");
}

TEST(TradeOff, HasALineForEachPlan) {
  const std::vector<Answer> plans = plans_of({{1, 4.0}, {2, 2.0}, {3, 1.7}});
  const std::vector<TradeOffLine> lines = trade_off_lines(plans, {}, 0.2);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].saving, "");
  EXPECT_EQ(lines[1].saving, "50 %");
  EXPECT_EQ(lines[2].saving, "15 %");
  EXPECT_FALSE(lines[0].is_recommended || lines[2].is_recommended);
  EXPECT_TRUE(lines[1].is_recommended);
  EXPECT_NE(recommendation_rule(0.2).find("less than 20 %"), std::string::npos);
}

TEST(TradeOff, IsNoneWhereAPlanIsMissing) {
  std::vector<Answer> plans = plans_of({{1, 4.0}, {2, 2.0}});
  EXPECT_TRUE(is_trade_off(plans));
  plans.back().counterfactual.reset();
  EXPECT_FALSE(is_trade_off(plans));
  EXPECT_FALSE(is_trade_off(plans_of({{1, 4.0}})));
}

TEST(TradeOff, ReadsSharesAndRefusesOtherThings) {
  EXPECT_EQ(parse_worth("20%"), 0.2);
  EXPECT_EQ(parse_worth("0.25"), 0.25);
  EXPECT_EQ(parse_worth("0 %"), 0);
  for (const char* wrong : {"", "%", "x", "-1%", "101%", "2", "nan"})
    EXPECT_THROW((void)parse_worth(wrong), Error) << wrong;
}

}  // namespace
}  // namespace ellice
