#include <fmt/format.h>

#include <algorithm>

#include "ellice/core/json.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/report/sentence.hpp"
#include "report/display.hpp"
#include "report/html_parts.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"
#include "request/enumeration.hpp"

namespace ellice::html {

namespace {

using svg::escape;

/// The sentence with its numbers kept whole and set off.
std::string sentence_markup(const Answer& answer, const Schema& schema) {
  std::vector<std::string> parts;
  for (const PlanStep& step : plan_steps(answer, schema)) {
    const std::string verb = parts.empty() ? capitalized(step.verb) : step.verb;
    const std::string unit = step.unit.empty() ? "" : " " + escape(step.unit);
    parts.push_back(fmt::format(
        R"({} <strong>{}</strong> from <span class="num">{}</span> to <strong class="num">{}{}</strong>)",
        verb, escape(step.feature), escape(step.from), escape(step.to), unit));
  }
  return "<p class=\"sentence\">" + joined(parts) + escape(outcome_clause(answer, schema)) +
         "</p>\n";
}

std::string heading(const Answer& answer) {
  std::string name = answer.id ? escape(*answer.id) : fmt::format("Query {}", answer.query_index);
  if (answer.id) name += fmt::format(" <span class=\"quiet\">query {}</span>", answer.query_index);
  if (answer.plan > 0)
    name += fmt::format(" <span class=\"quiet\">plan {}</span>", answer.plan + 1);
  return fmt::format(
      R"(<div class="card-head"><h3>{}</h3><span class="badge {}">{}</span></div>
)",
      name, tone(answer.status), capitalized(std::string(status_words(answer.status))));
}

/// Places scores on a bar: probabilities as they are, other scores between the extremes shown.
class ScoreScale {
 public:
  ScoreScale(const Appraiser& appraiser, std::initializer_list<double> logits)
      : probability_(appraiser.has_probabilities()) {
    const auto [low, high] =
        std::minmax({std::min(logits), std::max(logits), appraiser.threshold()});
    const double margin = std::max(0.1 * (high - low), 1e-9);
    low_ = low - margin;
    high_ = high + margin;
  }
  [[nodiscard]] double share(double logit) const {
    return probability_ ? sigmoid(logit) : (logit - low_) / (high_ - low_);
  }

 private:
  bool probability_;
  double low_ = 0;
  double high_ = 1;
};

std::string score_row(std::string_view when, double logit, std::string_view bar_tone,
                      const ScoreScale& scale, const Appraiser& appraiser) {
  const std::string score = appraiser.display_score(logit);
  return fmt::format(R"(<div class="score"><span>{}</span>{}<span class="num">{}</span></div>)",
                     when,
                     svg::bar({.share = scale.share(logit),
                               .mark = scale.share(appraiser.threshold()),
                               .tone = std::string(bar_tone),
                               .title = fmt::format("{}: {}", when, score)}),
                     escape(score));
}

std::string standings(const Judgement& now, const Judgement* then, const Appraiser& appraiser) {
  const Judgement& last = then != nullptr ? *then : now;
  const ScoreScale scale(appraiser,
                         {now.logit, now.robust_logit(), last.logit, last.robust_logit()});
  const auto block = [&](std::string_view name, double before, double after) {
    std::string text = fmt::format("<h5>{}</h5>", name);
    text += score_row("now", before, "fill-now", scale, appraiser);
    if (then != nullptr) text += score_row("after", after, "fill", scale, appraiser);
    return text;
  };
  return fmt::format("<div class=\"panel\"><h4>{}</h4>",
                     escape(capitalized(appraiser.scale_name()))) +
         block("The trained model", now.logit, last.logit) +
         block("The strictest model of the set", now.robust_logit(), last.robust_logit()) +
         fmt::format("<p class=\"key\"><span class=\"key-mark\"></span>needed: {}</p></div>\n",
                     escape(appraiser.display_score(appraiser.threshold())));
}

/// `value` and `text` are markup.
std::string fact(std::string_view name, const std::string& value, std::string_view text) {
  return fmt::format(R"(<div><dt>{}</dt><dd>{}</dd><dd class="quiet">{}</dd></div>
)",
                     escape(name), value, text);
}

/// How much of a move lies along the k directions on which near-optimal models agree most.
std::string share_fact(std::string_view name, double share, double chance) {
  const std::string percent = display_percent(share);
  return fact(name,
              fmt::format(R"(<span class="num">{}</span>{})", escape(percent),
                          svg::bar({.share = share,
                                    .mark = chance,
                                    .tone = "fill",
                                    .title = fmt::format("{}: {}", name, percent)})),
              fmt::format("of the move; mark: a random direction, <span class=\"whole\">{}</span>",
                          escape(display_percent(chance))));
}

std::string endurance(const Answer& answer) {
  if (!answer.predicted_survival) return "";
  return "<dl class=\"facts alone\">" +
         fact("Outlasts retraining",
              fmt::format(R"(<span class="num">{}</span>)", escape(survival_number(answer))),
              "predicted: " + escape(survival_meaning(answer))) +
         "</dl>\n";
}

/// What no officer can use.
std::string facts(const Answer& answer, const Judgement& now, const Judgement& then,
                  const AlignmentMeter& meter) {
  std::string text =
      "<details class=\"experts\"><summary>For experts: distance, penalty, directions</summary><dl "
      "class=\"facts\">";
  const std::string apart = meter.applies() ? "logits from the trained to the strictest model"
                                            : "of lead from the trained to the strictest model";
  if (answer.robustness_radius) {
    text +=
        fact("Robust up to ε",
             fmt::format(R"(<span class="num">{}</span>)", rounded(*answer.robustness_radius, 3)),
             "the largest radius at which every model of the set accepts this row");
  }
  if (answer.changes.empty()) {
    text += fact("Robustness penalty",
                 fmt::format(R"(<span class="num">{}</span>)", rounded(now.penalty, 3)), apart);
  } else {
    text += fact("Robustness penalty",
                 fmt::format(R"(<span class="num">{} → {}</span>)", rounded(now.penalty, 3),
                             rounded(then.penalty, 3)),
                 apart + ", now and after");
    if (meter.applies()) {
      const Alignment along = meter.of(answer.query, *answer.counterfactual);
      text +=
          share_fact("Along the direction models agree on most", along.top_one, meter.by_chance(1));
      text +=
          share_fact("Along the first three such directions", along.top_three, meter.by_chance(3));
    }
    std::string proved;
    if (answer.status == Status::optimal) {
      proved = "; proved to be the nearest";
    } else if (answer.gap) {
      proved = fmt::format("; at most <span class=\"whole\">{}</span> could be saved",
                           escape(display_percent(*answer.gap)));
    }
    text +=
        fact("Distance", fmt::format("<span class=\"num\">{}</span>", rounded(answer.distance.l2)),
             "in standard deviations" + proved);
  }
  return text + "</dl></details>\n";
}

std::string unchanged(const Answer& answer, const Schema& schema) {
  std::string items;
  std::size_t count = 0;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    if (answer.counterfactual && (*answer.counterfactual)[j] != answer.query[j]) continue;
    ++count;
    items += fmt::format("<div><dt>{}{}</dt><dd class=\"num\">{}</dd></div>",
                         escape(feature_label(feature)),
                         feature.immutable ? " <span class=\"quiet\">(cannot change)</span>" : "",
                         escape(display_with_unit(feature, answer.query[j])));
  }
  if (count == 0) return "";
  return fmt::format("<details><summary>{} {}</summary><dl class=\"values\">{}</dl></details>\n",
                     answer.counterfactual ? "Unchanged:" : "The query:",
                     count == 1 ? "1 feature" : grouped(count) + " features", items);
}

std::string certificate(const Answer& answer, const Schema& schema) {
  const Certificate& certificate = *answer.certificate;
  const std::string_view number = certificate.rivals.empty() ? "robust logit" : "robust lead";
  return fmt::format(
      R"(<details class="certificate"><summary>Certificate: {} <span class="num">{}</span> ≥ <span class="num">{}</span></summary>
<p>{}</p><p class="quiet">Model <code>{}</code></p><pre>{}</pre></details>
)",
      number, rounded_beside(answer.robust_logit, certificate.threshold),
      rounded_beside(certificate.threshold, answer.robust_logit), escape(certificate.claim),
      escape(certificate.model_sha256), escape(to_text(to_json(certificate, schema))));
}

std::string infeasibility(const Answer& answer, const Appraiser& appraiser) {
  const Infeasibility& why = *answer.infeasible;
  const bool has_rules = !why.rules.empty() || !why.cases.empty();
  std::string text =
      R"(<div class="panel"><h4>Why there is none</h4><p>The proof below weighs models of the set and rules so that no row within the ranges satisfies them together. Anyone can check this: it is the maximum of one linear function over the allowed ranges.</p>)";
  if (is_by_enumeration(why)) {
    text =
        R"(<div class="panel"><h4>Why there is none</h4><p>Every combination of levels, whole numbers and grid values that is allowed was searched, and none passes.</p>)";
  } else if (!has_rules) {
    text = fmt::format(
        R"(<div class="panel"><h4>Why there is none</h4><p>{} <span class="num">{}</span>, below the <span class="num">{}</span> that is needed. Anyone can check this: it is the maximum of one linear function over the allowed ranges.</p>)",
        capitalized(proof_phrase(answer)), rounded_beside(why.upper_bound, appraiser.threshold()),
        rounded_beside(appraiser.threshold(), why.upper_bound));
  }
  if (!why.blocking.constraints.empty()) {
    text +=
        why.blocking.is_proved
            ? "<p>These constraints together rule it out, and none of them is superfluous:</p><ul>"
            : "<p>These constraints together rule it out; most likely none of them is "
              "superfluous:</p><ul>";
    for (const std::string& constraint : why.blocking.constraints) {
      text += "<li>" + escape(constraint_words(appraiser.schema(), constraint)) + "</li>";
    }
    text += "</ul>";
  }
  text += "</div>\n<div class=\"panel\"><h4>How robust a plan could be</h4>";
  const double possible = why.max_epsilon.lower.value_or(0);
  const double most = std::max(appraiser.epsilon(), possible);
  text += fmt::format(
      R"(<div class="score"><span>possible</span>{}<span class="num">{}</span></div><div class="score"><span>asked</span>{}<span class="num">{}</span></div><p class="key">the largest ε with a plan, and the ε that was asked</p>)",
      svg::bar({.share = most > 0 ? possible / most : 0,
                .tone = "fill",
                .title = "largest ε with a plan"}),
      escape(largest_epsilon_text(why)),
      svg::bar({.share = most > 0 ? appraiser.epsilon() / most : 0,
                .tone = "fill-warn",
                .title = "ε that was asked"}),
      rounded(appraiser.epsilon(), 3));
  return text + "</div>\n";
}

std::string best_reachable(const Answer& answer, const Appraiser& appraiser) {
  const Infeasibility& why = *answer.infeasible;
  if (why.best.empty()) return "";
  const std::vector<Change> changes =
      differences(appraiser.schema(), answer.query, to_four_digits(why.best, answer.query));
  std::string text =
      fmt::format(R"(<details><summary>The best that {}: {} from the strictest model</summary>)",
                  is_best_proved(why) ? "is allowed" : "was found among what is allowed",
                  escape(appraiser.display_score(why.best_robust_logit)));
  text += changes.empty() ? "<p>It is the query itself.</p>"
                          : change_table(changes, appraiser.model().encoder, "feature");
  return text + "</details>\n";
}

std::string proof(const Answer& answer, const Schema& schema) {
  const Json whole = to_json(answer, schema);
  return fmt::format("<details><summary>Proof as JSON</summary><pre>{}</pre></details>\n",
                     escape(to_text(whole.at("infeasible"))));
}

std::string notes(const Answer& answer, const Schema& schema) {
  std::string text;
  if (!answer.reason.empty()) {
    text += "<p class=\"note\">" + escape(capitalized(answer.reason)) + ".</p>\n";
  }
  if (!answer.query_violations.empty()) {
    std::string list;
    for (const std::string& violation : answer.query_violations) {
      list += (list.empty() ? "" : "; ") + escape(constraint_words(schema, violation));
    }
    text += "<p class=\"note\">The query itself breaks: " + list + ".</p>\n";
  }
  if (!answer.held.empty()) {
    text += "<p class=\"note\">Kept as they are, because their kind is not searched: " +
            escape(titles_text(schema, answer.held)) + ".</p>\n";
  }
  if (answer.attack) {
    text += "<p class=\"note\">" + escape(capitalized(attack_text(*answer.attack))) + "</p>\n";
  }
  // Without a plan the sentence holds the message already.
  if (!answer.message.empty() && (answer.counterfactual || answer.infeasible)) {
    text += "<p class=\"note\">" + escape(answer.message) + "</p>\n";
  }
  return text;
}

/// A person whom every model accepts for every ε has no curve worth drawing.
bool says_something(const FrontierCurve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(), [](const FrontierPoint& point) {
    return !point.feasible || point.distance > 0;
  });
}

}  // namespace

std::string card(const Answer& answer, const FrontierCurve* curve, const Appraiser& appraiser,
                 const AlignmentMeter& meter, const std::string& trade_off) {
  const Schema& schema = appraiser.schema();
  std::string text = fmt::format(
      R"(<article class="card" data-status="{}" data-text="{} {}">
)",
      enum_name(answer.status), answer.query_index, escape(answer.id.value_or("")));
  text += heading(answer) + why_declined(answer, appraiser);
  text += "<section class=\"part plan\">" + plan_heading(answer) + sentence_markup(answer, schema) +
          notes(answer, schema) + trade_off;
  if (answer.counterfactual) {
    text += change_table(answer.changes, appraiser.model().encoder, "what changes");
  }
  text += two_things(answer) + "</section>\n<div class=\"panels\">\n";
  if (!answer.query.empty()) {
    const Judgement now = appraiser.before(answer), then = appraiser.after(answer);
    text += standings(now, answer.changes.empty() ? nullptr : &then, appraiser);
  }
  if (answer.infeasible) text += infeasibility(answer, appraiser);
  if (curve != nullptr && says_something(*curve)) {
    text += "<div class=\"panel\"><h4>What robustness costs</h4>" +
            frontier(*curve, appraiser.epsilon()) + "</div>\n";
  }
  text += "</div>\n";
  if (answer.counterfactual) {
    text += endurance(answer);
    text += facts(answer, appraiser.before(answer), appraiser.after(answer), meter);
  }
  if (answer.infeasible) text += best_reachable(answer, appraiser) + proof(answer, schema);
  if (!answer.query.empty()) text += unchanged(answer, schema);
  if (answer.certificate) text += certificate(answer, schema);
  return text + "</article>\n";
}

}  // namespace ellice::html
