#include "sets/epsilon_rule.hpp"

#include <array>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "sets/boundary_accuracy.hpp"

namespace ellice {

namespace {

constexpr double target_allowance = 0.01;
constexpr double automatic_survival = 0.95;

/// What `calibrate` stored for the set.
double recommended(const Model& model, const SetChoice& set) {
  const std::string name(enum_name(set.kind));
  require_input(has_recommendation(model, set),
                "`epsilon: auto`: the model file recommends no epsilon for the set {}; run `ellice "
                "calibrate` with `set: {}`, or give a number",
                name, name);
  JsonObject object((*model.recommended)->at(name), "model file", "recommended." + name);
  const double epsilon = object.number("epsilon");
  if (epsilon < 0) object.wrong("epsilon", "a number >= 0");
  const double calibrated = object.has("damping") ? object.number("damping") : 0;
  const double wanted = set.damping.value_or(calibrated);
  require_input(
      wanted == calibrated,
      "`epsilon: auto`: the recommendation for the set {} was calibrated with a damping of "
      "{}, not {}; run `ellice calibrate` with `damping: {}`, or give a number",
      name, calibrated, wanted, wanted);
  return epsilon;
}

double for_survival(double survival, const Model& model, const SetChoice& set,
                    const EpsilonContext& context, const std::string& rule) {
  const std::string reason = no_survival_reason(model, set);
  require(reason.empty(), "`epsilon: {}`: {}", rule, reason);
  return survival_epsilon(model, survival, context.retraining);
}

double for_accuracy(double loss, const Model& model, const SetChoice& set,
                    const EpsilonContext& context, const std::string& rule) {
  require(
      model.network.has_one_output(),
      "`epsilon: {}`: the accuracy of boundary models is measured for models with one logit, not "
      "for softmax models; give a number or a share of the objective, e.g. 5%",
      rule);
  require_known_set(SetKind::last_layer, model);  // which they are sampled from
  const bool is_known = set.kind == SetKind::last_layer || set.kind == SetKind::true_set;
  require(is_known && !set.damping,
          "`epsilon: {}`: boundary models are sampled from the set last-layer with the objective's "
          "own l2; use `set: last-layer` without `damping`, or give a number",
          rule);
  require(context.rows != nullptr, "`epsilon: {}`: accuracy is measured on the training rows",
          rule);
  const double epsilon = BoundaryModels(model, *context.rows, model.decision.threshold)
                             .largest_epsilon(loss, context.execution);
  require_input(
      std::isfinite(epsilon),
      "`epsilon: {}`: no sampled model ever loses that much accuracy; give a smaller share "
      "or a number",
      rule);
  return epsilon;
}

struct Spelling {
  std::string_view prefix;
  EpsilonRule::Kind kind;
  bool percent;
};
constexpr std::array<Spelling, 3> spellings = {
    {{.prefix = "target:", .kind = EpsilonRule::Kind::target, .percent = false},
     {.prefix = "survival:", .kind = EpsilonRule::Kind::survival, .percent = true},
     {.prefix = "accuracy:", .kind = EpsilonRule::Kind::accuracy, .percent = true}}};

}  // namespace

bool has_recommendation(const Model& model, const SetChoice& set) {
  return model.recommended && (*model.recommended)->contains(std::string(enum_name(set.kind)));
}

std::optional<double> EpsilonRule::asked_survival(const Model& model, const SetChoice& set) const {
  if (kind == Kind::survival) return number / 100;
  const bool predicted = !has_recommendation(model, set) && no_survival_reason(model, set).empty();
  if (kind == Kind::automatic && predicted) return automatic_survival;
  return std::nullopt;
}

double EpsilonRule::resolve(const Model& model, const SetChoice& set,
                            const EpsilonContext& context) const {
  return beyond_deployed(model, from_minimum(model, set, context));
}

double beyond_deployed(const Model& model, double epsilon) {
  return model.deployed ? epsilon + model.deployed->excess : epsilon;
}

double EpsilonRule::from_minimum(const Model& model, const SetChoice& set,
                                 const EpsilonContext& context) const {
  switch (kind) {
    case Kind::value:
      break;
    case Kind::share:
      return number / 100 * model.training.objective;
    case Kind::target:
      return number + target_allowance;
    case Kind::survival:
      return for_survival(number / 100, model, set, context, text);
    case Kind::accuracy:
      return for_accuracy(number / 100, model, set, context, text);
    case Kind::automatic:
      require(model.network.has_one_output() &&
                  ((!model.training.weights && !has_corners(model.training)) ||
                   has_recommendation(model, set)),
              "`epsilon: auto`: {}", no_survival_reason(model, set));
      if (const std::optional<double> survival = asked_survival(model, set)) {
        return survival_epsilon(model, *survival, context.retraining);
      }
      return recommended(model, set);
  }
  return number;
}

EpsilonRule parse_epsilon_rule(std::string_view text) {
  EpsilonRule rule{.text = std::string(text)};
  if (text == "auto") {
    rule.kind = EpsilonRule::Kind::automatic;
    return rule;
  }
  std::string_view number = text;
  bool has_prefix = false;
  bool percent = text.ends_with('%');
  for (const Spelling& spelling : spellings) {
    if (!text.starts_with(spelling.prefix)) continue;
    has_prefix = true;
    rule.kind = spelling.kind;
    number.remove_prefix(spelling.prefix.size());
    percent = percent && spelling.percent;
    if (spelling.percent) {
      require(percent, "`epsilon`: found \"{}\", expected a percentage, e.g. {}{}", text,
              spelling.prefix, spelling.kind == EpsilonRule::Kind::survival ? "95%" : "5%");
    }
  }
  if (percent) number.remove_suffix(1);
  if (percent && !has_prefix) rule.kind = EpsilonRule::Kind::share;
  require(parse_number(number, rule.number) && rule.number >= 0,
          "`epsilon`: found \"{}\", expected a number >= 0 such as 0.01, a share of the training "
          "objective such as 10%, target:E for E + 0.01, survival:95% for retraining, accuracy:5% "
          "for models within five points of accuracy, or auto",
          text);
  require(rule.kind != EpsilonRule::Kind::survival || (rule.number > 0 && rule.number < 100),
          "`epsilon`: found \"{}\", expected a survival above 0% and below 100%", text);
  require(rule.kind != EpsilonRule::Kind::accuracy || rule.number < 100,
          "`epsilon`: found \"{}\", expected a loss of accuracy below 100%", text);
  return rule;
}

}  // namespace ellice
