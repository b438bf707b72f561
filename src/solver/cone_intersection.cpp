#include "solver/cone_intersection.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "solver/intersection_newton.hpp"
#include "solver/intersection_program.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

constexpr int most_interior_steps = 60;
constexpr double proof_tolerance = 1e-10;
// Where Newton's method takes over from the interior, relative to the cost.
constexpr double handover_gap = 1e-8;
constexpr double intersection_gap = 1e-11;
// Of ε: by how much a model that was computed may miss its set.
constexpr double outside = 1e-3;

void check(const IntersectionProblem& problem) {
  const Index d = problem.query.size();
  require(problem.query.allFinite(), "IntersectionProblem.query must be finite");
  require(problem.lower.size() == d && problem.upper.size() == d,
          "the box has {} lower and {} upper bounds; expected {}", problem.lower.size(),
          problem.upper.size(), d);
  for (Index i = 0; i < d; ++i) {
    require(problem.lower[i] <= problem.upper[i] && problem.lower[i] < infinity &&
                problem.upper[i] > -infinity,
            "coordinate {} has the range [{}, {}], which holds no number", i, problem.lower[i],
            problem.upper[i]);
  }
  for (const RobustCone& cone : problem.cones) {
    require(cone.factor != nullptr && cone.factor->dimension() == d,
            "a cone has {} coordinates; expected {}",
            cone.factor == nullptr ? 0 : cone.factor->dimension(), d);
    require(cone.epsilon >= 0 && std::isfinite(cone.epsilon) && std::isfinite(cone.threshold),
            "a cone has epsilon = {} and the threshold {}; both must be finite, epsilon >= 0",
            cone.epsilon, cone.threshold);
  }
  for (const LinearRule& rule : problem.rules) {
    require(rule.coefficients.size() == d && rule.coefficients.allFinite(),
            "a rule has {} coefficients; expected {} finite ones", rule.coefficients.size(), d);
    require(rule.lower <= rule.upper && rule.lower < infinity && rule.upper > -infinity,
            "a rule has the range [{}, {}], which holds no number", rule.lower, rule.upper);
  }
}

bool is_proof(const ReducedIntersection& problem, const ConeWeights& weights) {
  const Vector plane = problem.combined(weights);
  if (!plane.allFinite()) return false;
  // Beyond what rounding of the terms, and constraints that just touch, can feign.
  double size = 0;
  for (std::size_t k = 0; k < weights.models.size(); ++k) {
    size += weights.cones[static_cast<Index>(k)] *
            (weights.models[k].lpNorm<1>() + std::abs(problem.threshold(k)));
  }
  for (std::size_t r = 0; r < problem.rules().size(); ++r) {
    const double weight = weights.rules[static_cast<Index>(r)];
    if (weight == 0) continue;
    const LinearRule& rule = problem.rules()[r];
    size += std::abs(weight) *
            (rule.coefficients.lpNorm<1>() + std::abs(weight > 0 ? rule.upper : rule.lower));
  }
  return problem.maximum(weights) < -proof_tolerance * size;
}

/// The weights, where they are a proof, perhaps after a correction: a half-space that is to hold on
/// an infinite side must ignore the coordinate, and what is left of it by rounding is taken out of
/// the weights in the least squares' sense.
std::optional<ConeWeights> as_proof(const ReducedIntersection& problem, ConeWeights weights) {
  if (is_proof(problem, weights)) return weights;
  const Vector plane = problem.combined(weights);
  std::vector<Index> ignored;
  for (Index i = 0; i < problem.size(); ++i) {
    const double side = plane[i] > 0 ? problem.cost().upper[i] : problem.cost().lower[i];
    if (std::isinf(side)) ignored.push_back(i);
  }
  if (ignored.empty()) return std::nullopt;
  const Index cones = weights.cones.size();
  const Index rules = weights.rules.size();
  Matrix slopes(static_cast<Index>(ignored.size()), cones + rules);
  Vector all(cones + rules);
  all << weights.cones, weights.rules;
  for (Index k = 0; k < cones; ++k)
    slopes.col(k) = weights.models[static_cast<std::size_t>(k)](ignored);
  for (Index r = 0; r < rules; ++r)
    slopes.col(cones + r) = -problem.rules()[static_cast<std::size_t>(r)].coefficients(ignored);
  // What has no weight gets none.
  const double largest = all.cwiseAbs().maxCoeff();
  for (Index j = 0; j < all.size(); ++j) {
    if (std::abs(all[j]) < 1e-6 * largest) slopes.col(j).setZero();
    if (std::abs(all[j]) < 1e-6 * largest) all[j] = 0;
  }
  const Eigen::CompleteOrthogonalDecomposition<Matrix> solver(slopes);
  for (int round = 0; round < 2; ++round) all -= solver.solve(Vector(slopes * all));
  weights.cones = all.head(cones);
  for (Index r = 0; r < rules; ++r) {
    if (all[cones + r] * weights.rules[r] < 0) return std::nullopt;
    weights.rules[r] = all[cones + r];
  }
  if (cones > 0 && weights.cones.minCoeff() < 0) return std::nullopt;
  if (!is_proof(problem, weights)) return std::nullopt;
  return weights;
}

ConeWeights no_weights(const ReducedIntersection& problem) {
  ConeWeights result{.cones = Vector::Zero(static_cast<Index>(problem.factors().size())),
                     .rules = Vector::Zero(static_cast<Index>(problem.rules().size()))};
  for (const BoxFactor& factor : problem.factors()) result.models.push_back(factor.theta());
  return result;
}

/// A rule or cone that nothing which may move has a part in, and that is broken.
std::optional<ConeWeights> broken_constant(const ReducedIntersection& problem) {
  ConeWeights weights = no_weights(problem);
  for (std::size_t r = 0; r < problem.rules().size(); ++r) {
    const LinearRule& rule = problem.rules()[r];
    if (!rule.coefficients.isZero(0)) continue;
    if (rule.upper >= -rule.tolerance && rule.lower <= rule.tolerance) continue;
    weights.rules[static_cast<Index>(r)] = rule.upper < 0 ? 1 : -1;
    return weights;
  }
  if (problem.size() > 0) return std::nullopt;
  for (std::size_t k = 0; k < problem.factors().size(); ++k) {
    const RobustLogit::State state = problem.evaluate(k, Vector(0));
    if (state.value >= problem.threshold(k)) continue;
    weights.models[k] = Vector::Constant(1, state.value);
    weights.cones[static_cast<Index>(k)] = 1;
    return weights;
  }
  return std::nullopt;
}

/// The nearest point of the cone that the cheapest point of the box misses by most, where it
/// satisfies the rest.
std::optional<ConeIntersection> one_cone(const ReducedIntersection& problem,
                                         const Vector& nearest) {
  std::size_t worst = problem.factors().size();
  double most = 0;
  for (std::size_t k = 0; k < problem.factors().size(); ++k) {
    const RobustLogit::State state = problem.evaluate(k, nearest);
    const double missing = problem.target(k, state) - state.value;
    const double norm = state.gradient.norm();
    const double distance = norm > 0 ? missing / norm : missing > 0 ? infinity : 0;
    if (distance <= most) continue;
    most = distance;
    worst = k;
  }
  if (worst == problem.factors().size()) return std::nullopt;  // the rules alone are in the way
  const BoxFactor& factor = problem.factors()[worst];
  BoxProblem box{.query = problem.cost().query,
                 .lower = problem.cost().lower,
                 .upper = problem.cost().upper,
                 .cost = problem.separable(),
                 .epsilon = problem.epsilon(worst),
                 .threshold = problem.threshold(worst)};
  BoxProjection solved = factor.project(box);
  ConeIntersection result{.weights = no_weights(problem), .iterations = solved.iterations};
  double& weight = result.weights.cones[static_cast<Index>(worst)];
  if (solved.status == BoxStatus::infeasible) {
    const BoxMaximum top = factor.maximize(box.lower, box.upper, box.epsilon, solved.point);
    weight = 1;
    result.weights.models[worst] = top.model;
    if (!is_proof(problem, result.weights)) return std::nullopt;
    result.status = IntersectionStatus::infeasible;
    result.point = top.point;
    result.objective = problem.cost().value(top.point);
    result.lower_bound = infinity;
    return result;
  }
  if (solved.status != BoxStatus::optimal) return std::nullopt;
  const double bound = solved.lower_bound;
  const RobustLogit::State at_bound = problem.evaluate(worst, solved.point);
  weight = solved.multiplier;
  result.weights.models[worst] = problem.worst_model(worst, at_bound);
  // Above the threshold by the margin, and by what rounding of the restricted logit may have taken.
  for (int round = 0; round < 4; ++round) {
    if (problem.is_feasible(solved.point)) {
      result.status = IntersectionStatus::optimal;
      result.feasible = true;
      result.point = solved.point;
      result.objective = solved.objective;
      result.lower_bound = bound;
      return result;
    }
    const RobustLogit::State state = problem.evaluate(worst, solved.point);
    const double missing = problem.target(worst, state) - state.value;
    if (missing <= 0) return std::nullopt;
    box.threshold = std::max(box.threshold + missing, problem.target(worst, state));
    box.start = BoxStart{.point = solved.point, .multiplier = solved.multiplier};
    solved = factor.project(box);
    if (solved.status == BoxStatus::infeasible) return std::nullopt;
  }
  return std::nullopt;
}

/// Looks for the cheapest point from the interior; `newton` is told of points and bounds on the
/// way. The weights of a proof where it finds that there is none.
std::optional<ConeWeights> search(const ReducedIntersection& problem, IntersectionNewton& newton,
                                  int& iterations) {
  const IntersectionProgram program(problem, IntersectionProgram::Aim::cost);
  std::optional<ConeWeights> proof;
  const auto hand_over = [&](const ConicIterate& at) {
    newton.run({.point = program.point(at),
                .weights = program.weights(at),
                .places = program.places(at),
                .cones = program.active_cones(at),
                .rules = program.active_rules(at)});
  };
  const auto is_settled = [&] {
    return newton.found() && newton.objective() - newton.lower_bound() <=
                                 intersection_gap * std::abs(newton.objective());
  };
  double next_try = handover_gap;
  const ConicIterate last =
      solve_conic(program.program(), most_interior_steps, [&](const ConicIterate& at) {
        ++iterations;
        const ConeWeights weights = program.weights(at);
        if ((proof = as_proof(problem, weights))) return true;
        newton.offer(weights);
        const Vector x = program.point(at);
        const double cost = problem.cost().value(x);
        if (!(cost - newton.lower_bound() <= next_try * std::abs(cost))) return false;
        next_try *= 1e-2;
        hand_over(at);
        return is_settled();
      });
  if (proof || is_settled()) return proof;
  hand_over(last);
  if (!newton.found()) newton.restore(program.point(last));
  return std::nullopt;
}

struct Slack {
  std::optional<ConeWeights> proof = {};
  Vector point = {};
};

/// The point with the largest slack of cones and rules, or the proof that it is negative.
Slack largest_slack(const ReducedIntersection& problem, IntersectionProgram::Aim aim) {
  const IntersectionProgram program(problem, aim);
  Slack result;
  const ConicIterate last =
      solve_conic(program.program(), most_interior_steps, [&](const ConicIterate& at) {
        if (aim != IntersectionProgram::Aim::common_point) return false;
        const ConeWeights weights = program.weights(at);
        result.proof = as_proof(problem, weights);
        return result.proof || problem.is_feasible(program.point(at));
      });
  result.point = program.point(last);
  return result;
}

ConeIntersection infeasible(const ReducedIntersection& problem, ConeWeights proof, Vector point) {
  ConeIntersection result{.status = IntersectionStatus::infeasible,
                          .point = std::move(point),
                          .lower_bound = infinity,
                          .weights = std::move(proof)};
  result.objective = problem.cost().value(result.point);
  return result;
}

ConeIntersection solve(const ReducedIntersection& problem) {
  const Vector nearest =
      problem.cost().query.cwiseMax(problem.cost().lower).cwiseMin(problem.cost().upper);
  if (std::optional<ConeWeights> proof = broken_constant(problem)) {
    return infeasible(problem, std::move(*proof), nearest);
  }
  const double least = problem.cost().value(nearest);
  if (problem.is_feasible(nearest)) {
    return {.status = IntersectionStatus::optimal,
            .feasible = true,
            .point = nearest,
            .objective = least,
            .lower_bound = least,
            .weights = no_weights(problem)};
  }
  // Nothing may move, and what is broken is so within rounding.
  if (problem.size() == 0)
    return {
        .point = nearest, .objective = least, .lower_bound = least, .weights = no_weights(problem)};
  if (std::optional<ConeIntersection> found = one_cone(problem, nearest)) return *found;

  IntersectionNewton newton(problem);
  newton.offer(no_weights(problem));
  ConeIntersection result;
  if (std::optional<ConeWeights> proof = search(problem, newton, result.iterations)) {
    return infeasible(problem, std::move(*proof), nearest);
  }
  if (!newton.found()) {
    Slack slack = largest_slack(problem, IntersectionProgram::Aim::common_point);
    if (slack.proof) return infeasible(problem, std::move(*slack.proof), slack.point);
    newton.restore(slack.point);
    result.point = slack.point;
  }
  result.feasible = newton.found();
  if (result.feasible) result.point = newton.point();
  result.objective = problem.cost().value(result.point);
  result.lower_bound = std::max(least, newton.lower_bound());
  result.weights = newton.weights();
  result.iterations += newton.iterations();
  if (result.feasible &&
      result.objective - result.lower_bound <= gap_alarm * std::abs(result.objective)) {
    result.status = IntersectionStatus::optimal;
  }
  return result;
}

/// Whether the models that have weight belong to their sets: of coordinates that are held very far
/// away rounding leaves anything.
bool are_members(const IntersectionProblem& problem, const ConeWeights& weights) {
  for (std::size_t k = 0; k < problem.cones.size(); ++k) {
    if (!(weights.cones[static_cast<Index>(k)] > 0)) continue;
    const BoxFactor& factor = *problem.cones[k].factor;
    const Vector away = weights.models[k] - factor.theta();
    const double excess = away.dot(factor.inverse().llt().solve(away)) / 2;
    if (!(excess <= problem.cones[k].epsilon * (1 + outside) + 1e-12)) return false;
  }
  return true;
}

}  // namespace

ConeIntersection intersect_cones(const IntersectionProblem& problem) {
  check(problem);
  const ReducedIntersection reduced(problem);
  ConeIntersection result = solve(reduced);
  result.point = reduced.full(result.point);
  result.objective += reduced.paid();
  result.lower_bound += reduced.paid();
  result.weights = reduced.full(result.weights);
  if (result.status == IntersectionStatus::infeasible && !are_members(problem, result.weights)) {
    result.status = IntersectionStatus::inexact;
    result.lower_bound = reduced.paid();
  }
  return result;
}

CommonPoint find_common_point(const IntersectionProblem& problem) {
  check(problem);
  const ReducedIntersection reduced(problem);
  CommonPoint result;
  const Vector nearest =
      reduced.cost().query.cwiseMax(reduced.cost().lower).cwiseMin(reduced.cost().upper);
  std::optional<ConeWeights> proof = broken_constant(reduced);
  if (reduced.size() == 0 && !proof) {
    result.point = reduced.full(nearest);
    if (reduced.is_feasible(nearest)) result.status = CommonPoint::Status::found;
    return result;
  }
  Vector point = nearest;
  if (!proof && !reduced.is_feasible(nearest)) {
    Slack slack = largest_slack(reduced, IntersectionProgram::Aim::common_point);
    proof = std::move(slack.proof);
    point = slack.point;
  }
  result.point = reduced.full(point);
  if (proof) {
    result.weights = reduced.full(*proof);
    if (are_members(problem, result.weights)) result.status = CommonPoint::Status::none;
    return result;
  }
  IntersectionNewton newton(reduced);
  newton.restore(point);
  if (newton.found()) {
    result.status = CommonPoint::Status::found;
    result.point = reduced.full(newton.point());
  }
  return result;
}

Vector best_common_point(const IntersectionProblem& problem) {
  check(problem);
  const ReducedIntersection reduced(problem);
  if (reduced.size() == 0) return reduced.full(Vector(0));
  return reduced.full(largest_slack(reduced, IntersectionProgram::Aim::robust_point).point);
}

}  // namespace ellice
