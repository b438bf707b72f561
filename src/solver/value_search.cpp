#include "solver/value_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/first_row.hpp"

namespace ellice {

namespace {

constexpr double work_per_node = 4000;  // what a node of the limit stands for
// A search that the limit ends is run again for answers that are cheaper by more than this, each
// time with a share of the work: the first that ends proves its gap.
constexpr std::array<double, 4> gaps = {0.005, 0.01, 0.02, 0.05};
constexpr double work_share = 0.25;
// Of the work, for a first row where dives may find none.
constexpr double first_row_share = 0.1;

}  // namespace

ValueSearch::ValueSearch(const BoxFactor& factor, const MixedProblem& problem, PointJudge* judge)
    : factor_(&factor),
      problem_(&problem),
      layout_(factor, problem),
      limit_(work_per_node * static_cast<double>(problem.node_limit), problem.time_limit),
      record_(layout_, limit_, judge),
      relaxation_(factor, layout_, record_, limit_),
      lattice_(factor, layout_, record_, limit_, judge),
      place_of_(problem.units.size(), problem.units.size()) {
  const std::size_t lists = layout_.lists().size();
  for (std::size_t k = 0; k < lists; ++k) place_of_[layout_.lists()[k].unit] = k;
  for (std::size_t k = 0; k < layout_.numbers().size(); ++k)
    place_of_[layout_.numbers()[k].unit] = lists + k;
  const std::size_t depths = lists + layout_.numbers().size() + 2;
  nodes_.assign(depths, relaxation_.root());
  children_.resize(depths);
  options_.resize(lists);
}

MixedResult ValueSearch::run() {
  const double work = work_per_node * static_cast<double>(problem_->node_limit);
  double proved = 0;  // by earlier runs
  if (!layout_.is_impossible()) {
    // A limit of changes may not bind; without it the search is much shorter.
    record_.limit_changes({});
    search({});
    const std::optional<std::size_t> most = problem_->max_changes;
    const bool is_open = record_.open() < record_.enough();
    if (most && (is_open || (record_.found() && record_.changes() > *most))) {
      proved = std::min(record_.open(), record_.enough());
      record_.limit_changes(most);
      record_.restart(0);
      search(most);
    }
    if (record_.is_bounded() && record_.open() < record_.enough()) {
      proved = std::max(proved, record_.open());
      for (const double gap : gaps) {
        record_.restart(gap);
        limit_.allow(work_share * work);
        search(most);
        proved = std::max(proved, std::min(record_.open(), record_.enough()));
        if (record_.open() >= record_.enough()) break;
      }
      record_.restart(0);
      record_.leave_open(proved);
    }
  }
  MixedResult result;
  result.nodes = std::min(problem_->node_limit,
                          static_cast<std::size_t>(std::ceil(limit_.done() / work_per_node)));
  result.found = record_.found();
  result.lower_bound = std::min(std::max(record_.open(), proved), record_.enough());
  if (result.found) {
    result.point = record_.best();
    result.objective = record_.best_cost();
  }
  if (result.lower_bound >= record_.enough())
    result.status = result.found ? MixedStatus::optimal : MixedStatus::infeasible;
  return result;
}

void ValueSearch::search(std::optional<std::size_t> most_changes) {
  most_changes_ = most_changes;
  tried_.clear();
  nodes_.front() = relaxation_.root();
  node(0);
}

bool ValueSearch::may_change(const ShareNode& node, std::size_t unit) const {
  const std::size_t lists = layout_.lists().size();
  const std::size_t place = place_of_[unit];
  if (place == place_of_.size() && lists + layout_.numbers().size() <= place) return false;
  if (place >= lists) return (node.modes[place - lists] & ShareNode::move) != 0;
  const ListUnit& list = layout_.lists()[place];
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (node.open[o] != 0 && layout_.changes(o)) return true;
  }
  return false;
}

bool ValueSearch::may_stay(const ShareNode& node, std::size_t unit) const {
  const std::size_t lists = layout_.lists().size();
  const std::size_t place = place_of_[unit];
  if (place == place_of_.size() && lists + layout_.numbers().size() <= place) return true;
  if (place >= lists) return (node.modes[place - lists] & ShareNode::stay) != 0;
  const ListUnit& list = layout_.lists()[place];
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (node.open[o] != 0 && !layout_.changes(o)) return true;
  }
  return false;
}

// The unit stays; it must be allowed to.
void ValueSearch::keep(ShareNode& node, std::size_t unit) const {
  const std::size_t lists = layout_.lists().size();
  const std::size_t place = place_of_[unit];
  if (place >= lists) {
    node.modes[place - lists] = ShareNode::stay;
    node.moves[place - lists] = 0;
    return;
  }
  const ListUnit& list = layout_.lists()[place];
  for (std::size_t o = list.first; o < list.last; ++o) {
    const bool stays = !layout_.changes(o);
    node.open[o] = stays && node.open[o] != 0 ? 1 : 0;
    node.shares[o] = stays ? 1 : 0;
  }
}

bool ValueSearch::prepare(ShareNode& node) const {
  std::size_t moved = 0;
  std::size_t free = 0;
  for (std::size_t u = 0; u < place_of_.size(); ++u) {
    const bool changes = may_change(node, u);
    const bool stays = may_stay(node, u);
    if (!changes && !stays) return false;
    if (!stays) ++moved;
    if (changes && stays) ++free;
  }
  const std::size_t most = most_changes_.value_or(place_of_.size());
  if (moved > most) return false;
  node.slots = most - moved;
  if (node.slots == 0 && free > 0) {
    for (std::size_t u = 0; u < place_of_.size(); ++u) {
      if (may_change(node, u) && may_stay(node, u)) keep(node, u);
    }
    free = 0;
  }
  node.is_limited = free > node.slots;
  return !breaks_rules(node);
}

bool ValueSearch::breaks_rules(const ShareNode& node) const {
  for (std::size_t r = 0; r < layout_.rules().size(); ++r) {
    const LinearRule& rule = layout_.rules()[r];
    double least = layout_.activity(r);
    double most = least;
    for (const ListUnit& list : layout_.lists()) {
      double down = infinity;
      double up = -infinity;
      for (std::size_t o = list.first; o < list.last; ++o) {
        if (node.open[o] == 0) continue;
        const double* moves = layout_.moves(list, o);
        double along = 0;
        for (Index i = 0; i < list.width; ++i)
          along += moves[i] * rule.coefficients[list.column + i];
        down = std::min(down, along);
        up = std::max(up, along);
      }
      least += down;
      most += up;
    }
    for (std::size_t k = 0; k < node.modes.size(); ++k) {
      const NumberUnit& unit = layout_.numbers()[k];
      const double slope = rule.coefficients[unit.column];
      if (node.modes[k] == ShareNode::stay || slope == 0) continue;
      double down = std::min(slope * unit.lower, slope * unit.upper);
      double up = std::max(slope * unit.lower, slope * unit.upper);
      if ((node.modes[k] & ShareNode::stay) != 0) {
        down = std::min(0.0, down);
        up = std::max(0.0, up);
      }
      least += down;
      most += up;
    }
    const double slack = rule.tolerance + 1e-11 * (1 + std::abs(layout_.activity(r)));
    if (least > rule.upper + slack || most < rule.lower - slack) return true;
  }
  return false;
}

bool ValueSearch::is_decided(const ShareNode& node) const {
  for (const ListUnit& list : layout_.lists()) {
    if (std::count(node.open.begin() + static_cast<std::ptrdiff_t>(list.first),
                   node.open.begin() + static_cast<std::ptrdiff_t>(list.last), 1) != 1)
      return false;
  }
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    if (relaxation_.needs_mode(node, k)) return false;
  }
  return true;
}

void ValueSearch::node(std::size_t depth) {
  ShareNode& node = nodes_[depth];
  if (limit_.is_over()) {
    record_.leave_open(node.bound);
    return;
  }
  if (!prepare(node)) return;
  if (!problem_->forbidden.empty() && branch_on_forbidden(depth)) return;
  if (is_decided(node)) {
    finish(node);
    return;
  }
  if (!relaxation_.solve(node)) return;
  if (depth == 0 && !record_.found() && relaxation_.needed_box()) {
    const double work = work_per_node * static_cast<double>(problem_->node_limit);
    FirstRow(*factor_, layout_, record_, limit_).seek(relaxation_, node, first_row_share * work);
  }
  fix(node);
  if (!prepare(node)) return;  // what may no longer stay may be more than may change
  try_rounded(node);
  if (node.bound >= record_.enough()) return;
  branch(depth);
}

bool ValueSearch::branch_on_forbidden(std::size_t depth) {
  for (const std::vector<std::size_t>& set : problem_->forbidden) {
    const ShareNode& node = nodes_[depth];
    if (!std::all_of(set.begin(), set.end(), [&](std::size_t u) { return may_change(node, u); }))
      continue;
    for (const std::size_t u : set) {
      if (!may_stay(node, u)) continue;
      keep(child_of(depth), u);
      this->node(depth + 1);
    }
    return true;
  }
  return false;
}

ShareNode& ValueSearch::child_of(std::size_t depth) {
  nodes_[depth + 1] = nodes_[depth];
  return nodes_[depth + 1];
}

}  // namespace ellice
