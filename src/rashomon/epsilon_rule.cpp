#include "ellice/rashomon/epsilon_rule.hpp"

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr double target_allowance = 0.01;

/// What `calibrate` stored for the set.
double recommended(const Model& model, const SetChoice& set) {
  const std::string name(enum_name(set.kind));
  require_input(model.recommended.has_value() && model.recommended->contains(name),
                "--epsilon auto: the model file recommends no epsilon for the set {}; run `ellice "
                "calibrate` with --set {}, or give a number",
                name, name);
  JsonObject object(model.recommended->at(name), "model file", "recommended." + name);
  const double epsilon = object.number("epsilon");
  if (epsilon < 0) object.wrong("epsilon", "a number >= 0");
  const double calibrated = object.has("damping") ? object.number("damping") : 0;
  const double wanted = set.damping.value_or(calibrated);
  require_input(
      wanted == calibrated,
      "--epsilon auto: the recommendation for the set {} was calibrated with a damping of "
      "{}, not {}; run `ellice calibrate` with --damping {}, or give a number",
      name, calibrated, wanted, wanted);
  return epsilon;
}

}  // namespace

double EpsilonRule::resolve(const Model& model, const SetChoice& set) const {
  switch (kind) {
    case Kind::value:
      break;
    case Kind::share:
      return number / 100 * model.training.objective;
    case Kind::target:
      return number + target_allowance;
    case Kind::automatic:
      return recommended(model, set);
  }
  return number;
}

EpsilonRule parse_epsilon_rule(std::string_view text) {
  EpsilonRule rule{.text = std::string(text)};
  std::string_view number = text;
  if (text == "auto") {
    rule.kind = EpsilonRule::Kind::automatic;
    return rule;
  }
  if (number.ends_with('%')) {
    rule.kind = EpsilonRule::Kind::share;
    number.remove_suffix(1);
  } else if (number.starts_with("target:")) {
    rule.kind = EpsilonRule::Kind::target;
    number.remove_prefix(7);
  }
  require(parse_number(number, rule.number) && rule.number >= 0,
          "--epsilon: found \"{}\", expected a number >= 0 such as 0.01, a share of the training "
          "objective such as 10%, target:E for E + 0.01, or auto for what calibrate recommends",
          text);
  return rule;
}

}  // namespace ellice
