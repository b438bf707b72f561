#include "methods/cutting_set.hpp"

#include <utility>
#include <vector>

#include "core/stop.hpp"
#include "core/stopwatch.hpp"

namespace ellice {

namespace {

constexpr int way_steps = 10;
constexpr int polish_steps = 10;
constexpr double polish_gain = 1e-3;  // of the distance, for which another step is worth it
constexpr double polish_seconds = 1;  // for a linear program that takes milliseconds
constexpr double closed_gap = 1e-6;   // of the distance

}  // namespace

CuttingSet::CuttingSet(const RowMatrix& corners, const Vector& query, const Box& box,
                       const Network& network, double delta, double margin)
    : corners_(corners),
      query_(query),
      box_(box),
      network_(network),
      delta_(delta),
      margin_(margin),
      check_(network),
      with_margin_(network, margin) {}

Vector CuttingSet::last_robust(const Vector& robust, const Vector& other) const {
  double kept = 0;
  double lost = 1;
  for (int step = 0; step < way_steps; ++step) {
    check_stop();
    const double middle = (kept + lost) / 2;
    (with_margin_.is_robust(robust + middle * (other - robust), delta_) ? kept : lost) = middle;
  }
  return robust + kept * (other - robust);
}

void CuttingSet::offer(const Vector& robust) {
  if (!best_ || distance(robust) < distance(*best_)) best_ = robust;
}

void CuttingSet::start() {
  bool has_query = false;
  for (Index i = 0; i < corners_.rows(); ++i)
    has_query = has_query || corners_.row(i).transpose() == query_;
  for (Index i = 0; i < corners_.rows(); ++i) {
    const Vector corner = corners_.row(i).transpose();
    if (!box_.contains(corner) || !with_margin_.is_robust(corner, delta_)) continue;
    offer(has_query ? last_robust(corner, query_) : corner);
  }
}

void CuttingSet::polish() {
  for (int step = 0; best_ && step < polish_steps; ++step) {
    check_stop();
    const std::optional<WorstInBox> worst = check_.worst(*best_, delta_);
    if (!worst) return;
    HullProgram program(corners_, query_, &box_);
    program.require_accepted_beside(worst->network, margin_, *best_);
    const HullProgram::Solution solution = program.solve(polish_seconds);
    if (solution.status != MixedIntegerStatus::optimal) return;
    const double before = distance(*best_);
    offer(last_robust(*best_, solution.point));
    if (distance(*best_) > (1 - polish_gain) * before) return;
  }
}

CuttingSet::Result CuttingSet::solve(double seconds) {
  const ThreadStopwatch watch;  // waiting for others is not this query's time
  start();
  polish();
  std::optional<WorstInBox> worst = best_ ? check_.worst(*best_, delta_) : std::nullopt;
  // What is worst at a near robust point says more about the box than the network itself.
  std::vector<Network> networks = {worst ? worst->network : network_};
  while (true) {
    check_stop();
    HullProgram program(corners_, query_, &box_);
    if (best_) program.require_within(distance(*best_));
    for (const Network& network : networks) program.require_accepted(network, margin_);
    HullProgram::Solution solution{.status = MixedIntegerStatus::time_limit};
    if (const double left = seconds - watch.seconds(); left > 0) solution = program.solve(left);
    if (solution.status == MixedIntegerStatus::infeasible && best_)
      return {.point = best_, .status = MixedIntegerStatus::optimal};
    if (solution.status != MixedIntegerStatus::optimal)
      return {.point = best_, .status = solution.status};
    worst = check_.worst(solution.point, delta_);
    if (!worst) return {.point = best_, .status = MixedIntegerStatus::failed};
    if (worst->logit >= 0) return {.point = solution.point, .status = MixedIntegerStatus::optimal};
    networks.push_back(std::move(worst->network));
    if (!best_) continue;
    offer(last_robust(*best_, solution.point));
    if (distance(*best_) <= (1 + closed_gap) * solution.distance)
      return {.point = best_, .status = MixedIntegerStatus::optimal};
  }
}

}  // namespace ellice
