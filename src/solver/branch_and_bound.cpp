#include "solver/branch_and_bound.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/mixed_search.hpp"
#include "solver/rule_rounding.hpp"
#include "solver/value_search.hpp"

namespace ellice {

namespace {

bool comes_later(const MixedNode& a, const MixedNode& b) {
  return a.bound != b.bound ? a.bound > b.bound : a.sequence < b.sequence;
}

}  // namespace

MixedSearch::MixedSearch(RobustOracle& oracle, const MixedProblem& problem)
    : oracle_(&oracle),
      problem_(&problem),
      is_plain_(oracle.parts() == 1 && problem.rules.empty()),
      dual_(units_),
      best_cost_(problem.cutoff) {
  for (const MixedUnit& unit : problem.units) {
    units_.emplace_back(unit, problem.query[unit.column]);
    has_numbers_ = has_numbers_ || !(unit.is_group() || unit.has_grid());
    relaxes_well_ = relaxes_well_ && !unit.is_group() && unit.quadratic > 0;
  }
}

MixedResult MixedSearch::run() {
  const Stopwatch watch;
  (void)evaluate(problem_->query);
  for (const Support& at : supports_) add_cut(make_cut(at));
  if (supports_.empty()) add_cut(make_cut(Vector::Zero(problem_->query.size()), 0));
  if (!oracle_->is_conic()) seed();
  MixedResult result;
  const bool is_settled = !oracle_->is_conic() && search_touching(result);
  if (!is_settled) {
    MixedNode root;
    for (const UnitView& unit : units_) root.domains.push_back(unit.whole());
    open_.push_back(std::move(root));
  }
  const std::size_t most = result.nodes + problem_->node_limit;
  const auto is_over = [&] {
    return result.nodes >= most ||
           (problem_->time_limit && watch.seconds() >= *problem_->time_limit);
  };
  while (!open_.empty() && open_.front().bound < enough() && !is_over()) {
    check_stop();
    std::pop_heap(open_.begin(), open_.end(), comes_later);
    MixedNode node = std::move(open_.back());
    open_.pop_back();
    ++result.nodes;
    process(node);
  }
  double bound = unresolved_;
  if (!open_.empty()) bound = std::min(bound, open_.front().bound);
  result.found = found_;
  result.lower_bound = std::min(std::max(bound, touched_bound_), enough());
  if (found_) {
    result.point = best_;
    result.objective = best_cost_;
  }
  if (result.lower_bound >= enough()) {
    result.status = found_ ? MixedStatus::optimal : MixedStatus::infeasible;
  }
  return result;
}

void MixedSearch::process(MixedNode& node) {
  Room room;
  if (!prepare(node, room)) return;
  if (is_leaf(node, room)) {
    const Leaf leaf = solve_leaf(node.domains);
    if (!leaf.infeasible)
      unresolved_ = std::min(unresolved_, std::max(leaf.lower_bound, node.bound));
    if (unresolved_ >= enough()) unresolved_ = infinity;
    return;
  }
  DualBound bound;
  const bool is_root = node.sequence == 0;
  if (is_root) add_relaxed_cut(node);
  if (!bound_by_pool(node, room, bound)) return;
  // Without categories the relaxation is small, and its worst model nearly the best there is.
  // Where rules or several cones bind, the weights of its solution are what one cut alone lacks.
  if (!is_root && (relaxes_well_ || mixes_)) {
    node_cut_ = *bound.cut;
    bound.cut = &node_cut_;
    add_relaxed_cut(node);
    DualBound relaxed =
        dual_.maximise(cuts_.front(), node.domains, room.slots, node.multiplier, enough());
    if (relaxed.infeasible || relaxed.value >= enough()) return;
    if (is_plain_ || relaxed.value > bound.value) bound = std::move(relaxed);
  }
  if (!improve(node, room, bound)) return;
  if (found_) dual_.fix(bound, room.slots, enough(), node.domains);
  branch(node, room, bound);
}

bool MixedSearch::prepare(MixedNode& node, Room& room) const {
  std::size_t moved = 0;
  std::size_t free = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Domain& domain = node.domains[u];
    if (domain.is_empty()) return false;
    if (!domain.stays) ++moved;
    if (domain.stays && domain.moves) ++free;
  }
  const std::size_t most = problem_->max_changes.value_or(units_.size());
  if (moved > most) return false;
  room.slots = most - moved;
  if (room.slots == 0) {
    for (Domain& domain : node.domains) domain.moves = domain.moves && !domain.stays;
    free = 0;
  }
  room.limited = free > room.slots;
  return !breaks_rules(node.domains);
}

bool MixedSearch::breaks_rules(const std::vector<Domain>& domains) const {
  for (const LinearRule& rule : problem_->rules) {
    double least = rule.coefficients.dot(problem_->query);
    double most = least;
    double least_size = rule.coefficients.cwiseProduct(problem_->query).cwiseAbs().sum();
    double most_size = least_size;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const MixedUnit& unit = units_[u].unit();
      const Domain& domain = domains[u];
      const auto slopes = rule.coefficients.segment(unit.column, unit.width);
      if (!domain.moves || slopes.isZero(0)) continue;
      const auto own = problem_->query.segment(unit.column, unit.width);
      double down = infinity;
      double up = -infinity;
      for (std::size_t k = 0; k < domain.options.size(); ++k) {
        if (domain.options[k] == 0) continue;
        const double change = slopes.dot(unit.options[k].values - own);
        down = std::min(down, change);
        up = std::max(up, change);
      }
      if (!unit.is_group()) {
        down = std::min(slopes[0] * (domain.lower - own[0]), slopes[0] * (domain.upper - own[0]));
        up = std::max(slopes[0] * (domain.lower - own[0]), slopes[0] * (domain.upper - own[0]));
      }
      least += domain.stays ? std::min(0.0, down) : down;
      most += domain.stays ? std::max(0.0, up) : up;
      least_size += std::abs(down);
      most_size += std::abs(up);
    }
    // From somebody far away all sums are large, and so is their rounding.
    if (least > rule.upper + rule.tolerance + rule_rounding(least_size) ||
        most < rule.lower - rule.tolerance - rule_rounding(most_size))
      return true;
  }
  return false;
}

bool MixedSearch::is_charged(std::size_t u, const Domain& domain, const Room& room) const {
  return room.limited || units_[u].unit().charge > 0 || units_[u].is_apart(domain);
}

bool MixedSearch::is_leaf(const MixedNode& node, const Room& room) const {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Domain& domain = node.domains[u];
    if (!units_[u].is_decided(domain, is_charged(u, domain, room))) return false;
  }
  return std::all_of(problem_->forbidden.begin(), problem_->forbidden.end(), [&](const auto& set) {
    return std::any_of(set.begin(), set.end(),
                       [&](std::size_t u) { return !node.domains[u].moves; });
  });
}

void MixedSearch::push(const MixedNode& parent, std::size_t u, Domain domain) {
  units_[u].tighten(domain);
  if (domain.is_empty()) return;
  MixedNode child = parent;
  child.sequence = ++sequence_;
  child.domains[u] = std::move(domain);
  open_.push_back(std::move(child));
  std::push_heap(open_.begin(), open_.end(), comes_later);
}

bool MixedSearch::branch_on_forbidden(const MixedNode& node) {
  for (const std::vector<std::size_t>& set : problem_->forbidden) {
    const bool met =
        std::any_of(set.begin(), set.end(), [&](std::size_t u) { return !node.domains[u].moves; });
    if (met) continue;
    for (const std::size_t u : set) {
      Domain domain = node.domains[u];
      domain.moves = false;
      push(node, u, std::move(domain));
    }
    return true;
  }
  return false;
}

void MixedSearch::branch(MixedNode& node, const Room& room, const DualBound& bound) {
  if (branch_on_forbidden(node)) return;
  // The two sides of the bound differ in what keeps it from being a solution.
  std::size_t chosen = units_.size();
  double largest = -1;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Choice& below = bound.below.choices[u];
    const Choice& above = bound.above.choices[u];
    const Domain& domain = node.domains[u];
    const bool charged = is_charged(u, domain, room);
    if (units_[u].is_decided(domain, charged)) continue;
    const bool differs = units_[u].differ(below, above, charged);
    const double difference = differs ? 1 + std::abs(above.gain - below.gain) : 0;
    if (difference > largest) {
      largest = difference;
      chosen = u;
    }
  }
  if (chosen == units_.size()) {  // fixing has decided the last unit: a leaf
    node.sequence = ++sequence_;
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), comes_later);
    return;
  }
  split(node, chosen, bound.below.choices[chosen], bound.above.choices[chosen]);
}

void MixedSearch::split(const MixedNode& node, std::size_t u, const Choice& below,
                        const Choice& above) {
  const UnitView& view = units_[u];
  const MixedUnit& unit = view.unit();
  const Domain& domain = node.domains[u];
  Domain first = domain;
  Domain second = domain;
  if (unit.has_grid()) {
    // On this side of a value or on that, the query's own being one of them.
    const double own = problem_->query[unit.column];
    const double low = below.moves ? below.value : own;
    const double high = above.moves ? above.value : own;
    const double pivot = std::min(low, high);
    const bool more = (domain.moves && view.after(pivot).value_or(infinity) <= domain.upper) ||
                      (domain.stays && own > pivot);
    if (more) {
      first.upper = std::min(domain.upper, view.until(pivot));
      first.stays = domain.stays && own <= pivot;
      second.lower = std::max(domain.lower, view.after(pivot).value_or(infinity));
      second.stays = domain.stays && own > pivot;
    } else {  // the largest value there is, and what lies below it
      first.upper = std::min(domain.upper, view.until(std::nextafter(pivot, -infinity)));
      first.stays = domain.stays && own < pivot;
      second.lower = std::max(domain.lower, pivot);
      second.stays = domain.stays && own >= pivot;
    }
  } else if (domain.stays) {
    first.moves = false;
    second.stays = false;
  } else {
    std::size_t option = (above.moves ? above : below).option;
    if (domain.options[option] == 0) {
      option = static_cast<std::size_t>(std::find(domain.options.begin(), domain.options.end(), 1) -
                                        domain.options.begin());
    }
    std::fill(first.options.begin(), first.options.end(), 0);
    first.options[option] = 1;
    second.options[option] = 0;
  }
  push(node, u, std::move(first));
  push(node, u, std::move(second));
}

void check(const std::vector<const BoxFactor*>& factors, const MixedProblem& problem) {
  const Index d = problem.query.size();
  require(problem.query.allFinite(), "MixedProblem.query must be finite");
  for (const BoxFactor* factor : factors) {
    require(factor->dimension() == d, "MixedProblem.query must be {} finite numbers",
            factor->dimension());
  }
  require(problem.epsilon >= 0 && std::isfinite(problem.epsilon),
          "MixedProblem.epsilon = {} must be >= 0 and finite", problem.epsilon);
  require(std::isfinite(problem.threshold), "MixedProblem.threshold = {} must be finite",
          problem.threshold);
  for (const MixedUnit& unit : problem.units) {
    require(unit.column >= 0 && unit.width >= 1 && unit.column + unit.width <= d,
            "a unit has the columns {} to {}; there are {}", unit.column,
            unit.column + unit.width - 1, d);
    for (const MixedOption& option : unit.options) {
      require(option.values.size() == unit.width && option.cost >= 0,
              "an option of the group at column {} has {} values and the cost {}", unit.column,
              option.values.size(), option.cost);
    }
    require(unit.is_group() || (unit.quadratic >= 0 && unit.absolute >= 0 &&
                                unit.quadratic + unit.absolute > 0 && unit.charge >= 0),
            "the number at column {} has no cost", unit.column);
    require(!unit.step || *unit.step > 0, "the number at column {} has the step {}", unit.column,
            unit.step.value_or(0));
  }
  for (const LinearRule& rule : problem.rules) {
    require(rule.coefficients.size() == d, "a rule has {} coefficients; expected {}",
            rule.coefficients.size(), d);
  }
  for (const std::vector<std::size_t>& set : problem.forbidden) {
    for (const std::size_t u : set) {
      require(u < problem.units.size(), "a forbidden set names the unit {}; there are {}", u,
              problem.units.size());
    }
  }
}

MixedResult solve_mixed(RobustOracle& oracle, const MixedProblem& problem) {
  std::vector<const BoxFactor*> cones;
  for (Index k = 0; k < oracle.parts(); ++k) cones.push_back(&oracle.cone(k));
  check(cones, problem);
  require(problem.epsilon == oracle.epsilon(), "MixedProblem.epsilon = {} is not the oracle's, {}",
          problem.epsilon, oracle.epsilon());
  if (oracle.is_conic() && oracle.parts() == 1) return ValueSearch(oracle.cone(0), problem).run();
  return MixedSearch(oracle, problem).run();
}

MixedResult solve_mixed(const std::vector<BoxFactor>& cones, const MixedProblem& problem) {
  ConicOracle oracle(cones, problem.epsilon);
  return solve_mixed(oracle, problem);
}

MixedResult solve_mixed(const BoxFactor& factor, const MixedProblem& problem) {
  check({&factor}, problem);
  return ValueSearch(factor, problem).run();
}

}  // namespace ellice
