#include "report/recourse_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "data/spelling.hpp"
#include "report/display.hpp"
#include "report/lending_answers.hpp"
#include "report/text_table.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::lending_example;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const Answer& first_with(const std::vector<Answer>& answers, Status status) {
  const auto found = std::find_if(answers.begin(), answers.end(),
                                  [&](const Answer& a) { return a.status == status; });
  EXPECT_NE(found, answers.end()) << enum_name(status);
  return *found;
}

TEST(RecourseText, ShowsEveryChangedValueAndNoOther) {
  const auto example = lending_example(9, 0.03);
  const Schema& schema = example.model.schema();
  const Appraiser appraiser(example.model, 0.03, 0);
  for (const Answer& answer : example.answers) {
    if (!answer.counterfactual) continue;
    const std::vector<std::string> lines = lines_of(recourse_text(answer, appraiser));
    for (std::size_t j = 0; j < schema.features.size(); ++j) {
      const auto row = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.starts_with("  " + feature_label(schema.features[j]) + " ");
      });
      const Value& now = answer.query[j];
      const Value& then = (*answer.counterfactual)[j];
      EXPECT_EQ(row != lines.end(), now != then) << schema.features[j].name;
      if (row == lines.end()) continue;
      expect_words(*row,
                   {display_start(now, then), "→", display_value(then), schema.features[j].unit});
    }
  }
}

// Of a model that decides elsewhere the scores shown first are those that decide.
TEST(RecourseText, ShowsWhatTheDeployedModelSays) {
  auto example = lending_example(2, 0.03);
  Vector head = example.model.network.head();
  head(head.size() - 1) -= 1;
  example.model.deployed = Deployed{.head = head};
  const Answer& answer = first_with(example.answers, Status::certified);
  const Appraiser appraiser(example.model, 0.03, 0);
  const std::string text = recourse_text(answer, appraiser);
  const double now = appraiser.before(answer).logit, then = appraiser.after(answer).logit;
  expect_words(text, {"deployed model", appraiser.display_score(now - 1),
                      appraiser.display_score(then - 1), "minimum of its objective"});
  EXPECT_EQ(text.find("base model"), std::string::npos) << text;
}

TEST(RecourseText, DashesOrDimsWhatDoesNotChange) {
  const auto example = lending_example(2, 0.03);
  const Appraiser appraiser(example.model, 0.03, 0);
  const Answer& answer = example.answers[0];
  const std::string plain = recourse_text(answer, appraiser, {.all_features = true});
  const std::string dimmed =
      recourse_text(answer, appraiser, {.colour = true, .all_features = true});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::size_t dashed = 0;
  for (const std::string& line : lines_of(plain)) {
    if (line.find(" –") == std::string::npos) continue;
    ++dashed;
    EXPECT_NE(dimmed.find("\x1b[2m" + line.substr(2) + "\x1b[0m"), std::string::npos) << line;
  }
  EXPECT_EQ(dashed, answer.query.size() - answer.changes.size());
}

TEST(RecourseText, LinesUpItsTable) {
  const auto example = lending_example(2, 0.03);
  const std::vector<std::string> lines = lines_of(
      recourse_text(example.answers[1], Appraiser(example.model, 0.03, 0), {.all_features = true}));
  std::size_t arrow_place = 0, arrows = 0;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const std::size_t at = lines[i].find("→");
    if (at == std::string::npos) continue;
    const std::size_t place = display_width(lines[i].substr(0, at));
    if (arrows++ == 0) arrow_place = place;
    EXPECT_EQ(place, arrow_place) << lines[i];
  }
  EXPECT_EQ(arrows, 1 + example.answers[1].changes.size());
}

TEST(RecourseText, ExplainsWhyThereIsNoPlan) {
  const auto example = lending_example(6, 0.03);
  const Answer& answer = first_with(example.answers, Status::infeasible);
  const std::string text = recourse_text(answer, Appraiser(example.model, 0.03, 0));
  expect_words(text, {"no plan exists",
                      "largest ε with a plan: " + largest_epsilon_text(*answer.infeasible) +
                          " (asked: 0.03)",
                      "blocked by: income: locked", "savings: locked", "best reachable"});
}

TEST(RecourseText, HoldsTheMessageOfAnAnswerWithoutPlan) {
  const auto example = lending_example(2, 0.03);
  const Appraiser appraiser(example.model, 0.03, 0);
  expect_words(recourse_text(first_with(example.answers, Status::invalid), appraiser),
               {"query 5 (A-2099)", "could not be read", "\"n/a\" is not a number"});
  expect_words(recourse_text(first_with(example.answers, Status::not_found), appraiser),
               {"no plan found", "10000 nodes"});
  const std::string fragile =
      recourse_text(first_with(example.answers, Status::uncertified), appraiser);
  expect_words(fragile, {"not certified", "< 0", "breaks: debt + loan_amount <= 2 * income"});
}

TEST(SummaryText, CountsOutcomesAndFeatures) {
  const auto example = lending_example(9, 0.03);
  BatchSummary summary(example.model.schema());
  std::size_t with_plan = 0;
  for (const Answer& answer : example.answers) {
    summary.add(answer);
    with_plan += is_certified(answer.status) && !answer.changes.empty() ? 1 : 0;
  }
  const std::string text = summary_text(summary);
  expect_words(text,
               {"no plan exists", "no change needed", "unreadable query", "median", "income"});
  EXPECT_EQ(summary.distances().size(), with_plan);
}

TEST(SummaryText, OfNothingSaysSo) {
  EXPECT_EQ(summary_text(BatchSummary(lending_schema())), "no queries\n");
}

TEST(RecourseText, SaysWhatAnAttackFound) {
  const auto example = lending_example(8, 0.03);
  Answer answer = first_with(example.answers, Status::certified);
  const Appraiser appraiser(example.model, 0.03, 0);
  answer.attack = Attack{.broken = true, .logit = -0.25, .excess = 0.0125};
  expect_words(recourse_text(answer, appraiser), {"attack: a real network", "0.0125", "-0.25"});
  answer.attack = Attack{.broken = false, .logit = 0.5, .excess = 0.03};
  expect_words(recourse_text(answer, appraiser), {"attack: no network within", "0.5"});
}

}  // namespace
}  // namespace ellice
