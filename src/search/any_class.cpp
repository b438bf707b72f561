#include "search/any_class.hpp"

#include <algorithm>
#include <iterator>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "search/plan_reasons.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

/// The plans of one query.
using Plans = std::vector<Answer>;

/// Smaller is better: the query itself, then what is certified for the ε asked for, then for a
/// smaller one, then the rest.
int rank_of(const Answer& answer) {
  switch (answer.status) {
    case Status::already_robust:
      return 0;
    case Status::optimal:
    case Status::certified:
      return 1;
    case Status::reduced:
      return 2;
    case Status::uncertified:
      return 3;
    default:
      return 4;
  }
}

bool is_better(const Answer& a, const Answer& b, bool fewest_first) {
  if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
  if (a.status == Status::reduced) return *a.attained_epsilon > *b.attained_epsilon;
  if (fewest_first && a.counterfactual && a.distance.changed != b.distance.changed)
    return a.distance.changed < b.distance.changed;
  return a.counterfactual && a.distance.weighted < b.distance.weighted;
}

/// What is left of a claim about one class when any of several would do.
void weaken(Answer& answer) {
  if (answer.status == Status::optimal || answer.status == Status::certified) {
    answer.status = Status::certified;
    answer.gap.reset();
    answer.reason = weaker_reason(std::move(answer.reason));
    answer.message += fmt::format(
        "{}the cheapest of the answers in which one acceptable class wins for every model; one "
        "where models disagree on which of them it is might be cheaper",
        answer.message.empty() ? "" : "; ");
  }
  if (answer.status == Status::infeasible) {
    answer.status = Status::not_found;
    answer.infeasible.reset();
    answer.message =
        "no acceptable class alone can win for every model; that models disagree on which of them "
        "wins is not ruled out";
  }
}

}  // namespace

bool has_several_targets(const Problem& problem) {
  return problem.set.contest && acceptable_classes(*problem.model, *problem.set.contest).size() > 1;
}

AnyClass::AnyClass(const Problem& problem, const Factory& factory, bool fewest_first)
    : fewest_first_(fewest_first) {
  require(problem.set.contest.has_value(), "a problem without classes has no acceptable ones");
  for (const Index winner : acceptable_classes(*problem.model, *problem.set.contest)) {
    Candidate candidate{.problem = std::make_unique<Problem>(problem)};
    candidate.problem->set.contest->winner = winner;
    candidate.generator = factory(*candidate.problem);
    candidates_.push_back(std::move(candidate));
  }
}

std::vector<Answer> AnyClass::generate(const std::vector<Query>& queries,
                                       const Execution& execution) const {
  std::vector<Plans> best(queries.size());
  // An answer is finished when the last class has been tried.
  const FinishedScope whole(false);
  for (const Candidate& candidate : candidates_) {
    std::size_t at = 0;
    Plans plans;
    const auto offer = [&] {
      if (plans.empty()) return;
      if (best[at].empty() || is_better(plans.front(), best[at].front(), fewest_first_)) {
        best[at] = std::move(plans);
      }
      plans.clear();
    };
    for (Answer& answer : candidate.generator->generate(queries, execution)) {
      if (answer.plan == 0 && !plans.empty()) {
        offer();
        ++at;
      }
      plans.push_back(std::move(answer));
    }
    offer();
  }
  std::vector<Answer> answers;
  for (Plans& plans : best) {
    for (Answer& answer : plans) {
      weaken(answer);
      answers.push_back(std::move(answer));
    }
  }
  return answers;
}

}  // namespace ellice
