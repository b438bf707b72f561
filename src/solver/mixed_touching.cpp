// One function that is no cone, searched with a cone that touches it from above.

#include "solver/mixed_search.hpp"
#include "solver/point_judge.hpp"
#include "solver/value_search.hpp"

namespace ellice {

std::optional<MixedResult> MixedSearch::search_touching() {
  if (oracle_->parts() != 1 || !has_choices()) return {};
  // Where seeds ended: there the cone should touch.
  if (found_) (void)evaluate(best_);
  if (supports_.empty() || !supports_.front().model.allFinite()) return {};
  const std::optional<BoxFactor> cone = oracle_->outer_cone(supports_.front(), 0);
  if (!cone) return {};

  MixedProblem cheaper = *problem_;
  cheaper.cutoff = enough();
  PointJudge judge(*oracle_, cheaper);
  MixedResult result = ValueSearch(*cone, cheaper, &judge).run();
  if (result.found) return result;
  if (!found_) {
    if (result.status == MixedStatus::limit) return {};
    return result;
  }
  result.found = true;
  result.point = best_;
  result.objective = best_cost_;
  result.lower_bound = std::min(result.lower_bound, enough());
  if (result.status == MixedStatus::infeasible) result.status = MixedStatus::optimal;
  return result;
}

}  // namespace ellice
