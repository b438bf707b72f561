#include "combination/pairs.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/fields.hpp"
#include "methods/method_table.hpp"

namespace ellice::combination {

namespace {

// «optimal» is stated to 1e-9; costs of rows as they are written are known to rounding.
constexpr double tolerance = 1e-8;

bool has_certified_row(const Answer& answer) {
  return answer.counterfactual.has_value() &&
         (answer.status == Status::optimal || answer.status == Status::certified ||
          answer.status == Status::already_robust);
}

/// Whether the row is one that `wishes` allow.
bool is_allowed(const Answer& answer, const ExactOptions& wishes) {
  return !wishes.max_changes || answer.distance.changed <= *wishes.max_changes;
}

/// How far a row may be beside its rules, which it keeps to 1e-12 of their terms: in deviations.
double freed_by_rounding(const Answer& answer, const Model& model) {
  double most = 0;
  const Vector raw = model.encoder.raw(*answer.counterfactual);
  for (const Rule& rule : model.schema().constraints) {
    double size = std::abs(rule.bound);
    double steepest = 0;
    for (const auto& [name, coefficient] : rule.terms) {
      const std::size_t j = *model.schema().find(name);
      size += std::abs(coefficient * raw(static_cast<Index>(j)));
      steepest = std::max(
          steepest, std::abs(coefficient) * model.encoder.scale()(model.encoder.first_column(j)));
    }
    most = std::max(most, 1e-12 * size / steepest);
  }
  return most;
}

/// Whether a proved optimum among rows with the fewest changes says anything about another row. Of
/// plans that are shown together the first may be either, the nearest or that with fewest changes.
bool is_dearer(const Answer& optimum, const Answer& other, const Told& told, bool is_shown) {
  const ExactOptions& wishes = told.run.options.exact;
  if (is_shown && other.distance.changed > optimum.distance.changed) return false;
  const bool by_changes = wishes.sparse || wishes.trade_off;
  if (by_changes && other.distance.changed != optimum.distance.changed)
    return other.distance.changed < optimum.distance.changed && optimum.plan == 0;
  const double least = optimum.distance.weighted * (1 - optimum.gap.value_or(0));
  const double freed = freed_by_rounding(other, *told.explainer->problem().model);
  const double allowed = tolerance + 4 * freed / std::max(other.distance.l2, freed);
  return other.distance.weighted < least * (1 - allowed) - 1e-12;
}

bool promises(const Told& told) {
  return told.explainer->method().promises(told.run.options);
}

/// Whether a person who was told so by another method is not told to stay.
bool moves(const Told& told, std::size_t query) {
  return std::any_of(told.answers.begin(), told.answers.end(), [&](const Answer& answer) {
    return answer.query_index == query && answer.plan == 0 &&
           answer.status != Status::already_robust;
  });
}

}  // namespace

std::vector<std::string> contradictions(const Told& a, const Told& b) {
  std::vector<std::string> found;
  const ExactOptions& wishes = a.run.options.exact;
  const bool is_shown = a.explainer->shows_trade_off();
  for (const Answer& claim : a.answers) {
    if (claim.plan > 0) continue;
    if (claim.status == Status::already_robust && promises(b) && moves(b, claim.query_index))
      found.push_back(fmt::format("already robust for one only: query {}", claim.query_index));
    for (const Answer& other : b.answers) {
      if (other.query_index != claim.query_index || !has_certified_row(other)) continue;
      const std::string place = fmt::format(
          "query {}: {} of {} against {} of {} (plan {}), costs {} and {}", claim.query_index,
          enum_name(claim.status), a.run.method, enum_name(other.status), b.run.method, other.plan,
          claim.distance.weighted, other.distance.weighted);
      if (claim.status == Status::infeasible && is_allowed(other, wishes))
        found.push_back("infeasible beside an answer: " + place);
      const bool states_a_gap =
          claim.counterfactual && (claim.status == Status::optimal || claim.gap.has_value());
      if (states_a_gap && is_allowed(other, wishes) && is_dearer(claim, other, a, is_shown))
        found.push_back("an optimum is dearer: " + place);
    }
  }
  return found;
}

}  // namespace ellice::combination
