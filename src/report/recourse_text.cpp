#include "report/recourse_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "data/spelling.hpp"
#include "ellice/report/sentence.hpp"
#include "model/deciding.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"
#include "request/enumeration.hpp"

namespace ellice {

namespace {

using enum TextTable::Align;

constexpr std::string_view dim = "\x1b[2m", bold = "\x1b[1m", plain = "\x1b[0m";

// Narrower than this a plan is not set, whatever the terminal.
constexpr std::size_t least_plan_width = 30;

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

/// Every line moved to the right; those marked in `dimmed` (by number) without emphasis. Colour is
/// added here, after the columns were laid out, because it takes no room.
std::string indented(const std::string& text, const std::vector<bool>& dimmed = {}) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t number = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const bool faint = number < dimmed.size() && dimmed[number];
    out += fmt::format("  {}{}{}\n", faint ? dim : "", line, faint ? plain : "");
    begin = end + 1;
  }
  return out;
}

std::string heading(const Answer& answer, const TextOptions& options) {
  std::string name = fmt::format("query {}", answer.query_index);
  if (answer.id) name += fmt::format(" ({})", *answer.id);
  if (answer.plan > 0) name += fmt::format(", plan {}", answer.plan + 1);
  name = visible(name);
  if (options.colour) name = fmt::format("{}{}{}", bold, name, plain);
  std::string text = fmt::format("{} · {}", name, status_words(answer.status));
  if (answer.counterfactual && answer.status != Status::already_robust) {
    text += fmt::format(" · {} · distance {}",
                        counted(static_cast<std::size_t>(answer.distance.changed), "change"),
                        rounded(answer.distance.l2));
  }
  return text + '\n';
}

/// The rows of a schema's features with arrows where they differ.
/// A scorecard's changes have points.
std::string change_table(const Schema& schema, const RawRow& from, const RawRow& to,
                         const TextOptions& options, const std::vector<Change>& changes = {}) {
  const auto points = [&](const std::string& feature) -> std::string {
    for (const Change& change : changes) {
      if (change.feature == feature && change.points) return signed_points(*change.points);
    }
    return "";
  };
  const bool has_points = std::any_of(changes.begin(), changes.end(),
                                      [](const Change& change) { return change.points; });
  std::vector<TextTable::Align> columns = {left, right, left, right, left};
  std::vector<std::string> header = {"feature", "now", "→", "change to", "unit"};
  if (has_points) {
    columns.push_back(right);
    header.emplace_back("points");
  }
  TextTable table(columns);
  table.header(header);
  std::vector<bool> dimmed = {false, false};  // header and its rule
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const bool same = from[j] == to[j];
    if (same && !options.all_features) continue;
    std::vector<std::string> cells = {feature_label(feature),
                                      display_start(feature, from[j], to[j]), same ? "" : "→",
                                      same ? "–" : display_value(feature, to[j]), feature.unit};
    if (has_points) cells.push_back(points(feature.name));
    table.row(cells);
    dimmed.push_back(same && options.colour);
  }
  return indented(table.text(), dimmed);
}

std::string standings(const Answer& answer, const Appraiser& appraiser) {
  const Appraisal now = appraiser.before(answer), then = appraiser.after(answer);
  TextTable table({left, right, right});
  table.header({appraiser.scale_name(), "now", "after"});
  // Of a model that decides elsewhere nobody uses the parameters at the minimum.
  const Model& model = appraiser.model();
  if (model.deployed) {
    const auto decided = [&](const RawRow& row) {
      return appraiser.display_score(deciding_logit(model, model.encoder.encode(row)));
    };
    table.row({"deployed model", decided(answer.query),
               decided(answer.counterfactual.value_or(answer.query))});
  }
  table.row({model.deployed ? "minimum of its objective" : "base model",
             appraiser.display_score(now.logit), appraiser.display_score(then.logit)});
  table.row({fmt::format("worst model, ε = {}", rounded(appraiser.epsilon_of(answer))),
             appraiser.display_score(now.robust_logit()),
             appraiser.display_score(then.robust_logit())});
  return indented(table.text()) +
         fmt::format("  robust {} {} {} {}\n", appraiser.has_many_classes() ? "lead" : "logit",
                     rounded_beside(then.robust_logit(), appraiser.threshold()),
                     then.robust_logit() >= appraiser.threshold() ? "≥" : "<",
                     rounded_beside(appraiser.threshold(), then.robust_logit()));
}

/// Why the base model declined, on one line; the plan is another matter.
std::string reasons_text(const Answer& answer, const Schema& schema) {
  if (!answer.reasons || answer.plan > 0) return "";
  std::vector<std::string> parts;
  for (const Reason& reason : answer.reasons->items) {
    parts.push_back(fmt::format(
        "{}{} {}", reason.code ? "[" + *reason.code + "] " : "", title_of(schema, reason.feature),
        reason.points ? points_text(*reason.points) : display_contribution(reason.contribution)));
  }
  std::string text =
      fmt::format("  declined, principal reasons ({}): {}\n",
                  answer.score ? "points, scorecard" : "logit, base model",
                  parts.empty() ? "none beyond the comparison's" : visible(joined(parts)));
  if (const std::vector<std::string> named = protected_reasons(*answer.reasons, schema);
      !named.empty()) {
    text += fmt::format("  WARNING: {}\n", visible(protected_warning(named)));
  }
  return text;
}

/// How long the plan lasts, in words.
std::string endurance_text(const Answer& answer) {
  if (!answer.robustness_radius) return "";
  std::string text = fmt::format("  robust up to ε = {}", rounded(*answer.robustness_radius));
  if (answer.predicted_survival) {
    text += fmt::format("; predicted to outlast {} of retrainings ({})", survival_number(answer),
                        survival_meaning(answer));
  }
  return text + '\n';
}

std::string why_infeasible(const Answer& answer, const Appraiser& appraiser,
                           const TextOptions& options) {
  const Infeasibility& why = *answer.infeasible;
  const bool has_rules = !why.rules.empty() || !why.cases.empty();
  std::string text =
      is_by_enumeration(why)
          ? "  proof: every combination of levels, whole numbers and grid values "
            "that is allowed was searched, and none passes\n"
      : has_rules
          ? "  proof: models and rules with weights that no allowed row satisfies together\n"
          : fmt::format("  proof: {} {} < {}\n", proof_phrase(answer),
                        rounded_beside(why.upper_bound, appraiser.threshold()),
                        rounded_beside(appraiser.threshold(), why.upper_bound));
  text += fmt::format("  largest ε with a plan: {} (asked: {})\n", largest_epsilon_text(why),
                      rounded(appraiser.epsilon()));
  const std::string_view blocked = why.blocking.is_proved ? "blocked by: " : "likely blocked by: ";
  for (std::size_t i = 0; i < why.blocking.constraints.size(); ++i) {
    text += fmt::format("  {:{}}{}\n", i == 0 ? blocked : "", blocked.size(),
                        visible(constraint_words(appraiser.schema(), why.blocking.constraints[i])));
  }
  if (!why.best.empty()) {
    text += fmt::format("  best reachable, robust logit {}{}:\n", rounded(why.best_robust_logit),
                        is_best_proved(why) ? ""
                                            : fmt::format(" (of what was searched; none has more "
                                                          "than {})",
                                                          rounded(why.best_bound)));
    text += differences(appraiser.schema(), answer.query, why.best).empty()
                ? "  the query itself\n"
                : change_table(appraiser.schema(), answer.query,
                               to_four_digits(why.best, answer.query), {.colour = options.colour});
  }
  return text;
}

/// Plans that would be too wide go on in further lines.
std::string trade_off_table(const std::vector<TradeOffLine>& lines, std::size_t width) {
  // The indent, the mark, «changes», a cost, «saves», and two blanks between columns.
  std::size_t taken = 2 + 1 + 2 + 7 + 2 + 4 + 2 + 5 + 2;
  for (const TradeOffLine& line : lines)
    taken = std::max(taken, 2 + 1 + 2 + 7 + 2 + display_width(line.cost) + 2 + 5 + 2);
  const std::size_t left_over = width > taken + least_plan_width ? width - taken : least_plan_width;
  TextTable table({left, right, right, right, left});
  table.header({"", "changes", "cost", "saves", "plan"});
  for (const TradeOffLine& line : lines) {
    const std::vector<std::string> pieces = wrapped(visible(line.what), left_over);
    table.row(
        {line.is_recommended ? "*" : "", line.changes, line.cost, line.saving, pieces.front()});
    for (std::size_t k = 1; k < pieces.size(); ++k) table.row({"", "", "", "", pieces[k]});
  }
  return indented(table.text());
}

/// All that follows the heading; `is_listed`: the plan stands in a table of several already.
std::string body(const Answer& answer, const Appraiser& appraiser, const TextOptions& options,
                 bool is_listed) {
  std::string text;
  if (!is_listed) text += reasons_text(answer, appraiser.schema());
  text += fmt::format("  {}\n", visible(sentence(answer, appraiser.schema())));
  if (!answer.reason.empty() && !is_listed) text += fmt::format("  {}\n", visible(answer.reason));
  if (answer.score) text += fmt::format("  score: {}\n", score_text(*answer.score));
  if (answer.counterfactual) {
    if (!answer.changes.empty() || options.all_features) {
      text += change_table(appraiser.schema(), answer.query, *answer.counterfactual, options,
                           answer.changes);
    }
    text += standings(answer, appraiser) + endurance_text(answer);
  }
  if (answer.infeasible) text += why_infeasible(answer, appraiser, options);
  for (const std::string& violation : answer.query_violations) {
    text += fmt::format("  the query itself breaks: {}\n",
                        visible(constraint_words(appraiser.schema(), violation)));
  }
  if (!answer.held.empty()) {
    text += fmt::format("  kept, as their kind is not searched: {}\n",
                        visible(titles_text(appraiser.schema(), answer.held)));
  }
  if (answer.attack) {
    text += "  " + visible(attack_text(*answer.attack)) + '\n';
  }
  // Without a plan the sentence holds the message already.
  if (!answer.message.empty() && (answer.counterfactual || answer.infeasible)) {
    text += fmt::format("  note: {}\n", visible(answer.message));
  }
  return text;
}

}  // namespace

std::string recourse_text(const Answer& answer, const Appraiser& appraiser,
                          const TextOptions& options) {
  return heading(answer, options) + body(answer, appraiser, options, false);
}

std::string trade_off_text(std::span<const Answer> plans, const Appraiser& appraiser,
                           const TextOptions& options) {
  const Answer& best = plans[recommended(plans, options.worth)];
  Answer headed = best;
  headed.plan = 0;
  headed.status = Status::certified;  // with more changes a plan may be nearer
  std::string text = heading(headed, options);
  text += reasons_text(plans.front(), appraiser.schema());
  text += trade_off_table(trade_off_lines(plans, appraiser.schema(), options.worth), options.width);
  text += fmt::format("  * recommended: {}\n", recommendation_rule(options.worth));
  if (const std::string& last = plans.back().reason; !last.empty())
    text += fmt::format("  {}\n", visible(last));
  return text + body(best, appraiser, options, true);
}

std::string summary_text(const BatchSummary& summary) {
  if (summary.queries() == 0) return "no queries\n";
  const auto share = [](std::size_t part, std::size_t whole) {
    return display_percent(static_cast<double>(part) / static_cast<double>(whole));
  };
  TextTable outcomes({left, right, right});
  outcomes.header({"outcome", "queries", "share"});
  for (std::size_t i = 0; i < EnumNames<Status>::names.size(); ++i) {
    const auto status = static_cast<Status>(i);
    const std::size_t count = summary.count(status);
    if (count == 0) continue;
    outcomes.row(
        {std::string(status_words(status)), grouped(count), share(count, summary.queries())});
  }
  std::string text = outcomes.text();
  if (summary.further_plans() > 0) {
    text += fmt::format("and {} beyond the first\n", counted(summary.further_plans(), "plan"));
  }
  if (summary.distances().empty()) return text;

  constexpr std::array<double, 5> shares = {0, 0.1, 0.5, 0.9, 1};
  TextTable spread({left, right, right, right, right, right});
  spread.header({"certified plans", "least", "10 %", "median", "90 %", "most"});
  std::vector<std::string> distances = {"distance"}, changes = {"changes"};
  for (const double distance : summary.distance_quantiles(shares)) {
    distances.push_back(rounded(distance));
  }
  for (const double q : shares) changes.push_back(std::to_string(summary.changes_quantile(q)));
  spread.row(distances);
  spread.row(changes);

  TextTable features({left, right, right, left});
  features.header({"feature", "changed", "share", "how"});
  for (const std::size_t j : summary.most_changed()) {
    const FeatureUse& use = summary.features()[j];
    const Feature& feature = summary.schema().features[j];
    features.row({feature_label(feature), grouped(use.changed),
                  share(use.changed, summary.distances().size()), describe(use, feature)});
  }
  return text + '\n' + spread.text() + '\n' + features.text();
}

}  // namespace ellice
