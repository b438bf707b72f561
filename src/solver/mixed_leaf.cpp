// The ends of the branch and bound: points that can be answers.

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/stop.hpp"
#include "solver/corrected_search.hpp"
#include "solver/hash_mix.hpp"
#include "solver/mixed_search.hpp"
#include "solver/rule_rounding.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

// Cones that are searched for a first answer where they are pictures only, and into how many parts:
// theirs cost little. The first as thoroughly as where it is the function itself.
constexpr int most_seeds = 4;
constexpr std::size_t first_seed_nodes = 5000;
constexpr std::size_t seed_nodes = 500;
// On a cone's extent, after one whose answer did not pass.
constexpr double leaf_caution = 1.01;

}  // namespace

void MixedSearch::place(Vector& x, std::size_t u, const Choice& choice) const {
  if (!choice.moves) return;
  const MixedUnit& unit = units_[u].unit();
  if (unit.is_group()) {
    x.segment(unit.column, unit.width) = unit.options[choice.option].values;
  } else {
    x[unit.column] = choice.value;
  }
}

Vector MixedSearch::point_of(const std::vector<Choice>& choices) const {
  Vector x = problem_->query;
  for (std::size_t u = 0; u < units_.size(); ++u) place(x, u, choices[u]);
  return x;
}

double MixedSearch::cost_of(const Vector& x) const {
  double sum = 0;
  for (const UnitView& view : units_) {
    const MixedUnit& unit = view.unit();
    const auto now = x.segment(unit.column, unit.width);
    if (now == problem_->query.segment(unit.column, unit.width)) continue;
    if (!unit.is_group()) {
      sum += unit.charge + view.cost(x[unit.column]);
      continue;
    }
    const auto option =
        std::find_if(unit.options.begin(), unit.options.end(),
                     [&](const MixedOption& candidate) { return candidate.values == now; });
    sum += option->cost;
  }
  return sum;
}

bool MixedSearch::satisfies_rules(VectorArg x) const {
  return std::all_of(problem_->rules.begin(), problem_->rules.end(),
                     [&](const LinearRule& rule) { return rule.holds(x); });
}

void MixedSearch::offer(const Vector& x) {
  const double cost = cost_of(x);
  if (!(cost < best_cost_)) return;
  if (!satisfies_rules(x)) {
    mixes_ = true;
    return;
  }
  std::vector<bool> changed;
  for (const UnitView& view : units_) {
    const Index column = view.unit().column;
    const Index width = view.unit().width;
    changed.push_back(x.segment(column, width) != problem_->query.segment(column, width));
  }
  const auto count = static_cast<std::size_t>(std::count(changed.begin(), changed.end(), true));
  if (problem_->max_changes && count > *problem_->max_changes) return;
  for (const std::vector<std::size_t>& set : problem_->forbidden) {
    if (std::all_of(set.begin(), set.end(), [&](std::size_t u) { return changed[u]; })) return;
  }
  found_ = true;
  best_ = x;
  best_cost_ = cost;
}

BoxProblem MixedSearch::relaxed_box(const MixedNode& node) const {
  const Index d = problem_->query.size();
  const bool squares = std::any_of(units_.begin(), units_.end(), [](const UnitView& view) {
    return view.unit().is_group() || view.unit().quadratic > 0;
  });
  BoxProblem box{.query = problem_->query,
                 .lower = problem_->query,
                 .upper = problem_->query,
                 .cost = {.quadratic = Vector::Constant(d, squares ? 1 : 0),
                          .absolute = Vector::Constant(d, squares ? 0 : 1)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const MixedUnit& unit = units_[u].unit();
    const Domain& domain = node.domains[u];
    if (!domain.moves) continue;
    for (std::size_t k = 0; k < domain.options.size(); ++k) {
      if (domain.options[k] == 0) continue;
      const MixedOption& option = unit.options[k];
      for (Index i = 0; i < unit.width; ++i) {
        const Index column = unit.column + i;
        box.lower[column] = std::min(box.lower[column], option.values[i]);
        box.upper[column] = std::max(box.upper[column], option.values[i]);
        if (option.cost > 0) box.cost.quadratic[column] = option.cost;
      }
    }
    if (unit.is_group()) continue;
    const double own = problem_->query[unit.column];
    box.lower[unit.column] = domain.stays ? std::min(own, domain.lower) : domain.lower;
    box.upper[unit.column] = domain.stays ? std::max(own, domain.upper) : domain.upper;
    if (unit.quadratic > 0) box.cost.quadratic[unit.column] = unit.quadratic;
    box.cost.absolute[unit.column] = unit.absolute;
  }
  return box;
}

IntersectionProblem MixedSearch::intersection(const BoxProblem& box) const {
  IntersectionProblem result{.query = box.query,
                             .lower = box.lower,
                             .upper = box.upper,
                             .cost = box.cost,
                             .rules = problem_->rules,
                             .margin = problem_->margin};
  for (Index k = 0; k < oracle_->parts(); ++k) {
    result.cones.push_back({.factor = &oracle_->cone(k),
                            .epsilon = problem_->epsilon,
                            .threshold = problem_->threshold});
  }
  return result;
}

std::optional<Cut> MixedSearch::make_cut(const IntersectionProblem& box, const ConeWeights& weights,
                                         double& size) const {
  size = weights.cones.sum() + weights.rules.cwiseAbs().sum();
  if (!(size > 0)) return std::nullopt;
  const Vector plane = combined_half_space(box, weights) / size;
  const Index d = problem_->query.size();
  double tolerance = 0;
  for (std::size_t r = 0; r < problem_->rules.size(); ++r)
    tolerance +=
        std::abs(weights.rules[static_cast<Index>(r)]) / size * problem_->rules[r].tolerance;
  const double need = -plane[d] - plane.head(d).dot(problem_->query);
  return make_cut(plane.head(d), need - tolerance - rule_rounding(need));
}

void MixedSearch::add_relaxed_cut(MixedNode& node) {
  const BoxProblem box = relaxed_box(node);
  if (oracle_->parts() == 1 && (is_plain_ || !oracle_->is_conic())) {
    const BoxProjection solved = oracle_->cone(0).project(box);
    node.multiplier = solved.multiplier;
    add_cut(make_cut(evaluate(solved.point).worst));
    return;
  }
  const IntersectionProblem relaxed = intersection(box);
  const ConeIntersection solved = intersect_cones(relaxed);
  if (!oracle_->is_conic()) {
    if (solved.feasible) add_cut(make_cut(evaluate(solved.point).worst));
    return;
  }
  mixes_ =
      mixes_ ||
      (solved.weights.cones.array() > 0).count() + (solved.weights.rules.array() != 0).count() > 1;
  if (std::optional<Cut> cut = make_cut(relaxed, solved.weights, node.multiplier))
    add_cut(std::move(*cut));
}

void MixedSearch::try_choices(const MixedNode& node, const Room& room, const DualBound& bound) {
  double missing = try_point(node, room, bound.above.choices);
  if (has_numbers_) (void)try_point(node, room, bound.below.choices);
  // Points of grids that satisfy the cut may miss g ≥ t by a little: aim higher by that.
  double raise = 0;
  for (int k = 0; k < most_raises && missing > 0; ++k) {
    check_stop();
    raise += 1.1 * missing;
    const DualBound higher =
        dual_.maximise(*bound.cut, node.domains, room.slots, bound.best().multiplier,
                       std::numeric_limits<double>::infinity(), raise);
    if (higher.infeasible || higher.value >= best_cost_) break;
    missing = try_point(node, room, higher.above.choices);
  }
}

double MixedSearch::try_point(const MixedNode& node, const Room& room,
                              const std::vector<Choice>& choices) {
  std::uint64_t hash = 1;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const Choice& choice = choices[u];
    const MixedUnit& unit = units_[u].unit();
    const bool discrete = unit.is_group() || unit.has_grid();
    if (!choice.moves || (!discrete && !is_charged(u, node.domains[u], room))) continue;
    hash = mixed_with(hash, u);
    hash = mixed_with(hash, unit.is_group()   ? choice.option
                            : unit.has_grid() ? std::bit_cast<std::uint64_t>(choice.value)
                                              : 0);
  }
  if (has_numbers_) {
    if (!tried_.insert(hash).second) return 0;
    std::vector<Domain> domains;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const Domain& domain = node.domains[u];
      domains.push_back(units_[u].decided(domain, choices[u], is_charged(u, domain, room)));
    }
    return solve_leaf(domains).missing;
  }
  const Judged judged = evaluate(point_of(choices));
  if (judged.missing <= 0) offer(judged.worst.x);
  return std::max(judged.missing, 0.0);
}

MixedSearch::Leaf MixedSearch::solve_leaf(const std::vector<Domain>& domains) {
  Vector x = problem_->query;
  std::vector<std::size_t> numbers;
  double paid = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const MixedUnit& unit = units_[u].unit();
    const Domain& domain = domains[u];
    if (!domain.moves) continue;
    Choice choice{.moves = true};
    if (unit.is_group()) {
      choice.option = static_cast<std::size_t>(
          std::find(domain.options.begin(), domain.options.end(), 1) - domain.options.begin());
      paid += unit.options[choice.option].cost;
    } else if (unit.has_grid()) {
      choice.value = domain.lower;
      paid += unit.charge + units_[u].cost(choice.value);
    } else {
      numbers.push_back(u);
      if (!domain.stays) paid += unit.charge;
      continue;
    }
    place(x, u, choice);
  }
  if (!numbers.empty()) return solve_numbers(std::move(x), domains, numbers, paid);
  const Judged judged = evaluate(x);
  if (judged.missing > 0) {
    add_cut(make_cut(judged.worst));
    // Between the two bounds of a set that is searched nothing is ruled out.
    const bool is_refused = oracle_->is_conic() || judged.worst.value < problem_->threshold;
    return {.infeasible = is_refused, .lower_bound = paid, .missing = judged.missing};
  }
  offer(x);
  return {.infeasible = !satisfies_rules(x), .lower_bound = paid};
}

BoxProblem MixedSearch::number_box(const Vector& x, const std::vector<Domain>& domains,
                                   const std::vector<std::size_t>& numbers) const {
  const Index d = problem_->query.size();
  const bool squares = std::any_of(numbers.begin(), numbers.end(),
                                   [&](std::size_t u) { return units_[u].unit().quadratic > 0; });
  BoxProblem box{.query = x,
                 .lower = x,
                 .upper = x,
                 .cost = {.quadratic = Vector::Constant(d, squares ? 1 : 0),
                          .absolute = Vector::Constant(d, squares ? 0 : 1)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  for (const std::size_t u : numbers) {
    const MixedUnit& unit = units_[u].unit();
    box.lower[unit.column] = domains[u].lower;
    box.upper[unit.column] = domains[u].upper;
    box.cost.quadratic[unit.column] = unit.quadratic;
    box.cost.absolute[unit.column] = unit.absolute;
  }
  return box;
}

MixedSearch::Leaf MixedSearch::solve_numbers(Vector x, const std::vector<Domain>& domains,
                                             const std::vector<std::size_t>& numbers, double paid) {
  if (!oracle_->is_conic()) return solve_corrected(x, domains, numbers, paid);
  if (!is_plain_) return solve_intersection(x, domains, numbers, paid);
  std::vector<Index> columns;
  for (const std::size_t u : numbers) columns.push_back(units_[u].unit().column);
  const BoxProblem whole = number_box(x, domains, numbers);
  BoxProblem box{.query = x(columns),
                 .lower = whole.lower(columns),
                 .upper = whole.upper(columns),
                 .cost = {.quadratic = whole.cost.quadratic(columns),
                          .absolute = whole.cost.absolute(columns)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  const BoxFactor factor = oracle_->cone(0).restricted(columns, x);
  BoxProjection solved = factor.project(box);
  const auto full = [&](const Vector& part) {
    x(columns) = part;
    return evaluate(x);
  };
  Judged judged = full(solved.point);
  add_cut(make_cut(judged.worst));
  if (solved.status == BoxStatus::infeasible)
    return {.infeasible = true, .missing = problem_->threshold - judged.worst.value};
  const Leaf leaf{.lower_bound = paid + solved.lower_bound +
                                 solved.multiplier * certificate_margin * scale(judged.worst)};
  // Above the threshold by the margin, and by what rounding of the restricted logit may have taken.
  double raised = problem_->threshold;
  for (int k = 0; k < 4; ++k) {
    if (judged.missing <= 0) {
      offer(judged.worst.x);
      break;
    }
    raised = std::max(raised + judged.missing,
                      problem_->threshold + problem_->margin * scale(judged.worst));
    box.threshold = raised;
    box.start = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
    solved = factor.project(box);
    if (solved.status == BoxStatus::infeasible) break;
    judged = full(solved.point);
  }
  return leaf;
}

MixedSearch::Leaf MixedSearch::solve_corrected(const Vector& x, const std::vector<Domain>& domains,
                                               const std::vector<std::size_t>& numbers,
                                               double paid) {
  const BoxProblem box = number_box(x, domains, numbers);
  const OracleResult solved = search_corrected(*oracle_, {.query = x,
                                                          .lower = box.lower,
                                                          .upper = box.upper,
                                                          .cost = box.cost,
                                                          .rules = problem_->rules,
                                                          .threshold = problem_->threshold,
                                                          .margin = problem_->margin,
                                                          .cutoff = enough() - paid});
  double most = 0;
  for (const Support& at : solved.supports) {
    most = std::max(most, missing(at));
    if (missing(at) >= most) add_cut(make_cut(at));
  }
  if (solved.found) offer(solved.point);
  return {.infeasible = solved.proof.has_value(),
          .lower_bound = paid + (solved.proof ? 0 : solved.lower_bound),
          .missing = solved.found ? 0 : most};
}

MixedSearch::Leaf MixedSearch::solve_intersection(const Vector& x,
                                                  const std::vector<Domain>& domains,
                                                  const std::vector<std::size_t>& numbers,
                                                  double paid) {
  const IntersectionProblem rest = intersection(number_box(x, domains, numbers));
  const ConeIntersection solved = intersect_cones(rest);
  double size = 0;
  if (std::optional<Cut> cut = make_cut(rest, solved.weights, size)) add_cut(std::move(*cut));
  if (solved.status == IntersectionStatus::infeasible) return {.infeasible = true};
  (void)evaluate(solved.point);
  double keeps = 0;  // what certified points keep from the thresholds
  for (Index k = 0; k < oracle_->parts(); ++k) {
    keeps += solved.weights.cones[k] * certificate_margin *
             scale(supports_[static_cast<std::size_t>(k)]);
  }
  if (solved.feasible) offer(solved.point);
  return {.lower_bound = paid + solved.lower_bound + keeps};
}

bool MixedSearch::has_choices() const {
  return problem_->max_changes || !problem_->forbidden.empty() ||
         std::any_of(problem_->units.begin(), problem_->units.end(), [](const MixedUnit& unit) {
           return unit.is_group() || unit.has_grid() || unit.charge > 0;
         });
}

void MixedSearch::seed() {
  if (!has_choices()) return;  // a leaf
  MixedProblem stand_in = *problem_;
  stand_in.node_limit = first_seed_nodes;
  std::vector<BoxFactor> cones;
  for (Index k = 0; k < oracle_->parts(); ++k) cones.push_back(oracle_->cone(k));
  double boost = 1;
  for (int round = 0; round < most_seeds; ++round) {
    check_stop();
    const MixedResult solved = solve_mixed(cones, stand_in);
    if (!solved.found && round > 0) return;
    const Vector point = solved.found ? solved.point : problem_->query;
    const Judged judged = evaluate(point);
    add_cut(make_cut(judged.worst));
    if (solved.found && judged.missing <= 0) offer(point);
    if (judged.missing > 0) boost *= leaf_caution;
    stand_in.cutoff = enough();
    stand_in.node_limit = seed_nodes;
    for (Index k = 0; k < oracle_->parts(); ++k) {
      const auto place = static_cast<std::size_t>(k);
      cones[place] = corrected_cone(*oracle_, supports_[place], k, boost);
    }
  }
}

}  // namespace ellice
