#include "ellice/solver/augmented_descent.hpp"

#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

// Kingma and Ba (2015), Algorithm 1 with its default decay rates.
constexpr double decay_mean = 0.9;
constexpr double decay_square = 0.999;
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
  Vector mean = Vector::Zero(d);
  Vector square = Vector::Zero(d);
  double penalty = options.penalty;
  double rate = options.step;
  int count = 0;
  for (int round = 0; round < options.rounds; ++round, rate /= 2) {
    for (int step = 0; step < options.steps; ++step) {
      constraints.gradients(x, values, gradients);
      if (!values.allFinite() || !gradients.allFinite()) return x;
      slope = problem.weights.cwiseProduct(x - problem.query);
      slope.noalias() -= gradients * (pressure - penalty * values).cwiseMax(0);
      ++count;
      const double mean_share = 1 - std::pow(decay_mean, count);
      const double square_share = 1 - std::pow(decay_square, count);
      for (Index i = 0; i < d; ++i) {
        if (!(problem.lower[i] < problem.upper[i])) continue;
        mean[i] += (1 - decay_mean) * (slope[i] - mean[i]);
        square[i] += (1 - decay_square) * (slope[i] * slope[i] - square[i]);
        const double change =
            rate * (mean[i] / mean_share) / (std::sqrt(square[i] / square_share) + 1e-8);
        x[i] = std::clamp(x[i] - change, problem.lower[i], problem.upper[i]);
      }
    }
    constraints.values(x, values);
    if (!values.allFinite()) return x;
    pressure = (pressure - penalty * values).cwiseMax(0);
    if (values.minCoeff() < -tolerable_shortfall) penalty *= penalty_growth;
  }
  return x;
}

}  // namespace ellice
