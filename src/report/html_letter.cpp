#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ellice/report/sentence.hpp"
#include "model/deciding.hpp"
#include "report/display.hpp"
#include "report/html_parts.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice::html {

namespace {

using svg::escape;

std::string part_heading(std::string_view question, std::string_view name) {
  return fmt::format("<h4>{} <span class=\"part-name\">({})</span></h4>\n", question, name);
}

std::string item(const Reason& reason, double largest, std::size_t rank, const Schema& schema) {
  const std::optional<std::size_t> index = schema.find(reason.feature);
  const bool fixed = index && schema.features[*index].immutable;
  const std::string points = display_contribution(reason.contribution);
  return fmt::format(
      R"(<li><span class="rank">{}</span><span class="words">{}{}{}</span>{}<span class="num">{}</span></li>
)",
      rank, reason.code ? "<span class=\"code\">" + escape(*reason.code) + "</span> " : "",
      escape(capitalized(reason.text)),
      fixed ? " <span class=\"quiet\">(cannot be changed)</span>" : "",
      svg::bar(
          {.share = largest > 0 ? -reason.contribution / largest : 0,
           .tone = "fill-warn",
           .title = fmt::format("{}: {} of the score", title_of(schema, reason.feature), points)}),
      points);
}

std::string reasons_part(const Reasons& reasons, const Appraiser& appraiser) {
  std::string text = "<section class=\"part why\">" +
                     part_heading("Why the application was declined", "principal reasons");
  if (reasons.items.empty()) {
    text +=
        "<p>Nothing counts against this application more than it does in the comparison; the "
        "comparison itself falls short of what is needed.</p>\n";
  } else {
    text += "<ol class=\"reasons\">\n";
    const double largest = -reasons.items.front().contribution;
    for (std::size_t i = 0; i < reasons.items.size(); ++i) {
      text += item(reasons.items[i], largest, i + 1, appraiser.schema());
    }
    text += "</ol>\n";
  }
  if (const std::vector<std::string> named = protected_reasons(reasons, appraiser.schema());
      !named.empty()) {
    text += "<p class=\"note warning\" role=\"note\"><strong>Warning to the operator:</strong> " +
            escape(protected_warning(named)) + ".</p>\n";
  }
  return text +
         fmt::format(
             "<p class=\"caption\">What counted most against this application in the decision "
             "of the trained model, compared with {}. The bars are points of its score "
             "(logit): <span class=\"num\">{}</span> here, <span class=\"num\">{}</span> for "
             "the comparison, <span class=\"num\">{}</span> needed.</p></section>\n",
             escape(reasons.reference), signed_number(reasons.logit),
             signed_number(reasons.reference_logit), signed_number(appraiser.threshold()));
}

/// What the plan is about, which is not what the reasons are about.
std::string plan_scope(const Answer& answer) {
  const bool first_order = answer.certificate && is_first_order(answer.certificate->set);
  const std::string_view to_order = first_order ? ", to first order" : "";
  switch (answer.status) {
    case Status::optimal:
    case Status::certified:
      return fmt::format("the plan holds for every model of the set{}", to_order);
    case Status::reduced:
      return fmt::format("the plan holds for every model of a smaller set{}", to_order);
    case Status::uncertified:
      return "the plan was not certified for the models of the set";
    default:
      return "a plan would have to hold for every model of the set";
  }
}

}  // namespace

std::string why_declined(const Answer& answer, const Appraiser& appraiser) {
  // A person with several plans was declined once.
  if (answer.query.empty() || answer.plan > 0) return "";
  if (answer.reasons) return reasons_part(*answer.reasons, appraiser);
  if (appraiser.model().network.outputs() > 1) return "";
  const double logit =
      deciding_logit(appraiser.model(), appraiser.model().encoder.encode(answer.query));
  if (logit < appraiser.threshold() || answer.status == Status::already_robust) return "";
  return "<p class=\"note\">The trained model accepts this application: there is no refusal to "
         "give "
         "reasons for. The plan makes it hold for the other models of the set, too.</p>\n";
}

std::string plan_heading(const Answer& answer) {
  if (answer.query.empty()) return "";
  return part_heading("What you can do", "recourse plan");
}

std::string two_things(const Answer& answer) {
  if (!answer.reasons) return "";
  return fmt::format(
      "<p class=\"caption two-things\">Reasons and plan are two different things: the reasons "
      "describe one decision, that of the trained (base) model; {}. It need not undo the "
      "reasons, which may include what nobody can change.</p>\n",
      plan_scope(answer));
}

}  // namespace ellice::html
