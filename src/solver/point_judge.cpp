#include "solver/point_judge.hpp"

#include <algorithm>
#include <cmath>

namespace ellice {

PointJudge::PointJudge(RobustOracle& oracle, const MixedProblem& problem)
    : oracle_(&oracle), problem_(&problem) {}

PointJudge::Verdict PointJudge::judge(const Vector& x) {
  const Index d = x.size();
  for (auto model = models_.begin(); model != models_.end(); ++model) {
    const double score = model->head(d).dot(x) + (*model)(d);
    if (!(score < problem_->threshold)) continue;
    std::rotate(models_.begin(), model, model + 1);
    return {.missing = problem_->threshold - score, .is_refused = true};
  }
  const Support at = oracle_->at(0, x);
  const double scale = at.scale + std::abs(problem_->threshold);
  const double missing = problem_->threshold + problem_->margin * scale - at.proved;
  // What is not a number is neither.
  const bool is_refused = missing > 0 && at.value < problem_->threshold;
  if (is_refused && at.model.allFinite()) models_.insert(models_.begin(), at.model);
  return {.missing = std::isnan(missing) ? std::abs(problem_->threshold) + 1 : missing,
          .is_refused = is_refused,
          .is_asked = true};
}

}  // namespace ellice
