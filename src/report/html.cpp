#include "report/html.hpp"

#include <fmt/format.h>

#include <map>

#include "data/digit.hpp"
#include "ellice/core/version.hpp"
#include "ellice/report/sentence.hpp"
#include "report/display.hpp"
#include "report/html_parts.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

using svg::escape;

/// Whether a blank at this place stands between groups of a number's digits: «15 300».
bool is_between_groups(std::string_view text, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  return at > 0 && digit(at - 1) && digit(at + 1) && digit(at + 2) && digit(at + 3) &&
         !digit(at + 4);
}

/// The markup with blanks that do not break inside of numbers; tags, whose pictures have numbers
/// with blanks between them, stay as they are.
std::string with_whole_numbers(std::string_view markup) {
  std::string out;
  out.reserve(markup.size() + markup.size() / 64);
  bool is_tag = false;
  for (std::size_t i = 0; i < markup.size(); ++i) {
    const char c = markup[i];
    if (c == '<') is_tag = true;
    if (c == '>') is_tag = false;
    if (c == ' ' && !is_tag && is_between_groups(markup, i)) {
      out += "\u00A0";
    } else {
      out += c;
    }
  }
  return out;
}

std::string toolbar(const BatchSummary& summary) {
  std::string options;
  for (std::size_t i = 0; i < EnumNames<Status>::names.size(); ++i) {
    const auto status = static_cast<Status>(i);
    if (summary.count(status) == 0) continue;
    options +=
        fmt::format(R"(<option value="{}">{} ({})</option>)", enum_name(status),
                    capitalized(std::string(status_words(status))), grouped(summary.count(status)));
  }
  return fmt::format(
      R"(<div class="toolbar" hidden><label>Show <select id="by-status"><option value="">everyone</option>{}</select></label>
<label>Find <input id="by-text" type="search" placeholder="query number or id"></label>
<button type="button" id="open-all">Open all details</button>
<button type="button" id="letters" title="reasons and plans alone, one page each when printed">Letters only</button></div>
)",
      options);
}

}  // namespace

struct HtmlReport::State {
  State(const Model& the_model, PageOptions the_options)
      : model(&the_model),
        options(std::move(the_options)),
        appraiser(the_model, options.epsilon, options.threshold, options.set),
        meter(the_model),
        summary(the_model.schema()) {}

  const Model* model;
  PageOptions options;
  Appraiser appraiser;
  AlignmentMeter meter;
  BatchSummary summary;
  std::string cards = {};
  std::size_t shown = 0;
  std::size_t left_out = 0;
};

HtmlReport::HtmlReport(const Model& model, PageOptions options)
    : state_(std::make_unique<State>(model, std::move(options))) {}
HtmlReport::~HtmlReport() = default;
HtmlReport::HtmlReport(HtmlReport&&) noexcept = default;
HtmlReport& HtmlReport::operator=(HtmlReport&&) noexcept = default;

void HtmlReport::add(const Answer& answer, const FrontierCurve* curve) {
  state_->summary.add(answer);
  if (state_->shown == state_->options.max_cards) {
    ++state_->left_out;
    return;
  }
  ++state_->shown;
  state_->cards += html::card(answer, curve, state_->appraiser, state_->meter);
}

void HtmlReport::add_trade_off(std::span<const Answer> plans, const FrontierCurve* curve) {
  Answer shown = plans[recommended(plans, state_->options.worth)];
  shown.plan = 0;                    // what is recommended counts as the person's plan
  shown.status = Status::certified;  // with more changes a plan may be nearer
  shown.gap.reset();
  shown.reasons = plans.front().reasons;
  shown.reason.clear();
  state_->summary.add(shown);
  if (state_->shown == state_->options.max_cards) {
    ++state_->left_out;
    return;
  }
  ++state_->shown;
  state_->cards +=
      html::card(shown, curve, state_->appraiser, state_->meter,
                 html::trade_off(plans, state_->appraiser.schema(), state_->options.worth));
}

std::string HtmlReport::text() const {
  const State& s = *state_;
  const std::optional<Contest>& contest = s.options.set.contest;
  const std::string wanted =
      contest ? answer_text(s.model->schema(),
                            class_text(*s.model, acceptable_classes(*s.model, *contest)))
              : favourable_answer(s.model->schema());
  std::string out = fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>
{}</style>
</head>
<body>
{}
<header class="page-head"><h1>{}</h1>
<p class="lead">What each person can change so that the answer becomes <strong>{}</strong>, and stays so when the model is retrained.</p></header>
<main>
)",
                                escape(s.options.title), html::style_sheet(), svg::definitions(),
                                escape(s.options.title), escape(wanted));
  out += with_whole_numbers(html::overview(s.summary));
  out += with_whole_numbers(html::request(*s.model, s.options));
  if (s.shown > 0) {
    out += "<section class=\"people\"><h2>Person by person</h2>\n" + toolbar(s.summary) +
           with_whole_numbers(s.cards);
    out += "<p class=\"none-match\" hidden>No card matches.</p></section>\n";
  }
  if (s.left_out > 0) {
    out += fmt::format(
        "<p class=\"note\">{} further {} counted above but not shown here: the page is limited to "
        "{} cards.</p>\n",
        grouped(s.left_out), s.left_out == 1 ? "answer is" : "answers are", grouped(s.shown));
  }
  out += fmt::format(
      "</main>\n<footer><p>Written by ellice {}. The page holds everything it shows and loads "
      "nothing. Every certificate can be checked again with <code>ellice verify</code> from the "
      "model file alone.</p></footer>\n<script>\n{}</script>\n</body>\n</html>\n",
      escape(version().number), html::script());
  return out;
}

std::string to_html(const Model& model, const PageOptions& options,
                    const std::vector<Answer>& answers, const std::vector<FrontierCurve>& curves) {
  std::map<std::size_t, const FrontierCurve*> by_query;
  for (const FrontierCurve& curve : curves) by_query[curve.query_index] = &curve;
  HtmlReport report(model, options);
  for (const Answer& answer : answers) {
    const auto found = by_query.find(answer.query_index);
    const bool drawn = answer.plan == 0 && found != by_query.end();
    report.add(answer, drawn ? found->second : nullptr);
  }
  return report.text();
}

}  // namespace ellice
