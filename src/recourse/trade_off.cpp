// The trade-off between the number of changes and the cost, for linear models.

#include "ellice/recourse/linear_exact.hpp"
#include "recourse/plan_reasons.hpp"

namespace ellice {

namespace {

// Costs that differ by less are the same but for rounding.
constexpr double same_cost = 1e-9;

}  // namespace

void LinearExact::add_trade_off(std::vector<Recourse>& plans, const Query& query,
                                const FeasibleSet& feasible, const ConeProjection* free) const {
  ExactOptions options = options_;
  options.sparse = options.trade_off = false;
  const auto ask = [&](std::optional<int> max_changes) -> std::optional<Recourse> {
    options.max_changes = max_changes;
    const MixedExact search(*problem_, assembler_, cones_.factors, options);
    Recourse answer = assembler_.begin(query, feasible);
    if (!search.is_needed(feasible)) {
      answer_numbers(answer, feasible, free);
    } else if (search.answer(answer, feasible, {}) != MixedExact::Outcome::answered) {
      return std::nullopt;
    }
    return is_certified(answer.status) ? std::optional(std::move(answer)) : std::nullopt;
  };
  const auto add = [&](Recourse answer) {
    answer.plan = static_cast<int>(plans.size());
    answer.reason = trade_off_reason(answer, &plans.back());
    plans.push_back(std::move(answer));
  };
  const auto is_cheaper = [&](const Recourse& answer) {
    return answer.distance.weighted < (1 - same_cost) * plans.back().distance.weighted;
  };

  plans.front().reason = trade_off_reason(plans.front(), nullptr);
  std::optional<Recourse> nearest = ask(options_.max_changes);
  if (!nearest) return;
  for (int changes = plans.back().distance.changed + 1; changes < nearest->distance.changed;
       ++changes) {
    if (!is_cheaper(*nearest)) return;
    std::optional<Recourse> next = ask(changes);
    if (next && is_cheaper(*next)) add(std::move(*next));
  }
  const bool more_is_useless = nearest->status == Status::optimal;
  if (is_cheaper(*nearest)) add(std::move(*nearest));
  if (more_is_useless) plans.back().reason += "; further changes do not lower it";
}

}  // namespace ellice
