#include <fmt/format.h>

#include <array>

#include "ellice/core/number_text.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/report/sentence.hpp"
#include "report/display.hpp"
#include "report/html_parts.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"
#include "request/cost_prices.hpp"

namespace ellice::html {

namespace {

using svg::escape;

std::string share_text(std::size_t part, std::size_t whole) {
  return whole == 0
             ? "–"
             : escape(display_percent(static_cast<double>(part) / static_cast<double>(whole)));
}

std::string figure_of(std::string_view number, std::string_view text) {
  return fmt::format(R"(<div class="figure"><span class="number">{}</span><span>{}</span></div>)",
                     number, text);
}

std::string outcomes(const BatchSummary& summary) {
  std::vector<svg::Segment> segments;
  std::string legend;
  for (std::size_t i = 0; i < EnumNames<Status>::names.size(); ++i) {
    const auto status = static_cast<Status>(i);
    const std::size_t count = summary.count(status);
    if (count == 0) continue;
    const std::string words = capitalized(std::string(status_words(status)));
    segments.push_back({.size = static_cast<double>(count),
                        .tone = tone(status),
                        .title = words + ": " + grouped(count)});
    legend += fmt::format(
        R"(<li><span class="swatch {}"></span>{} <strong class="num">{}</strong> <span class="quiet">{}</span></li>)",
        tone(status), words, grouped(count), share_text(count, summary.queries()));
  }
  return svg::stacked_bar(segments, "Queries by outcome") + "<ul class=\"legend\">" + legend +
         "</ul>\n";
}

std::string feature_bars(const BatchSummary& summary) {
  const std::size_t plans = summary.distances().size();
  std::string rows;
  for (const std::size_t j : summary.most_changed()) {
    const FeatureUse& use = summary.features()[j];
    const Feature& feature = summary.schema().features[j];
    const double share = static_cast<double>(use.changed) / static_cast<double>(plans);
    rows += fmt::format(
        R"(<div class="use"><span class="name">{}</span>{}<span class="num">{}</span><span class="how">{}</span></div>
)",
        escape(feature_label(feature)),
        svg::bar({.share = share,
                  .tone = "fill",
                  .title = fmt::format("{}: changed in {} of {} plans", feature.title(),
                                       use.changed, plans)}),
        grouped(use.changed), escape(describe(use, feature)));
  }
  return rows;
}

std::string cost_words(const Cost& cost) {
  std::string text = fmt::format("{}: {}; weighted as the schema says", enum_name(cost.kind),
                                 prices_of(cost.kind).words);
  if (cost.sparsity_weight > 0) {
    text += fmt::format("; plus {} per changed feature", number_text(cost.sparsity_weight));
  }
  return text;
}

std::string promise(const Model& model, const PageOptions& options) {
  if (options.epsilon == 0) {
    return "ε = 0: only the trained model itself is considered. A plan is the nearest change that "
           "this one model accepts, and need not survive retraining.";
  }
  const std::string epsilon = display_rounded(options.epsilon, 4);
  if (is_first_order(options.set.kind)) {
    return fmt::format(
        "Every plan is accepted by the network and, to first order in its parameters, by every "
        "network within the radius ε = {} around it. The real network at the worst of these "
        "parameters was evaluated for each plan and accepts it, too. More is not proved.",
        epsilon);
  }
  const bool linear = model.network.is_linear();
  std::string who = "the trained one";
  if (options.set.kind == SetKind::ensemble) {
    who = fmt::format("one of the {} models", options.set.members.size() + 1);
  }
  const std::string_view part = linear ? "" : " and differs from it in the last layer only";
  if (options.set.damping) {
    return fmt::format(
        "Every plan is accepted by every model of the ellipsoid of size ε = {} around {}{}, with "
        "the damping {} in place of the objective's own l2. These are not all models that are "
        "nearly as good.",
        epsilon, who, linear ? "" : " that differs from it in the last layer only",
        number_text(*options.set.damping));
  }
  const double objective = model.training.objective;
  const std::string share =
      objective > 0
          ? fmt::format(" (that is {} of it)", display_percent(options.epsilon / objective))
          : "";
  const bool exact = model.training.loss_kind == LossKind::squared && model.curvature.shift == 0 &&
                     linear && options.set.kind == SetKind::last_layer;
  std::string text = fmt::format(
      "Every plan is accepted by every model that is nearly as good as {}{}: ", who, part);
  text +=
      options.set.kind == SetKind::ensemble
          ? fmt::format("by all whose training objective is at most ε = {} above its. ", epsilon)
          : fmt::format("by all whose training objective is at most ε = {} above the best, {}{}. ",
                        epsilon, rounded(objective), share);
  text += options.set.kind == SetKind::true_set ? "The set is the true one, not an approximation."
          : exact                               ? "For this loss the set is exact."
                  : "The set is described by the curvature of the objective at the best model (to "
                    "second order).";
  if (model.training.head_decrement > 0.01 * options.epsilon) {
    text += fmt::format(" The trained model itself is {} above the best.",
                        rounded(model.training.head_decrement, 3));
  }
  return text;
}

/// Which models, in words.
std::string set_words(const Model& model, const SetChoice& set) {
  const std::string name(enum_name(set.kind));
  const Index head = model.curvature.hessian.rows();
  switch (set.kind) {
    case SetKind::full:
      return fmt::format("{}: all {} parameters of the network, curvature damped by {}", name,
                         model.network.parameters(),
                         number_text(set.damping.value_or(model.curvature.full->damping)));
    case SetKind::isotropic:
      return fmt::format("{}: all {} parameters of the network, the same in every direction", name,
                         model.network.parameters());
    case SetKind::ensemble:
      return fmt::format("{}: this model and {} others, the last layer of each", name,
                         set.members.size());
    case SetKind::true_set:
      return fmt::format("{}: every {} whose training objective is within epsilon of the optimum",
                         name, model.network.is_linear() ? "model" : "last layer");
    case SetKind::last_layer:
      break;
  }
  return model.network.is_linear()
             ? fmt::format("{}: all {} parameters of the model, the bias among them", name, head)
             : fmt::format("{}: the {} parameters of the last layer, the hidden layers fixed", name,
                           head);
}

}  // namespace

std::string tone(Status status) {
  return "s-" + std::string(enum_name(status));
}

std::string request(const Model& model, const PageOptions& options) {
  std::string rows;
  const auto row = [&](std::string_view name, const std::string& value) {
    rows += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), value);
  };
  row("The promise", escape(promise(model, options)));
  if (!options.epsilon_rule.empty()) row("How ε was chosen", escape(options.epsilon_rule));
  row("Set of models", escape(set_words(model, options.set)));
  row("What “nearest” means", escape(cost_words(options.cost)));
  if (const std::optional<Contest>& contest = options.set.contest; contest) {
    row("Wanted", escape(answer_text(model.schema(),
                                     class_text(model, acceptable_classes(model, *contest)))));
    row("Margin", escape(fmt::format("a lead of {} over {}", display_number(options.threshold),
                                     class_names(model, contest->rivals))));
  } else {
    row("Threshold", escape(model.training.loss_kind == LossKind::logistic
                                ? fmt::format("a probability of {} (logit {})",
                                              display_percent(sigmoid(options.threshold)),
                                              display_number(options.threshold))
                                : fmt::format("a score of {}", display_number(options.threshold))));
  }
  for (const auto& [name, value] : options.details) row(name, escape(value));
  row("Training",
      escape(fmt::format("{} rows, {} loss, objective {}",
                         grouped(static_cast<std::size_t>(model.training.rows)),
                         enum_name(model.training.loss_kind), rounded(model.training.objective))));
  row("Model (SHA-256)", fmt::format("<code>{}</code>", escape(model.sha256)));
  std::string options_list;
  for (const auto& [name, value] : options.options) {
    options_list +=
        fmt::format("<div><dt>{}</dt><dd class=\"num\">{}</dd></div>", escape(name), escape(value));
  }
  if (!options_list.empty()) {
    options_list = fmt::format(
        "<details class=\"experts\"><summary>For experts: every option, as given or by "
        "default</summary><dl class=\"values\">{}</dl></details>\n",
        options_list);
  }
  return "<section class=\"asked\"><h2>What was asked</h2>\n<dl class=\"request\">\n" + rows +
         "</dl>" + options_list + "</section>\n";
}

std::string overview(const BatchSummary& summary) {
  std::string out = "<section class=\"overview\"><h2>Overview</h2>\n";
  if (summary.queries() == 0) {
    return out + "<p>There were no queries, so there is nothing to report.</p></section>\n";
  }
  out += "<div class=\"figures\">";
  out += figure_of(grouped(summary.queries()), summary.queries() == 1 ? "query" : "queries");
  if (summary.in_need() > 0) {
    out += figure_of(share_text(summary.helped(), summary.in_need()),
                     fmt::format("of the {} who need a change have a certified plan",
                                 grouped(summary.in_need())));
  }
  if (!summary.distances().empty()) {
    out += figure_of(std::to_string(summary.changes_quantile(0.5)), "features change, typically");
  }
  out += "</div>\n" + outcomes(summary);
  if (summary.further_plans() > 0) {
    out += fmt::format(
        "<p class=\"quiet\">Counted is the first plan of each query; {} more follow "
        "below.</p>\n",
        grouped(summary.further_plans()));
  }
  if (!summary.distances().empty()) {
    out += "<h3>Which features change</h3>\n" + feature_bars(summary);
    out +=
        "<details class=\"experts\"><summary>For experts: how far people have to move</summary>\n";
    out += svg::histogram(summary.distances(), "distance, in standard deviations",
                          "Histogram of the distances of certified plans");
    constexpr std::array<double, 2> shares = {0.5, 0.9};
    const std::vector<double> quantiles = summary.distance_quantiles(shares);
    out += fmt::format(
        "<p class=\"caption\">Half of the plans go no farther than {}, nine in ten no farther than "
        "{}.</p></details>\n",
        rounded(quantiles[0], 3), rounded(quantiles[1], 3));
  }
  return out + "</section>\n";
}

}  // namespace ellice::html
