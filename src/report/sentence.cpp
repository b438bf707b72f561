#include "ellice/report/sentence.hpp"

#include <fmt/format.h>

#include "ellice/core/error.hpp"
#include "report/display.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

/// Numbers and ordinal levels have a direction, other levels only change.
std::string verb_of(const Feature& feature, const Change& change) {
  if (feature.is_number()) {
    return std::get<double>(change.to) > std::get<double>(change.from) ? "raise" : "lower";
  }
  if (feature.kind == FeatureKind::ordinal) {
    return feature.level_index(std::get<std::string>(change.to)) >
                   feature.level_index(std::get<std::string>(change.from))
               ? "raise"
               : "lower";
  }
  return "change";
}

/// The bin to which a binned feature goes.
std::string within(const Feature& feature, const Change& change) {
  if (!feature.is_binned()) return "";
  return feature.bins.words(feature.bins.of(std::get<double>(change.to)));
}

std::string with_reason(std::string text, const std::string& reason) {
  if (!reason.empty()) text += ": " + reason;
  if (!text.ends_with('.')) text += '.';
  return text;
}

std::string infeasible_clause(const Answer& answer) {
  if (!answer.infeasible) return with_reason("No plan exists", answer.message);
  const Infeasibility& why = *answer.infeasible;
  std::string text = "No plan exists: no change that the constraints allow convinces every model";
  if (!answer.target.empty()) text += " of class " + answer.target;
  const EpsilonBounds& largest = why.max_epsilon;
  if (largest.lower) {
    text += "; the largest ε with a plan is " + largest_epsilon_text(why);
  } else {
    text +=
        largest.upper > 0 ? "; for no smaller ε was one found" : ", not even the trained one alone";
  }
  return text + '.';
}

}  // namespace

std::vector<PlanStep> plan_steps(const Answer& answer, const Schema& schema) {
  std::vector<PlanStep> steps;
  for (const Change& change : answer.changes) {
    const std::optional<std::size_t> index = schema.find(change.feature);
    require(index.has_value(), "the schema has no feature \"{}\"", change.feature);
    const Feature& feature = schema.features[*index];
    steps.push_back({.verb = verb_of(feature, change),
                     .feature = feature_label(feature),
                     .from = display_start(feature, change.from, change.to),
                     .to = display_value(feature, change.to),
                     .unit = feature.unit,
                     .within = within(feature, change),
                     .points = change.points ? points_text(*change.points) : ""});
  }
  return steps;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string plan_phrase(const Answer& answer, const Schema& schema) {
  std::vector<std::string> parts;
  for (const PlanStep& step : plan_steps(answer, schema)) {
    std::vector<std::string> remarks;
    if (!step.within.empty()) remarks.push_back("anything " + step.within);
    if (!step.points.empty()) remarks.push_back(step.points);
    parts.push_back(
        fmt::format("{} {} from {} to {}", step.verb, step.feature, step.from, step.to) +
        (step.unit.empty() ? "" : " " + step.unit) +
        (remarks.empty() ? "" : fmt::format(" ({})", fmt::join(remarks, "; "))));
  }
  return joined(parts);
}

std::string outcome_clause(const Answer& answer, const Schema& schema) {
  switch (answer.status) {
    case Status::optimal:
    case Status::certified:
      if (!answer.changes.empty() && !answer.target.empty()) {
        return fmt::format(": then every model of the set answers {}.",
                           answer_text(schema, answer.target));
      }
      return answer.changes.empty() ? "Nothing needs to change." : ".";
    case Status::already_robust:
      return fmt::format(
          "Nothing needs to change: {}every model of the set already answers {}.",
          answer.certificate && is_first_order(answer.certificate->set) ? "to first order, " : "",
          answer.target.empty() ? favourable_answer(schema) : answer_text(schema, answer.target));
    case Status::reduced:
      return answer.attained_epsilon
                 ? fmt::format("; this is certified only up to ε = {}, less than was asked.",
                               display_rounded(*answer.attained_epsilon))
                 : "; this is certified only for a smaller ε than was asked.";
    case Status::infeasible:
      return infeasible_clause(answer);
    case Status::not_found:
      return with_reason("No plan was found, but none was proved to be impossible", answer.message);
    case Status::uncertified:
      return answer.changes.empty()
                 ? "This row is not certified: near-optimal models may still answer otherwise."
                 : "; this is not certified: near-optimal models may still answer otherwise.";
    case Status::invalid:
      return with_reason("The query could not be read", answer.message);
  }
  fail(ErrorCode::internal, "unknown status {}", static_cast<int>(answer.status));
}

std::string sentence(const Answer& answer, const Schema& schema) {
  return capitalized(plan_phrase(answer, schema) + outcome_clause(answer, schema));
}

std::string sentence(const Answer& answer) {
  require(answer.schema != nullptr, "the answer does not know its schema; name it");
  return sentence(answer, *answer.schema);
}

std::string proof_phrase(const Answer& answer) {
  const std::string_view number = answer.target.empty() ? "logit" : "lead";
  const bool weighs = answer.infeasible && !answer.infeasible->models.empty();
  return weighs
             ? fmt::format(
                   "models of the set, weighted, give every allowed row a mean {} of at "
                   "most",
                   number)
             : fmt::format("one model of the set gives every allowed row a {} of at most", number);
}

std::string attack_text(const Attack& attack) {
  return attack.broken
             ? fmt::format(
                   "attack: a real network whose objective is {} higher gives it a logit of {}",
                   rounded(attack.excess, 3), rounded(attack.logit, 3))
             : fmt::format(
                   "attack: no network within ε was found that declines it; lowest logit {}",
                   rounded(attack.logit, 3));
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace ellice
