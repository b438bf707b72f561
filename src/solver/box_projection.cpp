#include "solver/box_projection.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/absolute_path.hpp"
#include "solver/box_cost.hpp"
#include "solver/box_search.hpp"
#include "solver/robust_logit.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

void check_box(Index d, VectorArg lower, VectorArg upper) {
  require(lower.size() == d && upper.size() == d,
          "the box has {} lower and {} upper bounds; expected {}", lower.size(), upper.size(), d);
  for (Index i = 0; i < d; ++i) {
    require(lower[i] <= upper[i] && lower[i] < infinity && upper[i] > -infinity,
            "coordinate {} has the range [{}, {}], which holds no number", i, lower[i], upper[i]);
  }
}

void check(const BoxProblem& problem, Index d) {
  check_box(d, problem.lower, problem.upper);
  require(problem.query.size() == d && problem.query.allFinite(),
          "BoxProblem.query must be {} finite numbers", d);
  require(problem.epsilon >= 0 && std::isfinite(problem.epsilon),
          "BoxProblem.epsilon = {} must be >= 0 and finite", problem.epsilon);
  require(std::isfinite(problem.threshold), "BoxProblem.threshold = {} must be finite",
          problem.threshold);
  require(problem.margin >= 0 && std::isfinite(problem.margin),
          "BoxProblem.margin = {} must be >= 0 and finite", problem.margin);
  for (const Vector* weights : {&problem.cost.quadratic, &problem.cost.absolute}) {
    require(weights->size() == 0 || weights->size() == d,
            "BoxProblem.cost has {} weights; expected {}", weights->size(), d);
    for (Index i = 0; i < weights->size(); ++i) {
      require((*weights)[i] >= 0 && std::isfinite((*weights)[i]),
              "BoxProblem.cost has the weight {} at {}; it must be >= 0 and finite", (*weights)[i],
              i);
    }
  }
  if (problem.start) {
    require(problem.start->point.size() == d && problem.start->point.allFinite() &&
                problem.start->multiplier >= 0,
            "BoxProblem.start must be {} finite numbers and a multiplier >= 0", d);
  }
}

/// Vectors that keep their memory: a solve allocates nothing but its result where the thread's last
/// one had as many coordinates.
struct BoxStorage {
  BoxCost cost, smooth;
  RobustLogit::State state;
  BoxStart start;
  Vector before;
  BoxSearch search;
  AbsolutePath path;
};

void take_cost(const BoxProblem& problem, BoxCost& cost) {
  const Index d = problem.query.size();
  const auto& [quadratics, absolutes] = problem.cost;
  if (quadratics.size() > 0) {  // an empty one would give its memory back
    cost.d = quadratics;
  } else {
    cost.d.setConstant(d, absolutes.size() == 0 ? 1 : 0);
  }
  if (absolutes.size() > 0) {
    cost.c = absolutes;
  } else {
    cost.c.setZero(d);
  }
  cost.center = cost.query = problem.query;
  cost.lower = problem.lower;
  cost.upper = problem.upper;
  const bool quadratic = (cost.d.array() > 0).all();
  require(
      quadratic || ((cost.d.array() == 0).all() && (cost.c.array() > 0).all()),
      "BoxProblem.cost needs quadratic weights that are all positive, or all zero with positive "
      "absolute weights");
  cost.is_plain = quadratic && (cost.c.array() == 0).all();
}

void clip(Vector& x, const BoxCost& cost) {
  x = x.cwiseMax(cost.lower).cwiseMin(cost.upper);
}

/// Moves along ∇g, within the box, until g ≥ t + margin·scale. Coordinates at rest stay there as
/// long as the others suffice.
double nudge(const RobustLogit& logit, double threshold, double margin, BoxStorage& work) {
  const BoxCost& cost = work.cost;
  RobustLogit::State& state = work.state;
  double length = 0;
  for (int round = 0; round < 8; ++round) {
    check_stop();
    const double missing = threshold + margin * state.scale - state.value;
    if (missing <= 0 || (round > 0 && state.value >= threshold)) break;
    double power = 0;
    const bool all = round > 3;
    const auto weight = [&](Index i) {
      const double room =
          state.gradient[i] > 0 ? cost.upper[i] - state.x[i] : state.x[i] - cost.lower[i];
      const bool rests = state.x[i] == cost.lower[i] || state.x[i] == cost.upper[i] ||
                         (cost.c[i] > 0 && state.x[i] == cost.query[i]);
      return room > 0 && (all || !rests) ? 1 / (cost.d[i] > 0 ? cost.d[i] : cost.c[i]) : 0.0;
    };
    for (Index i = 0; i < state.x.size(); ++i) {
      power += state.gradient[i] * state.gradient[i] * weight(i);
    }
    if (!(power > 0)) {
      if (all) break;
      round = 3;
      continue;
    }
    work.before = state.x;
    for (Index i = 0; i < state.x.size(); ++i) {
      state.x[i] += missing / power * state.gradient[i] * weight(i);
    }
    clip(state.x, cost);
    logit.evaluate(state);
    length += (state.x - work.before).norm();
  }
  return length;
}

/// Whether the dual bound at the state meets its cost.
bool is_settled(const BoxCost& cost, const RobustLogit::State& state, double threshold,
                double multiplier) {
  const double value = cost.value(state.x);
  return value - Linearised(cost, state, threshold).best_bound(multiplier).value <= 1e-10 * value;
}

/// Weighted l1: the path from the query to the threshold. Where rounding leads it astray, proximal
/// steps ½δ·max(c)‖x − previous‖² with falling δ, since l1 is not strictly convex, each solved by
/// BoxSearch.
BoxSearch::Outcome absolute_search(const RobustLogit& logit, double threshold, BoxStorage& work,
                                   BoxProjection& result) {
  const BoxCost& cost = work.cost;
  RobustLogit::State& state = work.state;
  BoxCost& smooth = work.smooth;
  BoxSearch& search = work.search;
  smooth = cost;
  const bool arrives = work.path.run(logit, cost, threshold, state);
  result.iterations = work.path.events();
  result.factorisations = work.path.events();
  if (arrives) {
    result.multiplier = work.path.multiplier();
    if (is_settled(cost, state, threshold, result.multiplier)) return BoxSearch::Outcome::converged;
  }
  clip(work.start.point, cost);
  smooth.center = work.start.point;
  double delta = 0.3;
  double multiplier = work.start.multiplier;
  for (int i = 0; i < 60; ++i) {
    smooth.d.setConstant(delta * cost.c.maxCoeff());
    search.prepare(logit, smooth, threshold);
    const BoxSearch::Outcome outcome = search.run(smooth.center, multiplier);
    result.iterations += search.iterations();
    result.factorisations += search.factorisations();
    // A later step that fails leaves the answer of the one before, for the certificate to judge.
    if (i > 0 && outcome == BoxSearch::Outcome::stuck) break;
    state = search.state();
    multiplier = search.multiplier();
    result.multiplier = multiplier;
    if (outcome != BoxSearch::Outcome::converged) return outcome;
    if (is_settled(cost, state, threshold, multiplier)) break;
    smooth.center = state.x;
    // Small enough for most problems; if the answer still creeps, two coordinates cost almost the
    // same.
    delta = std::max(i < 15 ? 1e-3 : 1e-8, 0.3 * delta);
  }
  return BoxSearch::Outcome::converged;
}

}  // namespace

BoxFactor::BoxFactor(VectorArg theta, MatrixArg hessian) : theta_(theta) {
  const Index size = theta.size();
  require(size >= 1 && hessian.rows() == size && hessian.cols() == size,
          "the curvature is {}x{} and the model has length {}", hessian.rows(), hessian.cols(),
          size);
  require(theta.allFinite() && hessian.allFinite(), "the model and its curvature must be finite");
  const Eigen::LLT<Matrix> cholesky(hessian);
  require(cholesky.info() == Eigen::Success, "the curvature is not positive definite");
  inverse_ = cholesky.solve(Matrix::Identity(size, size));
  inverse_ = ((inverse_ + inverse_.transpose()) / 2).eval();
}

BoxFactor BoxFactor::of_inverse(Vector theta, Matrix inverse) {
  require(inverse.rows() == theta.size() && inverse.cols() == theta.size() && theta.allFinite() &&
              inverse.allFinite(),
          "the model must have {} finite entries and its inverse curvature as many rows",
          inverse.rows());
  BoxFactor result;
  result.theta_ = std::move(theta);
  result.inverse_ = std::move(inverse);
  return result;
}

// x̃ = J·[y; 1], so that x̃ᵀH⁻¹x̃ has the matrix JᵀH⁻¹J.
BoxFactor BoxFactor::restricted(const std::vector<Index>& columns, VectorArg point) const {
  require(point.size() == dimension(), "the point has length {}; expected {}", point.size(),
          dimension());
  const auto size = static_cast<Index>(columns.size());
  Vector rest(dimension() + 1);
  rest << point, 1;
  for (const Index column : columns) rest[column] = 0;
  const Vector image = inverse_ * rest;
  BoxFactor result;
  result.theta_.resize(size + 1);
  result.theta_ << theta_(columns), theta_.dot(rest);
  result.inverse_.resize(size + 1, size + 1);
  result.inverse_.topLeftCorner(size, size) = inverse_(columns, columns);
  result.inverse_.col(size).head(size) = image(columns);
  result.inverse_.row(size).head(size) = image(columns).transpose();
  result.inverse_(size, size) = rest.dot(image);
  return result;
}

BoxProjection BoxFactor::project(const BoxProblem& problem) const {
  thread_local BoxStorage work;
  check(problem, dimension());
  const BoxCost& cost = work.cost;
  take_cost(problem, work.cost);
  const RobustLogit logit(theta_, inverse_, problem.epsilon);
  BoxProjection result;
  RobustLogit::State& state = work.state;
  state.x = problem.query;
  clip(state.x, cost);
  logit.evaluate(state);
  const double cheapest = cost.value(state.x);
  if (state.value >= problem.threshold) {
    // The cheapest point of the box is feasible.
    const bool unmoved = state.x == problem.query;
    result.status = unmoved ? BoxStatus::already_feasible : BoxStatus::optimal;
    result.point = state.x;
    result.objective = result.lower_bound = cheapest;
    result.margin = state.value - problem.threshold;
    return result;
  }

  BoxStart& start = work.start;
  start.point = problem.start ? problem.start->point : state.x;
  start.multiplier = problem.start ? problem.start->multiplier : 0;
  BoxSearch::Outcome outcome = BoxSearch::Outcome::stuck;
  if (cost.d.minCoeff() > 0) {
    BoxSearch& search = work.search;
    search.prepare(logit, cost, problem.threshold);
    outcome = search.run(start.point, start.multiplier);
    state = search.state();
    result.multiplier = search.multiplier();
    result.iterations = search.iterations();
    result.factorisations = search.factorisations();
  } else {
    outcome = absolute_search(logit, problem.threshold, work, result);
  }

  if (outcome != BoxSearch::Outcome::converged) {
    const BoxMaximum best = maximize(problem.lower, problem.upper, problem.epsilon, state.x);
    result.iterations += best.iterations;
    result.logit_bound = best.logit_bound;
    if (best.logit_bound < problem.threshold) {
      result.status = BoxStatus::infeasible;
      result.point = best.point;
      result.margin = best.logit - problem.threshold;
      result.objective = cost.value(best.point);
      result.lower_bound = infinity;
      return result;
    }
    if (state.value < problem.threshold && best.logit >= problem.threshold) {
      state.x = best.point;
      logit.evaluate(state);
    }
  }
  const Linearised::Bound bound =
      Linearised(cost, state, problem.threshold).best_bound(result.multiplier);
  result.multiplier = bound.multiplier;
  result.nudge = nudge(logit, problem.threshold, problem.margin, work);
  result.point = state.x;
  result.objective = cost.value(state.x);
  result.margin = state.value - problem.threshold;
  result.lower_bound = std::max(cheapest, bound.value);
  result.relative_gap = (result.objective - result.lower_bound) / result.objective;
  const double rounding = 10 * problem.margin * state.scale * result.multiplier;
  const bool exact = result.margin >= 0 && result.objective - result.lower_bound <=
                                               gap_alarm * result.objective + rounding;
  result.status = exact ? BoxStatus::optimal : BoxStatus::inexact;
  return result;
}

}  // namespace ellice
