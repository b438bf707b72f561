#include <fmt/format.h>

#include "core/number_text.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/report/sentence.hpp"
#include "report/display.hpp"
#include "report/html.hpp"
#include "report/text_table.hpp"
#include "request/cost_prices.hpp"
#include "sets/contest.hpp"
#include "sets/off_optimum.hpp"

namespace ellice {

namespace {

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
  const double decrement = largest_decrement(model, options.set);
  if (is_ellipsoidal(options.set.kind) && is_off_optimum(decrement, options.epsilon)) {
    return fmt::format(
        "Every plan is accepted by every model of the ellipsoid of size ε = {} around {}{}, by the "
        "curvature of the objective there. {} is {} above the best: these are not all models that "
        "are nearly as good.",
        epsilon, who, part,
        options.set.kind == SetKind::ensemble ? "One of them" : "The trained model itself",
        rounded(decrement, 3));
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

std::vector<std::pair<std::string, std::string>> asked_lines(const Model& model,
                                                             const PageOptions& options) {
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("The promise", promise(model, options));
  if (!options.epsilon_rule.empty()) lines.emplace_back("How ε was chosen", options.epsilon_rule);
  lines.emplace_back("Set of models", set_words(model, options.set));
  lines.emplace_back("What “nearest” means", cost_words(options.cost));
  if (const std::optional<Contest>& contest = options.set.contest; contest) {
    lines.emplace_back(
        "Wanted",
        answer_text(model.schema(), class_text(model, acceptable_classes(model, *contest))));
    lines.emplace_back("Margin",
                       fmt::format("a lead of {} over {}", display_number(options.threshold),
                                   class_names(model, contest->rivals)));
  } else {
    lines.emplace_back("Threshold",
                       model.training.loss_kind == LossKind::logistic
                           ? fmt::format("a probability of {} (logit {})",
                                         display_percent(sigmoid(options.threshold)),
                                         display_number(options.threshold))
                           : fmt::format("a score of {}", display_number(options.threshold)));
  }
  lines.insert(lines.end(), options.details.begin(), options.details.end());
  lines.emplace_back("Training", fmt::format("{} rows, {} loss, objective {}",
                                             grouped(static_cast<std::size_t>(model.training.rows)),
                                             enum_name(model.training.loss_kind),
                                             rounded(model.training.objective)));
  lines.emplace_back("Model (SHA-256)", model.sha256);
  return lines;
}

}  // namespace ellice
