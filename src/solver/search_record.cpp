#include "solver/search_record.hpp"

#include <algorithm>

#include "core/stop.hpp"

namespace ellice {

namespace {
constexpr double work_between_looks = 4000;  // at the clock
constexpr double judgement_work = 1000;      // of a worst model
}  // namespace

bool WorkLimit::is_over() {
  check_stop();
  if (done_ >= most_) return true;
  if (seconds_ && done_ >= next_look_) {
    next_look_ = done_ + work_between_looks;
    is_late_ = is_late_ || watch_.seconds() >= *seconds_;
  }
  return is_late_;
}

SearchRecord::SearchRecord(const SearchLayout& layout, WorkLimit& limit, PointJudge* judge)
    : layout_(&layout),
      limit_(&limit),
      judge_(judge),
      most_changes_(layout.problem().max_changes),
      best_cost_(layout.problem().cutoff) {}

bool SearchRecord::offer(const Vector& x) {
  const MixedProblem& problem = layout_->problem();
  missing_ = 0;
  changes_too_much_ = false;
  const double cost = layout_->cost_of(x, changed_);
  if (!(cost < best_cost_)) return true;
  const auto count = static_cast<std::size_t>(std::count(changed_.begin(), changed_.end(), 1));
  changes_too_much_ = most_changes_ && count > *most_changes_;
  for (const std::vector<std::size_t>& set : problem.forbidden) {
    changes_too_much_ =
        changes_too_much_ ||
        std::all_of(set.begin(), set.end(), [&](std::size_t u) { return changed_[u] != 0; });
  }
  if (changes_too_much_) return false;
  for (const LinearRule& rule : problem.rules) {
    if (!rule.holds(x)) return false;
  }
  if (!is_robust(x, cost)) return false;
  found_ = true;
  best_ = x;
  best_cost_ = cost;
  best_changes_ = count;
  return true;
}

bool SearchRecord::is_robust(const Vector& x, double cost) {
  const MixedProblem& problem = layout_->problem();
  if (judge_ != nullptr) {
    const PointJudge::Verdict verdict = judge_->judge(x);
    if (verdict.is_asked) limit_->add(judgement_work);
    missing_ = verdict.missing;
    if (missing_ > 0 && !verdict.is_refused) leave_open(cost);
  } else {
    state_.x = x;
    layout_->logit().evaluate(state_);
    const double scale = state_.scale + std::abs(problem.threshold);
    missing_ = problem.threshold + problem.margin * scale - state_.value;
  }
  return !(missing_ > 0);
}

void SearchRecord::restart(double gap) {
  gap_ = gap;
  open_ = infinity;
}

void SearchRecord::limit_changes(std::optional<std::size_t> most) {
  most_changes_ = most;
  if (!most || !found_ || best_changes_ <= *most) return;
  found_ = false;
  best_cost_ = layout_->problem().cutoff;
}

}  // namespace ellice
