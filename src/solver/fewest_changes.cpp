#include "solver/fewest_changes.hpp"

#include <algorithm>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "solver/support_search.hpp"

namespace ellice {

namespace {

// So many changes in vain, and it is asked whether any number would do.
constexpr std::size_t vain_changes = 4;

/// Whether any number of changes leads to a solution, as far as that can be told.
bool is_impossible(const BoxFactor& factor, MixedProblem problem) {
  problem.max_changes.reset();
  return solve_mixed(factor, problem).status == MixedStatus::infeasible;
}

}  // namespace

FewestChanges solve_fewest(const BoxFactor& factor, const MixedProblem& problem) {
  require(problem.rules.empty(), "the search for the fewest changes knows no rules");
  for (const MixedUnit& unit : problem.units)
    require(unit.stays, "the search for the fewest changes lets every unit stay");
  check({&factor}, problem);
  SupportSearch search(factor, problem);
  FewestChanges fewest{.result = {.status = MixedStatus::infeasible, .lower_bound = infinity}};
  if (search.is_impossible()) return fewest;
  const std::size_t most = std::min(problem.max_changes.value_or(search.units()), search.units());
  for (std::size_t changes = 1; changes <= most; ++changes) {
    if (changes == vain_changes + 1 && is_impossible(factor, problem)) return fewest;
    fewest.changes = changes;
    MixedResult result = search.run(changes);
    if (result.status == MixedStatus::limit) {
      MixedProblem limited = problem;
      limited.max_changes = changes;
      limited.cutoff = std::min(limited.cutoff, result.found ? result.objective : infinity);
      MixedResult other = solve_mixed(factor, limited);
      result.lower_bound = std::max(result.lower_bound, other.lower_bound);
      result.nodes += other.nodes;
      if (other.found) {
        result.found = true;
        result.point = std::move(other.point);
        result.objective = other.objective;
      }
      if (other.status != MixedStatus::limit) {
        result.status = result.found ? MixedStatus::optimal : MixedStatus::infeasible;
      }
    }
    result.nodes += fewest.result.nodes;
    fewest.result = std::move(result);
    if (fewest.result.found) return fewest;
    if (fewest.result.status == MixedStatus::limit) fewest.proved = false;
  }
  if (!fewest.proved) fewest.result.status = MixedStatus::limit;
  return fewest;
}

}  // namespace ellice
