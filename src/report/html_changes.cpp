#include <fmt/format.h>

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/report/sentence.hpp"
#include "report/display.hpp"
#include "report/html_parts.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice::html {

namespace {

using svg::escape;

std::size_t feature_index(const Schema& schema, const std::string& name) {
  const std::optional<std::size_t> index = schema.find(name);
  require(index.has_value(), "the schema has no feature \"{}\"", name);
  return *index;
}

/// Levels without an order: all of them by name while they are few.
std::string chips(const Feature& feature, const Change& change) {
  constexpr std::size_t few = 6;
  const auto& from = std::get<std::string>(change.from);
  const auto& to = std::get<std::string>(change.to);
  std::string out = "<span class=\"chips\">";
  for (const std::string& level : feature.levels) {
    if (level != from && level != to && feature.levels.size() > few) continue;
    out += fmt::format(R"(<span class="chip{}">{}</span>)",
                       level == from ? " was"
                       : level == to ? " becomes"
                                     : "",
                       escape(feature.level_text(level)));
  }
  return out + "</span>";
}

std::string number_picture(const Feature& feature, const Change& change, double lower,
                           double upper) {
  return svg::dumbbell(
      {.lower = lower,
       .upper = upper,
       .now = std::get<double>(change.from),
       .then = std::get<double>(change.to),
       .lower_text = display_rounded(lower, 4),
       .upper_text = display_rounded(upper, 4),
       .title = fmt::format("{}: from {} to {}, training range {} to {}", feature.title(),
                            display_start(change.from, change.to), display_value(change.to),
                            display_rounded(lower, 4), display_rounded(upper, 4))});
}

std::string ordinal_picture(const Feature& feature, const Change& change) {
  const auto place = [&](const Value& value) {
    return static_cast<double>(feature.level_index(std::get<std::string>(value)).value_or(0));
  };
  return svg::dumbbell({.lower = 0,
                        .upper = static_cast<double>(feature.levels.size() - 1),
                        .now = place(change.from),
                        .then = place(change.to),
                        .lower_text = feature.level_text(feature.levels.front()),
                        .upper_text = feature.level_text(feature.levels.back()),
                        .stops = static_cast<int>(feature.levels.size()),
                        .title = fmt::format("{}: from {} to {}", feature.title(),
                                             display_start(feature, change.from, change.to),
                                             display_value(feature, change.to))});
}

}  // namespace

std::string change_picture(const Change& change, const Encoder& encoder) {
  const std::size_t j = feature_index(encoder.schema(), change.feature);
  const Feature& feature = encoder.schema().features[j];
  if (feature.is_number()) {
    const ColumnStatistics seen = encoder.statistics(j);
    return number_picture(feature, change, seen.min, seen.max);
  }
  if (feature.kind == FeatureKind::ordinal) return ordinal_picture(feature, change);
  return chips(feature, change);
}

std::string change_table(const std::vector<Change>& changes, const Encoder& encoder,
                         std::string_view heading) {
  if (changes.empty()) return "";
  std::string rows;
  for (const Change& change : changes) {
    const Feature& feature =
        encoder.schema().features[feature_index(encoder.schema(), change.feature)];
    rows += fmt::format(
        R"(<tr><th scope="row">{}</th><td class="num">{}</td><td class="arrow" aria-hidden="true">→</td><td class="num new">{}</td><td class="unit">{}</td><td class="picture">{}</td></tr>
)",
        escape(feature_label(feature)), escape(display_start(feature, change.from, change.to)),
        escape(display_value(feature, change.to)), escape(feature.unit),
        change_picture(change, encoder));
  }
  return fmt::format(
      R"(<table class="changes"><thead><tr><th scope="col">{}</th><th scope="col" class="num">now</th><th></th><th scope="col" class="num">change to</th><th></th><th scope="col" class="picture">within the range seen in training</th></tr></thead><tbody>
{}</tbody></table>
)",
      escape(heading), rows);
}

std::string trade_off(std::span<const Answer> plans, const Schema& schema, double worth) {
  const std::string& last = plans.back().reason;
  std::string rows;
  for (const TradeOffLine& line : trade_off_lines(plans, schema, worth)) {
    rows += fmt::format(
        R"(<tr{}><td class="num">{}</td><td class="num">{}</td><td class="num">{}</td><td>{}{}</td></tr>
)",
        line.is_recommended ? " class=\"recommended\"" : "", line.changes, escape(line.cost),
        escape(line.saving), escape(capitalized(line.what)),
        line.is_recommended ? " <strong>(recommended)</strong>" : "");
  }
  return fmt::format(
      R"(<table class="changes trade-off"><thead><tr><th scope="col" class="num">changes</th><th scope="col" class="num">cost</th><th scope="col" class="num">saves</th><th scope="col">plan</th></tr></thead><tbody>
{}</tbody></table>
<p class="caption">The cheapest plan that was found with so many changes; recommended is {}.{}</p>
)",
      rows, escape(recommendation_rule(worth)),
      last.empty() ? "" : " " + escape(capitalized(last)) + ".");
}

std::string frontier(const FrontierCurve& curve, double epsilon) {
  svg::LineChart chart{
      .x_axis = "ε", .y_axis = "distance", .title = "Distance of the nearest plan against ε"};
  for (const FrontierPoint& point : curve.points) {
    if (point.feasible) chart.points.push_back({point.epsilon, point.distance});
  }
  const double last = curve.points.empty() ? 0 : curve.points.back().epsilon;
  chart.marks.push_back({epsilon, "asked: ε = " + rounded(epsilon, 3), "asked"});
  std::string caption =
      "How far this person would have to move if more (or fewer) models were to agree, within the "
      "same limits and with no more changes than the plan.";
  if (curve.max_epsilon) {
    const std::string limit = rounded(*curve.max_epsilon, 4);
    caption += curve.is_proved
                   ? fmt::format(" No plan exists beyond ε = {}.", limit)
                   : fmt::format(" No plan was found beyond ε = {}, which proves nothing.", limit);
    // A limit far to the right would squeeze the curve into a corner; the caption names it.
    if (*curve.max_epsilon <= 1.5 * std::max(last, epsilon)) {
      chart.marks.push_back({*curve.max_epsilon,
                             (curve.is_proved ? "no plan beyond " : "none found beyond ") +
                                 rounded(*curve.max_epsilon, 3),
                             "limit"});
      chart.closed_from = curve.max_epsilon;
    }
  }
  return fmt::format("<figure class=\"frontier\">{}<figcaption>{}</figcaption></figure>\n",
                     svg::line_chart(chart), escape(caption));
}

}  // namespace ellice::html
