// One function that is no cone, searched with cones that touch it from above.

#include "solver/mixed_search.hpp"
#include "solver/point_judge.hpp"
#include "solver/value_search.hpp"

namespace ellice {

namespace {

constexpr int most_touches = 4;

}  // namespace

bool MixedSearch::search_touching(MixedResult& result) {
  if (oracle_->parts() != 1 || !has_choices()) return false;
  for (int round = 0; round < most_touches && result.nodes < problem_->node_limit; ++round) {
    // Where the answer so far is, or where the seeds ended: there the cone should touch.
    if (found_) (void)evaluate(best_);
    if (supports_.empty() || !supports_.front().model.allFinite()) return false;
    const std::optional<BoxFactor> cone = oracle_->outer_cone(supports_.front(), 0);
    if (!cone) return false;
    MixedProblem cheaper = *problem_;
    cheaper.cutoff = enough();
    cheaper.node_limit = problem_->node_limit - result.nodes;
    PointJudge judge(*oracle_, cheaper);
    const MixedResult touched = ValueSearch(*cone, cheaper, &judge).run();
    result.nodes += touched.nodes;
    touched_bound_ = std::max(touched_bound_, touched.lower_bound);
    if (touched.found) {
      found_ = true;
      best_ = touched.point;
      best_cost_ = touched.objective;
    }
    if (touched.status != MixedStatus::limit) return true;
    if (!touched.found) return false;  // the same cone once more would end as this did
  }
  return false;
}

}  // namespace ellice
