#include "report/html.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "ellice/core/json.hpp"
#include "report/display.hpp"
#include "report/lending_answers.hpp"
#include "report/markup.hpp"
#include "report/svg.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::lending_example;
using testing_support::lending_model;
using testing_support::markup_fault;

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// The cards of a page, in order.
std::vector<std::string> cards_of(const std::string& page) {
  std::vector<std::string> cards;
  for (std::size_t at = page.find("<article"); at != std::string::npos;
       at = page.find("<article", at + 1)) {
    cards.push_back(page.substr(at, page.find("</article>", at) - at));
  }
  return cards;
}

TEST(Html, IsWellFormedAndLoadsNothing) {
  const auto example = lending_example(9, 0.03);
  const std::string page = to_html(example.model, example.page, example.answers, example.curves);
  EXPECT_EQ(markup_fault(page), "");
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "@font-face"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(page, to_html(example.model, example.page, example.answers, example.curves));
}

TEST(Html, ShowsEveryChangedValueOnItsCard) {
  const auto example = lending_example(9, 0.03);
  const std::vector<std::string> cards = cards_of(testing_support::with_plain_blanks(
      to_html(example.model, example.page, example.answers, example.curves)));
  ASSERT_EQ(cards.size(), example.answers.size());
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const Answer& answer = example.answers[i];
    expect_words(cards[i], {"data-status=\"" + std::string(enum_name(answer.status)) + "\""});
    for (const Change& change : answer.changes) {
      expect_words(cards[i],
                   {"<td class=\"num\">" + display_start(change.from, change.to) + "</td>",
                    "<td class=\"num new\">" + display_value(change.to) + "</td>"});
    }
    EXPECT_EQ(
        occurrences(cards[i], "<td class=\"num new\">"),
        answer.infeasible
            ? differences(example.model.schema(), answer.query, answer.infeasible->best).size()
            : answer.changes.size());
  }
}

TEST(Html, BreaksNoNumberInTwo) {
  const auto example = lending_example(9, 0.03);
  const std::string page = to_html(example.model, example.page, example.answers, example.curves);
  // Outside of tags, where a reader sees it.
  const std::regex tags("<[^>]*>");
  const std::string text = std::regex_replace(page.substr(page.find("<main>")), tags, "|");
  EXPECT_FALSE(std::regex_search(text, std::regex("[0-9] [0-9]{3}(?![0-9])")));
  EXPECT_TRUE(std::regex_search(text, std::regex("[0-9]\u00A0[0-9]{3}(?![0-9])")));
  // Pictures keep the blanks between their coordinates.
  EXPECT_FALSE(std::regex_search(page, std::regex("<[^>]*\u00A0[^>]*>")));
}

TEST(Html, ShowsTheScoresOfBothModels) {
  const auto example = lending_example(3, 0.03);
  const std::vector<std::string> cards =
      cards_of(to_html(example.model, example.page, example.answers));
  const Answer& answer = example.answers[0];
  const auto probability = [](double logit) { return display_percent(1 / (1 + std::exp(-logit))); };
  const double now = example.model.logit(example.model.encoder.encode(answer.query));
  expect_words(cards[0], {svg::escape(probability(now)), probability(answer.logit),
                          probability(answer.robust_logit)});
}

TEST(Html, CarriesTheCertificateWhole) {
  const auto example = lending_example(3, 0.03);
  const std::vector<std::string> cards =
      cards_of(to_html(example.model, example.page, example.answers));
  const Answer& answer = example.answers[0];
  ASSERT_TRUE(answer.certificate);
  expect_words(cards[0],
               {svg::escape(to_text(to_json(*answer.certificate, example.model.schema()))),
                svg::escape(answer.certificate->claim), example.model.sha256});
}

TEST(Html, IsHonestAboutPeopleWithoutAPlan) {
  const auto example = lending_example(6, 0.03);
  const auto found = std::find_if(example.answers.begin(), example.answers.end(),
                                  [](const Answer& a) { return a.status == Status::infeasible; });
  ASSERT_NE(found, example.answers.end());
  const std::string card =
      cards_of(to_html(example.model, example.page, example.answers, example.curves))
          .at(static_cast<std::size_t>(found - example.answers.begin()));
  expect_words(card, {"No plan exists", "income: locked", "savings: locked", "upper_bound",
                      "largest ε with a plan", "no plan beyond"});
  EXPECT_EQ(card.find("Certificate"), std::string::npos);
}

TEST(Html, SaysWhatWasAsked) {
  auto example = lending_example(1, 0.03);
  const std::string page = to_html(example.model, example.page, example.answers);
  expect_words(page, {"ε = 0.03", "10 % of the training objective", "last-layer", "l2:",
                      "a probability of 50.0 %", "1\u00A0500 rows", example.model.sha256, "exact"});
  example.page.epsilon = 0;
  expect_words(to_html(example.model, example.page, {}), {"only the trained model itself"});
}

TEST(Html, EscapesWhatPeopleWrote) {
  // Every text that comes from outside, hostile.
  const std::string evil = "<b>\"x\" & 'y'</b>";
  Model model = lending_model();
  Schema schema = model.schema();
  schema.target = {.column = "t" + evil, .favourable = "f" + evil};
  schema.features = {
      {.name = "n" + evil, .unit = "u" + evil},
      {.name = "c" + evil, .kind = FeatureKind::categorical, .levels = {"p" + evil, "q" + evil}},
      {.name = "o" + evil, .kind = FeatureKind::ordinal, .levels = {"r" + evil, "s" + evil}}};
  const Json encoder = {
      {"columns", {"n" + evil, "c" + evil + "=p" + evil, "c" + evil + "=q" + evil, "o" + evil}},
      {"mean", {0, 0, 0, 0}},
      {"scale", {1, 1, 1, 1}},
      {"min", {0, 0, 0, 0}},
      {"max", {9, 1, 1, 1}}};
  model.encoder = Encoder::from_json(encoder, schema, "test");
  model.network = linear_network(Vector::Ones(5));
  model.curvature.hessian = Matrix::Identity(5, 5);
  model.sha256 = "h" + evil;
  Answer answer{.status = Status::certified,
                .id = "i" + evil,
                .query = {1.0, "p" + evil, "r" + evil},
                .query_violations = {"v" + evil},
                .message = "m" + evil};
  answer.counterfactual = RawRow{2.0, "q" + evil, "s" + evil};
  answer.changes = differences(schema, answer.query, *answer.counterfactual);
  answer.certificate = Certifier(model, 0.01, 0).certify(*answer.counterfactual);
  ASSERT_TRUE(answer.certificate);
  Answer none{.status = Status::infeasible, .query = answer.query};
  none.infeasible = Infeasibility{.blocking = {.constraints = {"k" + evil}}, .best = answer.query};
  const PageOptions page{.title = "T" + evil,
                         .epsilon = 0.01,
                         .epsilon_rule = "e" + evil,
                         .details = {{"d" + evil, "w" + evil}}};
  const std::string text = to_html(model, page, {answer, none});
  EXPECT_EQ(markup_fault(text), "");
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  for (const char c : std::string("tfnucpqorshivmkTedw")) {
    EXPECT_NE(text.find(std::string(1, c) + "&lt;b&gt;"), std::string::npos) << c;
  }
}

TEST(Html, LimitsTheCardsAndSaysSo) {
  auto example = lending_example(6, 0.03);
  example.page.max_cards = 2;
  const std::string page = to_html(example.model, example.page, example.answers);
  EXPECT_EQ(cards_of(page).size(), 2U);
  expect_words(page, {"8 further answers are counted above but not shown here",
                      "<span class=\"number\">10</span>"});
}

TEST(Html, OfNothingIsAPageThatSaysSo) {
  const Model model = lending_model();
  const std::string page = to_html(model, {.epsilon = 0.01}, {});
  EXPECT_EQ(markup_fault(page), "");
  expect_words(page, {"There were no queries"});
  EXPECT_EQ(cards_of(page).size(), 0U);
}

TEST(Html, GivesACurveToTheFirstPlanOnly) {
  auto example = lending_example(1, 0.03);
  example.answers.resize(1);
  example.answers.push_back(example.answers[0]);
  example.answers[1].plan = 1;
  const std::vector<std::string> cards =
      cards_of(to_html(example.model, example.page, example.answers, example.curves));
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(occurrences(cards[0], "line-chart"), 1U);
  EXPECT_EQ(occurrences(cards[1], "line-chart"), 0U);
  expect_words(cards[1], {"plan 2"});
}

TEST(Html, DoesNotCallALocalSearchAProof) {
  auto example = lending_example(1, 0.03);
  example.answers.resize(1);
  example.answers[0].attack = Attack{.logit = 0.5};
  example.curves[0].max_epsilon = 0.04;
  example.curves[0].is_proved = false;
  const std::string page = to_html(example.model, example.page, example.answers, example.curves);
  EXPECT_EQ(markup_fault(page), "");
  expect_words(page,
               {"No plan was found beyond ε = 0.04, which proves nothing", "none found beyond 0.04",
                "Attack: no network within ε was found that declines it"});
  EXPECT_EQ(page.find("No plan exists"), std::string::npos);
}

TEST(Html, DoesNotPromiseMoreThanTheCertificates) {
  auto example = lending_example(1, 0.03);
  example.model.training.head_decrement = 0.01;
  expect_words(to_html(example.model, example.page, example.answers),
               {"The trained model itself is 0.01 above the best"});
  example.page.set.damping = 0.1;
  const std::string damped = to_html(example.model, example.page, example.answers);
  expect_words(damped, {"damping 0.1 in place of the objective", "not all models that are nearly"});
  EXPECT_EQ(damped.find("training objective is at most"), std::string::npos);
}

TEST(Html, ShowsScoresWhereTheLossHasNoProbabilities) {
  auto example = lending_example(2, 0.03);
  example.model.training.loss_kind = LossKind::squared;
  const std::string page = to_html(example.model, example.page, example.answers);
  EXPECT_EQ(markup_fault(page), "");
  expect_words(page, {"Score for approved = yes", "a score of 0"});
  EXPECT_EQ(page.find("robability"), std::string::npos);
}

}  // namespace
}  // namespace ellice
