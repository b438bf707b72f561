// The ends of the branch and bound: points that can be answers.

#include <algorithm>
#include <bit>
#include <cmath>

#include "solver/mixed_search.hpp"

namespace ellice {

namespace {

constexpr int most_raises = 4;
// What certificates ask for, relative to the terms of g; certified points keep that distance.
constexpr double certificate_margin = 1e-12;

std::uint64_t mixed_with(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

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
  for (const BoxFactor* factor : factors_) {
    result.cones.push_back(
        {.factor = factor, .epsilon = problem_->epsilon, .threshold = problem_->threshold});
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
  return make_cut(plane.head(d), need - tolerance - rounding(need));
}

void MixedSearch::add_relaxed_cut(MixedNode& node) {
  const BoxProblem box = relaxed_box(node);
  if (is_single_ || !is_conic_) {
    const BoxProjection solved = factors_.front()->project(box);
    node.multiplier = solved.multiplier;
    add_cut(make_cut(evaluate(solved.point)));
    return;
  }
  const IntersectionProblem relaxed = intersection(box);
  const ConeIntersection solved = intersect_cones(relaxed);
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
  const RobustLogit::State state = evaluate(point_of(choices));
  const double missing = problem_->threshold + problem_->margin * scale(state) - state.value;
  if (missing <= 0) offer(state.x);
  return std::max(missing, 0.0);
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
  const RobustLogit::State state = evaluate(std::move(x));
  const double missing = problem_->threshold + problem_->margin * scale(state) - state.value;
  if (missing > 0) {
    add_cut(make_cut(state));
    return {.infeasible = true, .missing = missing};
  }
  offer(state.x);
  return {.infeasible = !satisfies_rules(state.x), .lower_bound = paid};
}

MixedSearch::Leaf MixedSearch::solve_numbers(Vector x, const std::vector<Domain>& domains,
                                             const std::vector<std::size_t>& numbers, double paid) {
  if (!is_single_) return solve_intersection(x, domains, numbers, paid);
  const auto size = static_cast<Index>(numbers.size());
  std::vector<Index> columns;
  BoxProblem box{.query = Vector(size),
                 .lower = Vector(size),
                 .upper = Vector(size),
                 .cost = {.quadratic = Vector(size), .absolute = Vector(size)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  for (Index k = 0; k < size; ++k) {
    const std::size_t u = numbers[static_cast<std::size_t>(k)];
    const MixedUnit& unit = units_[u].unit();
    columns.push_back(unit.column);
    box.query[k] = problem_->query[unit.column];
    box.lower[k] = domains[u].lower;
    box.upper[k] = domains[u].upper;
    box.cost.quadratic[k] = unit.quadratic;
    box.cost.absolute[k] = unit.absolute;
  }
  const BoxFactor factor = factors_.front()->restricted(columns, x);
  BoxProjection solved = factor.project(box);
  const auto full = [&](const Vector& part) {
    x(columns) = part;
    return evaluate(x);
  };
  RobustLogit::State state = full(solved.point);
  if (solved.status == BoxStatus::infeasible) {
    add_cut(make_cut(state));
    return {.infeasible = true, .missing = problem_->threshold - state.value};
  }
  const Leaf leaf{.lower_bound = paid + solved.lower_bound +
                                 solved.multiplier * certificate_margin * scale(state)};
  add_cut(make_cut(state));
  // Above the threshold by the margin, and by what rounding of the restricted logit may have taken.
  double raised = problem_->threshold;
  for (int k = 0; k < 4; ++k) {
    const double missing = problem_->threshold + problem_->margin * scale(state) - state.value;
    if (missing <= 0) {
      offer(state.x);
      break;
    }
    raised = std::max(raised + missing, problem_->threshold + problem_->margin * scale(state));
    box.threshold = raised;
    box.start = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
    solved = factor.project(box);
    if (solved.status == BoxStatus::infeasible) break;
    state = full(solved.point);
  }
  return leaf;
}

MixedSearch::Leaf MixedSearch::solve_intersection(const Vector& x,
                                                  const std::vector<Domain>& domains,
                                                  const std::vector<std::size_t>& numbers,
                                                  double paid) {
  const Index d = problem_->query.size();
  const bool squares = std::any_of(numbers.begin(), numbers.end(),
                                   [&](std::size_t u) { return units_[u].unit().quadratic > 0; });
  BoxProblem box{.query = x,
                 .lower = x,
                 .upper = x,
                 .cost = {.quadratic = Vector::Constant(d, squares ? 1 : 0),
                          .absolute = Vector::Constant(d, squares ? 0 : 1)}};
  for (const std::size_t u : numbers) {
    const MixedUnit& unit = units_[u].unit();
    box.lower[unit.column] = domains[u].lower;
    box.upper[unit.column] = domains[u].upper;
    box.cost.quadratic[unit.column] = unit.quadratic;
    box.cost.absolute[unit.column] = unit.absolute;
  }
  const IntersectionProblem rest = intersection(box);
  const ConeIntersection solved = intersect_cones(rest);
  double size = 0;
  if (std::optional<Cut> cut = make_cut(rest, solved.weights, size)) add_cut(std::move(*cut));
  if (solved.status == IntersectionStatus::infeasible) return {.infeasible = true};
  double keeps = 0;  // what certified points keep from the thresholds
  for (std::size_t k = 0; k < logits_.size(); ++k) {
    const RobustLogit::State state = evaluate(logits_[k], solved.point);
    keeps += solved.weights.cones[static_cast<Index>(k)] * certificate_margin * scale(state);
  }
  if (solved.feasible) offer(solved.point);
  return {.lower_bound = paid + solved.lower_bound + keeps};
}

}  // namespace ellice
