#include "search/mixed_exact.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "request/cost_prices.hpp"
#include "search/mixed_layout.hpp"
#include "search/row_reach.hpp"
#include "search/stated_gap.hpp"
#include "search/tolerances.hpp"
#include "solver/fewest_changes.hpp"

namespace ellice {

namespace {

// Rounding for display: enough parts for a good row, whose gap says what it costs.
constexpr std::size_t display_nodes = 200;

constexpr std::string_view far_answer =
    "the query lies so far from the training rows that no cheaper answer is ruled out";
constexpr std::string_view far_and_nothing =
    "the query lies so far from the training rows that rounding decides: nothing was found, and "
    "nothing is ruled out";

// Why the fewest changes may be fewer still.
constexpr std::string_view limit_doubt = "fewer changes were not ruled out within the node limit";
constexpr std::string_view rounding_doubt =
    "fewer changes may suffice where values are not rounded for display";

// The same of ill-conditioned sets.
constexpr std::string_view lost_doubt =
    "fewer changes are not ruled out: the Hessian is too ill-conditioned for double precision";
constexpr std::string_view lost_and_nothing =
    "the Hessian is so ill-conditioned that rounding decides: nothing was found, and nothing is "
    "ruled out";

}  // namespace

struct MixedExact::Found {
  MixedResult result = {};
  Vector raw = {};
  std::string_view doubt = {};  // of --sparse: why fewer changes are not ruled out, if they are not
};

MixedExact::MixedExact(const Problem& problem, const Assembler& assembler,
                       const LinearQuestion& question, const ExactOptions& options)
    : problem_(&problem), assembler_(&assembler), question_(&question), options_(options) {}

MixedResult MixedExact::solve(const MixedProblem& mixed) const {
  const std::unique_ptr<RobustOracle> oracle = question_->oracle();
  return solve_mixed(*oracle, mixed);
}

bool MixedExact::is_needed(const FeasibleSet& feasible) const {
  if (options_.max_changes || options_.sparse || problem_->cost.sparsity_weight > 0) return true;
  const Schema& schema = problem_->model->schema();
  if (!question_->is_single() || !schema.constraints.empty() || !schema.implications.empty())
    return true;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const FeatureRange& range = feasible.ranges()[j];
    const bool discrete = schema.features[j].kind != FeatureKind::numeric ||
                          (range.has_grid() && !is_display_grid(schema.features[j], range));
    // Where its range holds no value but its own, numbers alone would move it all the same.
    const bool is_stuck = !range.fixed && range.lower < range.upper && !can_change(range);
    if (discrete && (can_change(range) || is_stuck)) return true;
  }
  return false;
}

MixedProblem MixedExact::problem_for(const MixedLayout& layout, const FeasibleSet& feasible,
                                     const Plans& earlier, double margin) const {
  MixedProblem mixed{.query = feasible.query(),
                     .units = layout.units,
                     .epsilon = question_->epsilon(),
                     .threshold = problem_->threshold,
                     .margin = margin,
                     .cutoff = cutoff_,
                     .node_limit = static_cast<std::size_t>(
                         options_.node_limit.value_or(usual_node_limit(*problem_))),
                     .time_limit = options_.time_limit};
  if (options_.max_changes) mixed.max_changes = static_cast<std::size_t>(*options_.max_changes);
  for (const std::vector<std::size_t>& plan : earlier) {
    std::vector<std::size_t> set;
    for (const std::size_t feature : plan) {
      const auto at = std::find(layout.features.begin(), layout.features.end(), feature);
      if (at == layout.features.end()) break;  // it stays in this branch
      set.push_back(static_cast<std::size_t>(at - layout.features.begin()));
    }
    if (set.size() == plan.size()) mixed.forbidden.push_back(std::move(set));
  }
  for (const ModelRule& rule : feasible.rules()) mixed.rules.push_back(rule.rule);
  begin_elsewhere(mixed);
  if (starts_near_) bring_near(mixed);
  return mixed;
}

MixedExact::Found MixedExact::fewest(MixedProblem mixed) const {
  const bool all_may_stay = std::all_of(mixed.units.begin(), mixed.units.end(),
                                        [](const MixedUnit& unit) { return unit.stays; });
  if (question_->is_conic() && question_->is_single() && mixed.rules.empty() && all_may_stay) {
    FewestChanges fewest = solve_fewest(question_->cones().front(), mixed);
    return {.result = std::move(fewest.result), .doubt = fewest.proved ? "" : limit_doubt};
  }
  const std::size_t most = mixed.max_changes.value_or(mixed.units.size());
  Found found;
  for (std::size_t changes = 1; changes <= most; ++changes) {
    mixed.max_changes = changes;
    found.result = solve(mixed);
    if (found.result.found) return found;
    if (found.result.status == MixedStatus::limit) found.doubt = limit_doubt;
  }
  if (!found.doubt.empty()) found.result.status = MixedStatus::limit;
  return found;
}

MixedExact::Found MixedExact::search(const FeasibleSet& feasible, const Plans& earlier,
                                     double margin) const {
  // Parts that hold rows between the display grids alone count, too: what they prove of the
  // nearest.
  const bool rounds = feasible.has_display_steps();
  const std::vector<FeasibleSet> branches =
      rounds ? feasible.without_display_steps().branches() : feasible.branches();
  const auto search_part = [&](const FeasibleSet& branch) {
    return search_branch(branch, rounds ? branch.with_display_steps_of(feasible) : branch, earlier,
                         margin);
  };
  Found best = search_part(branches.front());
  for (std::size_t b = 1; b < branches.size(); ++b) {
    Found found = search_part(branches[b]);
    // What is proved of every branch is proved of all.
    const double bound = std::min(best.result.lower_bound, found.result.lower_bound);
    const bool limited =
        best.result.status == MixedStatus::limit || found.result.status == MixedStatus::limit;
    const std::string_view doubt = best.doubt.empty() ? found.doubt : best.doubt;
    const auto changes = [&](const Found& one) -> Index {
      if (!options_.sparse || !one.result.found) return 0;  // no row to count in
      return (one.raw.array() != feasible.query_raw().array()).count();
    };
    const bool better =
        found.result.found &&
        (!best.result.found || changes(found) < changes(best) ||
         (changes(found) == changes(best) && found.result.objective < best.result.objective));
    // Among rows with the fewest changes, the bound is that of the branches which have them.
    const bool equal = changes(found) == changes(best) && found.result.found && best.result.found;
    const double winner = better ? found.result.lower_bound : best.result.lower_bound;
    const std::size_t nodes = best.result.nodes + found.result.nodes;
    if (better) best = std::move(found);
    best.result.nodes = nodes;
    best.doubt = doubt;
    best.result.lower_bound = options_.sparse && !equal ? winner : bound;
    if (limited) best.result.status = MixedStatus::limit;
  }
  return best;
}

MixedExact::Found MixedExact::search_branch(const FeasibleSet& unrounded,
                                            const FeasibleSet& feasible, const Plans& earlier,
                                            double margin) const {
  const auto search = [&](MixedProblem mixed) {
    if (options_.sparse) return fewest(std::move(mixed));
    return Found{.result = solve(mixed)};
  };
  const MixedLayout layout(*problem_, unrounded, false);
  Found found = search(problem_for(layout, unrounded, earlier, margin));
  if (!found.result.found) return found;
  found.raw = layout.row(unrounded, found.result.point);
  if (feasible.violations(found.raw).empty() || !feasible.has_grid()) return found;
  // Other branches may have rows, and none of them is nearest if one between the grids is.
  const auto none_on_the_grids = [&](Found nothing) {
    nothing.result.lower_bound = found.result.lower_bound;
    if (options_.sparse) nothing.doubt = rounding_doubt;
    return nothing;
  };
  if (feasible.is_empty())
    return none_on_the_grids({.result = {.status = MixedStatus::infeasible}});

  // Numbers go to their display grids while everything else does what was found, or nothing.
  MixedLayout grids(*problem_, feasible, true);
  for (std::size_t u = 0; u < grids.units.size(); ++u) {
    MixedUnit& unit = grids.units[u];
    const auto now = found.result.point.segment(unit.column, unit.width);
    const bool stays = unit.stays && now == feasible.query().segment(unit.column, unit.width);
    if (unit.is_group()) {
      for (std::size_t k = unit.options.size(); k-- > 0;) {
        if (!stays && unit.options[k].values == now) continue;
        if (unit.options.size() == 1) break;  // a group has options
        unit.options.erase(unit.options.begin() + static_cast<std::ptrdiff_t>(k));
        grids.levels[u].erase(grids.levels[u].begin() + static_cast<std::ptrdiff_t>(k));
      }
    } else if (std::any_of(layout.units.begin(), layout.units.end(), [&](const MixedUnit& other) {
                 return other.column == unit.column && other.has_grid();
               })) {
      unit.step.reset();
      unit.values = {stays ? feasible.query()(unit.column) : now(0)};
    }
  }
  MixedProblem rounding = problem_for(grids, feasible, earlier, margin);
  rounding.node_limit = std::min(rounding.node_limit, display_nodes);
  Found rounded = search(rounding);
  if (!rounded.result.found) {
    grids = MixedLayout(*problem_, feasible, true);
    rounded = search(problem_for(grids, feasible, earlier, margin));
    if (!rounded.result.found) return none_on_the_grids(std::move(rounded));
  }
  rounded.raw = grids.row(feasible, rounded.result.point);
  rounded.result.lower_bound = std::min(found.result.lower_bound, rounded.result.objective);
  const auto changes = [&](const Vector& raw) {
    return (raw.array() != feasible.query_raw().array()).count();
  };
  const bool takes_more = options_.sparse && changes(rounded.raw) > changes(found.raw);
  rounded.doubt = takes_more ? rounding_doubt : found.doubt;
  return rounded;
}

MixedExact::Found MixedExact::search_near(const FeasibleSet& feasible, const Plans& earlier) const {
  MixedExact near = *this;
  near.starts_near_ = true;
  return near.search(feasible, earlier, exact_margins.back());
}

MixedExact::Found MixedExact::search_surely(const FeasibleSet& feasible, const Plans& earlier,
                                            double margin) const {
  const LinearQuestion smaller = question_->surely();
  MixedExact sure = *this;
  sure.question_ = &smaller;
  return sure.search(feasible, earlier, margin);
}

bool MixedExact::answer_below_robust_row(Answer& result, const FeasibleSet& feasible,
                                         const Plans& earlier, double bound) const {
  std::optional<std::size_t> most_changes;
  if (options_.max_changes) most_changes = static_cast<std::size_t>(*options_.max_changes);
  const Reached reached = RowReach(*problem_, *question_).robust_row(feasible, most_changes);
  if (reached.status != Reached::Status::found) return false;
  const bool changes_a_plan = std::any_of(earlier.begin(), earlier.end(), [&](const auto& plan) {
    return std::all_of(plan.begin(), plan.end(), [&](std::size_t j) {
      const auto at = static_cast<Index>(j);
      return reached.row(at) != feasible.query_raw()(at);
    });
  });
  Answer cheaper = result;
  if (changes_a_plan || !assembler_->accept(result, reached.row, feasible)) return false;
  if (options_.sparse) {
    result.message = limit_doubt;
    return true;
  }
  const bool square_root = prices_of(problem_->cost.kind).is_root;
  const double cost = result.distance.weighted;
  MixedExact below = *this;
  below.cutoff_ = square_root ? cost * cost : cost;
  const Found found = below.search(feasible, earlier, exact_margins.front());
  double proved = found.result.lower_bound;
  if (question_->lost() > 0) {
    proved = std::min(
        proved, below.search_surely(feasible, earlier, exact_margins.front()).result.lower_bound);
  } else {
    proved = std::max(proved, bound);
  }
  if (found.result.found && assembler_->accept(cheaper, found.raw, feasible))
    result = std::move(cheaper);
  proved = std::max(proved, 0.0);
  state_gap(result, square_root ? std::sqrt(proved) : proved, question_->lost());
  return true;
}

MixedExact::Outcome MixedExact::answer(Answer& result, const FeasibleSet& feasible,
                                       const Plans& earlier) const {
  const bool is_far = feasible.query().cwiseAbs().maxCoeff() > far_query;
  for (const double margin : exact_margins) {
    const Found found = search(feasible, earlier, margin);
    if (!found.result.found && is_far) {
      const Found near = search_near(feasible, earlier);
      const bool passes = near.result.found && assembler_->accept(result, near.raw, feasible);
      result.message = passes ? far_answer : far_and_nothing;
      return passes ? Outcome::answered : Outcome::blocked;
    }
    if (!found.result.found) {
      // That the wider margins have none proves nothing: there was one, if only before rounding.
      if (margin != exact_margins.front()) return Outcome::blocked;
      if (found.result.status == MixedStatus::infeasible) {
        const bool is_sure =
            question_->lost() == 0 ||
            search_surely(feasible, earlier, margin).result.status == MixedStatus::infeasible;
        if (!is_sure) result.message = lost_and_nothing;
        return is_sure ? Outcome::impossible : Outcome::blocked;
      }
      if (answer_below_robust_row(result, feasible, earlier, found.result.lower_bound))
        return Outcome::answered;
      result.message =
          fmt::format("nothing was found in {} parts of the search; `node_limit` allows more",
                      found.result.nodes);
      return Outcome::blocked;
    }
    if (!assembler_->accept(result, found.raw, feasible)) {
      const std::vector<std::string> broken = feasible.violations(found.raw);
      result.message = broken.empty()
                           ? "the answer did not survive rounding"
                           : fmt::format("the nearest answer breaks {}", fmt::join(broken, "; "));
      continue;
    }
    result.message.clear();
    std::string_view doubt = found.doubt;
    double bound = std::max(0.0, found.result.lower_bound);
    if (question_->lost() > 0) {
      const Found sure = search_surely(feasible, earlier, exact_margins.front());
      const auto changes = [&](const Found& one) {
        return (one.raw.array() != feasible.query_raw().array()).count();
      };
      if (options_.sparse && sure.result.found && changes(sure) != changes(found))
        doubt = lost_doubt;
      bound = std::clamp(sure.result.lower_bound, 0.0, bound);
    }
    if (!doubt.empty()) {
      result.message = doubt;
      return Outcome::answered;
    }
    const bool square_root = prices_of(problem_->cost.kind).is_root;
    state_gap(result, square_root ? std::sqrt(bound) : bound, question_->lost());
    return Outcome::answered;
  }
  return Outcome::blocked;
}

}  // namespace ellice
