#include "explain/recourse_request.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/as_input.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/explain/explain_request.hpp"
#include "methods/method_table.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

namespace {

/// A pointer that owns nothing: the model outlives the check.
std::shared_ptr<const Model> borrowed(const Model& model) {
  return {std::shared_ptr<const Model>(), &model};
}

/// The rules that need neither rows nor predictions.
bool is_arithmetic(EpsilonRule::Kind kind) {
  return kind == EpsilonRule::Kind::value || kind == EpsilonRule::Kind::share ||
         kind == EpsilonRule::Kind::target;
}

void check_method(JsonObject top) {
  const std::string name = top.string("method");
  const std::vector<Method>& known = methods();
  if (std::any_of(known.begin(), known.end(), [&](const Method& m) { return m.name == name; }))
    return;
  top.wrong("method", "one of " + fmt::format("{}", fmt::join(method_names(), ", ")));
}

std::optional<std::string> epsilon_fault(JsonObject epsilon, const Model& model) {
  EpsilonRule rule;
  try {
    rule = parse_epsilon_rule(epsilon.string("rule"));
  } catch (const Error&) {
    epsilon.wrong("rule", "a rule as `epsilon` takes it, e.g. 0.01, 10% or survival:95%");
  }
  const double value = epsilon.number("value", at_least(0));
  if (!is_arithmetic(rule.kind)) return std::nullopt;
  const double expected = rule.resolve(model, {}, {});
  if (std::abs(value - expected) <= 1e-9 * expected) return std::nullopt;
  return fmt::format("epsilon.value is {}, but the rule \"{}\" gives {} for this model",
                     number_text(value), rule.text, number_text(expected));
}

}  // namespace

std::optional<std::string> check_recourse_request(const Json& file, const std::string& source,
                                                  const Model& model,
                                                  const std::vector<const Model*>& ensemble) {
  return as_input(source, [&] {
    std::vector<std::shared_ptr<const Model>> members;
    for (const Model* const member : ensemble) members.push_back(borrowed(*member));
    (void)explain_request_from_json(file, source, borrowed(model), std::move(members), nullptr);
    check_method(JsonObject(file, source));
    return epsilon_fault(JsonObject(file, source).object("epsilon"), model);
  });
}

}  // namespace ellice
