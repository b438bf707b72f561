#include <gtest/gtest.h>

#include "ellice/request/reasons.hpp"
#include "report/display.hpp"
#include "report/html.hpp"
#include "report/lending_answers.hpp"
#include "report/markup.hpp"
#include "report/recourse_text.hpp"
#include "report/svg.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::lending_example;
using testing_support::LendingExample;
using testing_support::markup_fault;

/// Answers of every status; those whose query the model declines have reasons.
LendingExample letters(const std::string& codes = "income: {code: 'R<3', text: Income & debts}") {
  LendingExample example = lending_example(9, 0.03);
  const Model& model = example.model;
  add_reasons(example.answers, Reasoner(model, 0, make_reference(model, 0),
                                        parse_reason_codes(codes, "codes.yaml", model.schema())));
  return example;
}

std::vector<std::string> cards_of(const std::string& page) {
  std::vector<std::string> cards;
  for (std::size_t at = page.find("<article"); at != std::string::npos;
       at = page.find("<article", at + 1)) {
    cards.push_back(page.substr(at, page.find("</article>", at) - at));
  }
  return cards;
}

TEST(Letter, HasReasonsAndPlanUnderTheirOwnHeadings) {
  const LendingExample example = letters();
  const std::string page = to_html(example.model, example.page, example.answers);
  EXPECT_EQ(markup_fault(page), "");
  const std::vector<std::string> cards = cards_of(testing_support::with_plain_blanks(page));
  ASSERT_EQ(cards.size(), example.answers.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Answer& answer = example.answers[i];
    const std::size_t why = cards[i].find("Why the application was declined");
    const std::size_t plan = cards[i].find("What you can do");
    EXPECT_EQ(why != std::string::npos, answer.reasons.has_value());
    EXPECT_EQ(plan != std::string::npos, !answer.query.empty());
    if (!answer.reasons) continue;
    EXPECT_LT(why, plan);
    expect_words(cards[i], {"(principal reasons)", "(recourse plan)", "two different things",
                            "the trained (base) model", svg::escape(answer.reasons->reference)});
    for (const Reason& reason : answer.reasons->items) {
      expect_words(cards[i], {display_contribution(reason.contribution)});
      const std::size_t text = cards[i].find(svg::escape(reason.text).substr(1));
      EXPECT_TRUE(text > why && text < plan) << reason.text;
    }
    if (answer.status == Status::optimal)
      expect_words(cards[i], {"the plan holds for every model of the set"});
    if (answer.status == Status::uncertified)
      expect_words(cards[i], {"the plan was not certified"});
    if (answer.status == Status::infeasible)
      expect_words(cards[i], {"a plan would have to hold for every model"});
  }
  expect_words(page,
               {"<span class=\"code\">R&lt;3</span> Income &amp; debts", "(cannot be changed)"});
}

TEST(Letter, GivesNoReasonsToWhomTheTrainedModelAccepts) {
  LendingExample example = letters();
  Answer accepted = example.answers[8];  // already robust
  ASSERT_FALSE(accepted.reasons);
  accepted.status = Status::certified;  // as if some model of the set declined
  const std::string page = to_html(example.model, example.page, {accepted});
  expect_words(page, {"The trained model accepts this application", "What you can do"});
  EXPECT_EQ(page.find("Why the application was declined"), std::string::npos);
  EXPECT_EQ(page.find("two different things"), std::string::npos);
}

TEST(Letter, TellsTheReasonsOnceToAPersonWithSeveralPlans) {
  LendingExample example = letters();
  Answer second = example.answers[0];
  second.plan = 1;
  const std::vector<std::string> cards =
      cards_of(to_html(example.model, example.page, {example.answers[0], second}));
  EXPECT_NE(cards[0].find("principal reasons"), std::string::npos);
  EXPECT_EQ(cards[1].find("(principal reasons)"), std::string::npos);
}

TEST(Letter, IsOneLineOnATerminal) {
  const LendingExample example = letters();
  const Appraiser appraiser(example.model, 0.03, 0);
  for (const Answer& answer : example.answers) {
    const std::string text = recourse_text(answer, appraiser);
    EXPECT_EQ(text.find("principal reasons") != std::string::npos, answer.reasons.has_value());
    if (!answer.reasons) continue;
    for (const Reason& reason : answer.reasons->items) {
      expect_words(text, {title_of(example.model.schema(), reason.feature) + " " +
                          display_contribution(reason.contribution)});
      if (reason.code) expect_words(text, {"[R<3] income"});
    }
  }
}

}  // namespace
}  // namespace ellice
