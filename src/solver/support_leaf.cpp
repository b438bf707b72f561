// The ends of the search over sets: all units but the chosen ones rest.

#include <algorithm>
#include <optional>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "solver/support_search.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

void SupportSearch::offer(const RobustLogit::State& state, double cost) {
  if (!(cost < best_cost_)) return;
  best_cost_ = cost;
  best_ = state.x;
}

void SupportSearch::solve_leaf() {
  std::vector<std::size_t> numbers;
  for (const Chosen& chosen : chosen_) {
    if (!chosen.is_option) numbers.push_back(order_[chosen.place]);
  }
  if (!numbers.empty()) {
    solve_numbers(numbers);
    return;
  }
  const RobustLogit::State state = evaluate(point_);
  if (missing(state) <= 0) offer(state, paid_);
  add_cut(state);
}

void SupportSearch::solve_numbers(const std::vector<std::size_t>& numbers) {
  const auto size = static_cast<Index>(numbers.size());
  std::vector<Index> columns;
  BoxProblem box{.query = Vector(size),
                 .lower = Vector(size),
                 .upper = Vector(size),
                 .cost = {.quadratic = Vector(size), .absolute = Vector(size)},
                 .epsilon = problem_->epsilon,
                 .threshold = problem_->threshold};
  double charges = 0;
  bool has_grid = false;
  for (Index k = 0; k < size; ++k) {
    const std::size_t u = numbers[static_cast<std::size_t>(k)];
    const MixedUnit& unit = units_[u].unit();
    columns.push_back(unit.column);
    box.query[k] = problem_->query[unit.column];
    box.lower[k] = domains_[u].lower;
    box.upper[k] = domains_[u].upper;
    box.cost.quadratic[k] = unit.quadratic;
    box.cost.absolute[k] = unit.absolute;
    charges += unit.charge;
    has_grid = has_grid || unit.has_grid();
  }
  const BoxFactor factor = factor_->restricted(columns, point_);
  BoxProjection solved = factor.project(box);
  Vector x = point_;
  x(columns) = solved.point;
  const RobustLogit::State state = evaluate(x);
  add_cut(state);
  if (solved.status == BoxStatus::infeasible) return;
  const double bound = paid_ + charges + solved.lower_bound;
  if (bound >= enough()) return;
  if (has_grid && size == 1 && solved.status != BoxStatus::inexact) {
    solve_grid_number(numbers.front(), solved.point[0]);
  } else if (has_grid) {
    solve_grids(numbers, columns, factor);
  } else {
    const double certified = bound + solved.multiplier * certificate_margin * scale(state);
    lift(factor, std::move(box), std::move(solved), columns, charges);
    leave_open(certified);
  }
}

void SupportSearch::lift(const BoxFactor& factor, BoxProblem box, BoxProjection solved,
                         const std::vector<Index>& columns, double charges) {
  Vector x = point_;
  double raised = problem_->threshold;
  for (int k = 0; k <= most_raises; ++k) {
    check_stop();
    x(columns) = solved.point;
    const RobustLogit::State state = evaluate(x);
    const double lacks = missing(state);
    if (lacks <= 0) {
      offer(state, paid_ + charges + solved.objective);
      return;
    }
    raised = std::max(raised + lacks, problem_->threshold + problem_->margin * scale(state));
    box.threshold = raised;
    box.start = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
    solved = factor.project(box);
    if (solved.status == BoxStatus::infeasible) return;
  }
}

// Robust values are an interval, and `relaxed` is its nearer end: the cheapest grid value is the
// first one from there, away from the query.
void SupportSearch::solve_grid_number(std::size_t unit, double relaxed) {
  const UnitView& view = units_[unit];
  const Index column = view.unit().column;
  const bool upwards = relaxed >= problem_->query[column];
  Vector x = point_;
  std::optional<double> value = upwards ? view.above(relaxed) : view.below(relaxed);
  // The first may be the end itself and miss the margin by rounding.
  for (int k = 0; k < 2 && value; ++k) {
    if (*value > domains_[unit].upper || *value < domains_[unit].lower) return;
    x[column] = *value;
    const RobustLogit::State state = evaluate(x);
    if (missing(state) <= 0) {
      offer(state, paid_ + view.unit().charge + view.cost(*value));
      return;
    }
    value =
        upwards ? view.after(*value) : std::optional(view.until(std::nextafter(*value, -infinity)));
  }
}

void SupportSearch::solve_grids(const std::vector<std::size_t>& numbers,
                                const std::vector<Index>& columns, const BoxFactor& factor) {
  MixedProblem part{.query = problem_->query(columns),
                    .epsilon = problem_->epsilon,
                    .threshold = problem_->threshold,
                    .margin = problem_->margin,
                    .cutoff = best_cost_ - paid_,
                    .node_limit = problem_->node_limit,
                    .time_limit = problem_->time_limit};
  for (const std::size_t u : numbers) {
    part.units.push_back(units_[u].unit());
    part.units.back().column = static_cast<Index>(part.units.size()) - 1;
  }
  Vector x = point_;
  std::optional<double> bound;  // of the first solve: what follows asks for more
  for (int k = 0; k <= most_raises; ++k) {
    check_stop();
    const MixedResult solved = solve_mixed(factor, part);
    if (!bound) bound = paid_ + solved.lower_bound;
    if (!solved.found) break;
    x(columns) = solved.point;
    const RobustLogit::State state = evaluate(x);
    const double lacks = missing(state);
    if (lacks <= 0) {
      offer(state, paid_ + solved.objective);
      break;
    }
    part.threshold += lacks;
  }
  leave_open(*bound);
}

}  // namespace ellice
