#include "ellice/recourse/frontier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/recourse/linear_exact.hpp"

namespace ellice {

Frontier::Frontier(const Problem& problem)
    : problem_(&problem),
      factor_(problem.model->network.head(), linear_set(problem).hessian()),
      cost_(separable_cost(problem.cost, problem.model->encoder)) {
  validate(problem);
}

FrontierCurve Frontier::trace(const Query& query, const std::vector<double>& epsilons) const {
  require(std::is_sorted(epsilons.begin(), epsilons.end()), "the levels of a frontier must rise");
  require(epsilons.empty() || epsilons.back() <= largest_epsilon,
          "epsilon = {} is too large to compute with, at most {}",
          epsilons.empty() ? 0 : epsilons.back(), largest_epsilon);
  const FeasibleSet feasible(problem_->model->encoder, problem_->constraints, query.index,
                             query.raw);
  FrontierCurve curve{.query_index = query.index};
  std::vector<std::optional<BoxStart>> starts(feasible.boxes().size());
  double limit = 0;
  for (const Box& box : feasible.boxes()) {
    limit = std::max(limit, factor_.max_epsilon(box.lower, box.upper, problem_->threshold).epsilon);
  }
  curve.max_epsilon = limit;
  for (const double epsilon : epsilons) {
    FrontierPoint point{.epsilon = epsilon, .feasible = false};
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const Box& box = feasible.boxes()[k];
      const BoxProjection solved = factor_.project({.query = feasible.query(),
                                                    .lower = box.lower,
                                                    .upper = box.upper,
                                                    .cost = cost_,
                                                    .epsilon = epsilon,
                                                    .threshold = problem_->threshold,
                                                    .start = starts[k]});
      const bool usable = solved.status != BoxStatus::infeasible && solved.margin >= 0;
      if (!usable || solved.objective >= best) continue;
      best = solved.objective;
      starts[k] = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
      point.feasible = true;
      point.distance = (solved.point - feasible.query()).norm();
      point.cost =
          cost_of(problem_->cost, problem_->model->encoder, feasible.query(), solved.point);
    }
    curve.points.push_back(point);
  }
  return curve;
}

}  // namespace ellice
