#include "ellice/recourse/infeasibility.hpp"

#include <cmath>

#include "ellice/recourse/linear_exact.hpp"

namespace ellice {

namespace {

/// max θᵀx̃ over a box: separable.
double linear_maximum(VectorArg theta, const Box& box) {
  const Index d = box.lower.size();
  double sum = theta(d);
  for (Index i = 0; i < d; ++i) {
    // 0·∞ must be 0: a column without weight does not matter.
    if (theta(i) != 0) sum += theta(i) * (theta(i) > 0 ? box.upper(i) : box.lower(i));
  }
  return sum;
}

bool is_reachable(const Problem& problem, const BoxFactor& factor, const Box& box) {
  const BoxMaximum best =
      factor.maximize(box.lower, box.upper, problem.epsilon, std::nullopt, problem.threshold);
  return best.logit >= problem.threshold || best.ray.has_value();
}

/// Drops one constraint after another for good while the query stays infeasible without it; what is
/// left blocks, and none of it could be spared.
std::vector<std::string> blocking_constraints(const Problem& problem, const BoxFactor& factor,
                                              const FeasibleSet& feasible) {
  FeasibleSet current = feasible;
  std::vector<std::string> blocking;
  for (const NamedConstraint& constraint : feasible.constraints()) {
    FeasibleSet without = current.without(constraint);
    if (is_reachable(problem, factor, without.relaxed())) {
      blocking.push_back(constraint.text);
    } else {
      current = std::move(without);
    }
  }
  return blocking;
}

}  // namespace

std::optional<Infeasibility> explain_infeasibility(const Problem& problem, const BoxFactor& factor,
                                                   const FeasibleSet& feasible) {
  const RashomonEllipsoid set = linear_set(problem);
  const Box& relaxed = feasible.relaxed();
  const BoxMaximum top = factor.maximize(relaxed.lower, relaxed.upper, problem.epsilon,
                                         std::nullopt, problem.threshold);
  if (top.ray || top.logit >= problem.threshold) return std::nullopt;

  Infeasibility result{.model = top.model};
  result.upper_bound = linear_maximum(result.model, relaxed);
  if (!(result.upper_bound < problem.threshold)) return std::nullopt;

  result.max_epsilon = factor.max_epsilon(relaxed.lower, relaxed.upper, problem.threshold).epsilon;
  result.blocking = blocking_constraints(problem, factor, feasible);

  const Encoder& encoder = problem.model->encoder;
  double best_logit = -std::numeric_limits<double>::infinity();
  for (const Box& box : feasible.boxes()) {
    const BoxMaximum reachable = factor.maximize(box.lower, box.upper, problem.epsilon);
    const Vector raw = feasible.decode(reachable.point);
    const RawRow row = encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
    const double logit = robust_logit(set, with_one(encoder.encode(row)));
    if (logit > best_logit) {
      best_logit = logit;
      result.best = row;
    }
  }
  result.best_robust_logit = best_logit;
  return result;
}

}  // namespace ellice
