#include <gtest/gtest.h>

#include "ellice/request/reasons.hpp"
#include "report/display.hpp"
#include "report/lending_answers.hpp"
#include "report/recourse_text.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::lending_example;
using testing_support::LendingExample;

/// Answers of every status; those whose query the model declines have reasons.
LendingExample letters(const std::string& codes = "income: {code: 'R<3', text: Income & debts}") {
  LendingExample example = lending_example(9, 0.03);
  const Model& model = example.model;
  add_reasons(example.answers, Reasoner(model, 0, make_reference(model, 0),
                                        parse_reason_codes(codes, "codes.yaml", model.schema())));
  return example;
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
