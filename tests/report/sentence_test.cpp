#include "ellice/report/sentence.hpp"

#include <gtest/gtest.h>

#include "ellice/core/error.hpp"
#include "ellice/data/lending.hpp"

namespace ellice {
namespace {

using std::string_literals::operator""s;

Answer plan(std::vector<Change> changes, Status status = Status::optimal) {
  Answer answer{.status = status};
  answer.changes = std::move(changes);
  answer.distance.changed = static_cast<int>(answer.changes.size());
  return answer;
}

std::string told(const Answer& answer) {
  return sentence(answer, lending_schema());
}

TEST(Sentence, RaisesAndLowersNumbersWithTheirUnits) {
  EXPECT_EQ(told(plan({{"income", 24000.0, 26500.0}, {"debt", 9000.0, 7250.0}})),
            "Raise income from 24 000 to 26 500 EUR/year and lower debt from 9 000 to 7 250 EUR.");
}

TEST(Sentence, JoinsThreeStepsWithACommaAndAnAnd) {
  EXPECT_EQ(
      told(plan({{"income", 1.0, 2.0}, {"debt", 2.0, 1.0}, {"savings", 0.0, 1500.0}})),
      "Raise income from 1 to 2 EUR/year, lower debt from 2 to 1 EUR and raise savings from 0 "
      "to 1 500 EUR.");
}

TEST(Sentence, SpeaksOfEveryKindOfFeature) {
  EXPECT_EQ(plan_phrase(plan({{"housing", "rent"s, "own"s}}), lending_schema()),
            "change housing from rent to own");
  EXPECT_EQ(plan_phrase(plan({{"guarantor", "no"s, "yes"s}}), lending_schema()),
            "change guarantor from no to yes");
  EXPECT_EQ(plan_phrase(plan({{"education", "school"s, "master"s}}), lending_schema()),
            "raise education from school to master");
  EXPECT_EQ(plan_phrase(plan({{"education", "master"s, "none"s}}), lending_schema()),
            "lower education from master to none");
  EXPECT_EQ(plan_phrase(plan({{"dependants", 2.0, 3.0}}), lending_schema()),
            "raise dependants from 2 to 3");
  EXPECT_EQ(plan_phrase(plan({{"loan_amount", 800.0, 700.0}}), lending_schema()),
            "lower loan amount from 800 to 700 EUR");
}

TEST(Sentence, SaysWhatPeopleReadInPlaceOfNamesAndLevels) {
  Schema schema = lending_schema();
  Feature& education = schema.features[*schema.find("education")];
  education.label = "Highest degree";
  education.level_texts = {{"master", "a master's degree"}};
  EXPECT_EQ(plan_phrase(plan({{"education", "school"s, "master"s}}), schema),
            "raise Highest degree from school to a master's degree");
}

TEST(Sentence, SaysWhereAPromiseIsToFirstOrderOnly) {
  Answer answer = plan({}, Status::already_robust);
  answer.certificate = Certificate{.set = SetKind::full};
  EXPECT_EQ(told(answer),
            "Nothing needs to change: to first order, every model of the set already answers "
            "approved = yes.");
}

TEST(Sentence, SaysWhatAnAttackFound) {
  EXPECT_EQ(attack_text({.broken = true, .logit = -0.25, .excess = 0.01}),
            "attack: a real network whose objective is 0.01 higher gives it a logit of -0.25");
  EXPECT_EQ(attack_text({.logit = 0.125}),
            "attack: no network within ε was found that declines it; lowest logit 0.125");
}

TEST(Sentence, SaysForEveryStatusWhatItMeans) {
  const std::vector<Change> changes = {{"income", 1.0, 2.0}};
  EXPECT_EQ(told(plan(changes, Status::certified)), "Raise income from 1 to 2 EUR/year.");
  EXPECT_EQ(told(plan({}, Status::already_robust)),
            "Nothing needs to change: every model of the set already answers approved = yes.");
  Answer reduced = plan(changes, Status::reduced);
  reduced.attained_epsilon = 0.004;
  EXPECT_EQ(told(reduced),
            "Raise income from 1 to 2 EUR/year; this is certified only up to ε = 0.004, less than "
            "was asked.");
  EXPECT_EQ(told(plan(changes, Status::uncertified)),
            "Raise income from 1 to 2 EUR/year; this is not certified: near-optimal models may "
            "still answer otherwise.");
  Answer infeasible{.status = Status::infeasible};
  infeasible.infeasible = Infeasibility{.max_epsilon = {.lower = 0.0031, .upper = 0.0031}};
  EXPECT_EQ(told(infeasible),
            "No plan exists: no change that the constraints allow convinces every model; the "
            "largest ε with a plan is 0.0031.");
  infeasible.infeasible->max_epsilon = {};
  EXPECT_EQ(told(infeasible),
            "No plan exists: no change that the constraints allow convinces every model, not even "
            "the trained one alone.");
  EXPECT_EQ(told({.status = Status::not_found, .message = "10000 nodes"}),
            "No plan was found, but none was proved to be impossible: 10000 nodes.");
  EXPECT_EQ(told({.status = Status::not_found}),
            "No plan was found, but none was proved to be impossible.");
  EXPECT_EQ(told({.status = Status::invalid, .message = "line 3: empty cell."}),
            "The query could not be read: line 3: empty cell.");
}

TEST(Sentence, RefusesAFeatureThatTheSchemaLacks) {
  EXPECT_THROW((void)told(plan({{"height", 1.0, 2.0}})), Error);
}

}  // namespace
}  // namespace ellice
