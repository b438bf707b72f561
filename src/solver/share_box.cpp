// The relaxation of a node whose open units are numbers on lines, solved as one box.

#include <algorithm>
#include <cmath>

#include "solver/share_relaxation.hpp"

namespace ellice {

namespace {

constexpr double box_work = 2000;  // of a box that is solved whole

/// Costs of options on a line, as if they grew with the square of the move.
double curvature_of(double cost, double move) {
  return move == 0 ? 0 : 2 * cost / (move * move);
}

}  // namespace

bool ShareRelaxation::is_box(const ShareNode& node) const {
  if (!layout_->rules().empty() || node.is_limited) return false;
  const bool is_quadratic =
      std::all_of(layout_->numbers().begin(), layout_->numbers().end(),
                  [](const NumberUnit& unit) { return unit.quadratic > 0 && unit.charge == 0; });
  return is_quadratic &&
         std::all_of(layout_->lists().begin(), layout_->lists().end(), [&](const ListUnit& list) {
           const auto open =
               std::count(node.open.begin() + static_cast<std::ptrdiff_t>(list.first),
                          node.open.begin() + static_cast<std::ptrdiff_t>(list.last), 1);
           return list.width == 1 || open == 1;
         });
}

double ShareRelaxation::cost_at(const ShareNode& node) const {
  double cost = 0;
  for (std::size_t o = 0; o < node.shares.size(); ++o)
    cost += node.shares[o] * layout_->option_cost(o);
  for (std::size_t k = 0; k < node.moves.size(); ++k)
    cost += layout_->numbers()[k].cost(node.moves[k]);
  return cost;
}

void ShareRelaxation::make_box(const ShareNode& node, double lift) {
  const Index d = layout_->columns();
  const MixedProblem& problem = layout_->problem();
  box_.query = problem.query;
  box_.lower = box_.upper = problem.query;
  box_.cost.quadratic = Vector::Ones(d);
  box_.cost.absolute = Vector::Zero(d);
  box_.epsilon = problem.epsilon;
  box_.threshold = problem.threshold + lift;
  const auto extend = [&](Index column, double low, double high) {
    box_.lower[column] = problem.query[column] + low;
    box_.upper[column] = problem.query[column] + high;
  };
  for (const ListUnit& list : layout_->lists()) {
    for (Index i = 0; i < list.width; ++i) {
      double low = infinity;
      double high = -infinity;
      double bend = 0;
      for (std::size_t o = list.first; o < list.last; ++o) {
        if (node.open[o] == 0) continue;
        const double move = layout_->moves(list, o)[i];
        low = std::min(low, move);
        high = std::max(high, move);
        bend = std::max(bend, curvature_of(layout_->option_cost(o), move));
      }
      extend(list.column + i, low, high);
      if (bend > 0) box_.cost.quadratic[list.column + i] = bend;
    }
  }
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    const NumberUnit& unit = layout_->numbers()[k];
    const bool stays = (node.modes[k] & ShareNode::stay) != 0;
    const bool moves = (node.modes[k] & ShareNode::move) != 0;
    extend(unit.column, moves ? (stays ? std::min(0.0, unit.lower) : unit.lower) : 0,
           moves ? (stays ? std::max(0.0, unit.upper) : unit.upper) : 0);
    box_.cost.quadratic[unit.column] = unit.quadratic;
    box_.cost.absolute[unit.column] = unit.absolute;
  }
}

std::optional<BoxProblem> ShareRelaxation::box_of(const ShareNode& node) {
  if (!is_box(node)) return std::nullopt;
  make_box(node, 0);
  return box_;
}

double ShareRelaxation::most_in_box(const ShareNode& node) {
  if (!is_box(node)) return 0;
  make_box(node, 0);
  limit_->add(box_work);
  return factor_->maximize(box_.lower, box_.upper, box_.epsilon).logit - box_.threshold;
}

bool ShareRelaxation::place_in_box(ShareNode& node, double lift) {
  if (!is_box(node)) return false;
  make_box(node, lift);
  const Vector& query = layout_->problem().query;
  const BoxProjection solved = factor_->project(box_);
  limit_->add(box_work);
  for (std::size_t k = 0; k < node.modes.size(); ++k) {
    if (node.modes[k] == ShareNode::stay) continue;
    const Index column = layout_->numbers()[k].column;
    node.moves[k] = solved.point[column] - query[column];
  }
  for (const ListUnit& list : layout_->lists()) {
    if (list.width == 1) share_out(node, list, solved.point[list.column] - query[list.column]);
  }
  if (solved.status != BoxStatus::infeasible) node.multiplier = solved.multiplier;
  start(node);
  return node.multiplier > 0;
}

// Between the open options on either side of a move.
void ShareRelaxation::share_out(ShareNode& node, const ListUnit& list, double move) const {
  std::size_t below = list.last;
  std::size_t above = list.last;
  const auto at = [&](std::size_t option) { return layout_->moves(list, option)[0]; };
  for (std::size_t o = list.first; o < list.last; ++o) {
    if (node.open[o] == 0) continue;
    node.shares[o] = 0;
    if (at(o) <= move && (below == list.last || at(o) > at(below))) below = o;
    if (at(o) >= move && (above == list.last || at(o) < at(above))) above = o;
  }
  if (below == list.last) below = above;
  if (above == list.last) above = below;
  const double width = at(above) - at(below);
  const double share = width > 0 ? std::clamp((move - at(below)) / width, 0.0, 1.0) : 1;
  node.shares[below] = 1 - share;
  node.shares[above] += share;
}

}  // namespace ellice
