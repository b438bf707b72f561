#include "solver/augmented_descent.hpp"

#include "adam.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

// A shortfall above this raises the penalty.
constexpr double tolerable_shortfall = 1e-3;
constexpr double penalty_growth = 3;

}  // namespace

Vector augmented_descent(SmoothConstraints& constraints, const NearestPoint& problem,
                         VectorArg start, const AugmentedDescentOptions& options) {
  validate(options, "AugmentedDescentOptions");
  const Index d = problem.query.size();
  Vector x = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  Vector values(constraints.count());
  Matrix gradients(d, values.size());
  Vector pressure = Vector::Zero(values.size());  // λ
  Vector slope(d);
  Adam adam(d);
  double penalty = options.penalty;
  double rate = options.step;
  for (int round = 0; round < options.rounds; ++round, rate /= 2) {
    for (int step = 0; step < options.steps; ++step) {
      check_stop();
      constraints.gradients(x, values, gradients);
      if (!values.allFinite() || !gradients.allFinite()) return x;
      slope = problem.weights.cwiseProduct(x - problem.query);
      slope.noalias() -= gradients * (pressure - penalty * values).cwiseMax(0);
      adam.step(slope, rate, problem.lower, problem.upper, x);
    }
    constraints.values(x, values);
    if (!values.allFinite()) return x;
    pressure = (pressure - penalty * values).cwiseMax(0);
    if (values.minCoeff() < -tolerable_shortfall) penalty *= penalty_growth;
  }
  return x;
}

}  // namespace ellice
