#include "ellice/rashomon/epsilon_rule.hpp"

#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

constexpr double target_allowance = 0.01;

}  // namespace

double EpsilonRule::resolve(const Model& model) const {
  switch (kind) {
    case Kind::value:
      break;
    case Kind::share:
      return number / 100 * model.training.objective;
    case Kind::target:
      return number + target_allowance;
  }
  return number;
}

EpsilonRule parse_epsilon_rule(std::string_view text) {
  EpsilonRule rule{.text = std::string(text)};
  std::string_view number = text;
  if (number.ends_with('%')) {
    rule.kind = EpsilonRule::Kind::share;
    number.remove_suffix(1);
  } else if (number.starts_with("target:")) {
    rule.kind = EpsilonRule::Kind::target;
    number.remove_prefix(7);
  }
  require(parse_number(number, rule.number) && rule.number >= 0,
          "--epsilon: found \"{}\", expected a number >= 0 such as 0.01, a share of the training "
          "objective such as "
          "10%, or target:E for E + 0.01",
          text);
  return rule;
}

}  // namespace ellice
