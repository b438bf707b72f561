#include "search/branch_answers.hpp"

#include <algorithm>

#include "core/infinity.hpp"
#include "search/stated_gap.hpp"

namespace ellice {

namespace {

bool is_full(const Answer& answer) {
  return is_certified(answer.status) && answer.status != Status::reduced;
}

bool is_better(const Answer& answer, const Answer& best) {
  if (is_full(answer) != is_full(best)) return is_full(answer);
  if (is_full(answer)) return answer.distance.weighted < best.distance.weighted;
  return answer.attained_epsilon.value_or(-1) > best.attained_epsilon.value_or(-1);
}

/// What a branch proves about the cost of its answers; nothing where it proves nothing.
std::optional<double> lower_bound(const Answer& answer) {
  if (!answer.gap) return std::nullopt;
  return (1 - *answer.gap) * answer.distance.weighted;
}

}  // namespace

Answer best_over_branches(const FeasibleSet& feasible,
                          const std::function<Answer(const FeasibleSet&)>& answer) {
  const std::vector<FeasibleSet> branches = feasible.branches();
  std::vector<Answer> answers;
  for (const FeasibleSet& branch : branches) {
    answers.push_back(answer(branch));
    // What the query breaks is a matter of what was asked for, not of what a branch supposes.
    answers.back().query_violations = feasible.query_violations();
    if (answers.back().status == Status::already_robust || branches.size() == 1)
      return std::move(answers.back());
  }
  Answer result = answers.front();
  std::optional<double> bound = infinity;
  for (const Answer& one : answers) {
    if (is_better(one, result)) result = one;
    const std::optional<double> proved = lower_bound(one);
    bound = bound && proved ? std::optional(std::min(*bound, *proved)) : std::nullopt;
  }
  if (!is_full(result)) return result;
  result.gap.reset();
  if (result.status == Status::optimal) result.status = Status::certified;
  if (!bound) return result;
  state_gap(result, *bound);
  return result;
}

}  // namespace ellice
