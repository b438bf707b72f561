#pragma once

#include <cstdint>
#include <limits>

#include "solver/box_projection.hpp"
#include "solver/robust_problems.hpp"

namespace ellice::box_problems {

using robust_problems::Instance;

enum class Kind { weighted, plain, absolute, both };

/// A query in a random box, some of whose sides touch it, are infinite, coincide or leave it out.
inline BoxProblem random_problem(const Instance& instance, Kind kind, double epsilon,
                                 std::uint64_t seed) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Random random(seed);
  const Index d = instance.theta.size() - 1;
  BoxProblem problem;
  problem.query = random.normal_vector(d);
  problem.lower = problem.query.array() - 3 * random.normal_vector(d).array().abs();
  problem.upper = problem.query.array() + 3 * random.normal_vector(d).array().abs();
  for (Index i = 0; i < d; ++i) {
    const double kindness = random.uniform();
    if (kindness < 0.15) problem.lower[i] = problem.query[i];
    if (kindness > 0.85) problem.upper[i] = problem.query[i];
    if (kindness > 0.4 && kindness < 0.5) problem.lower[i] = problem.upper[i] = problem.query[i];
    if (kindness > 0.5 && kindness < 0.6) problem.upper[i] = infinity;
    if (kindness > 0.6 && kindness < 0.65) problem.lower[i] = -infinity;
    if (kindness > 0.7 && kindness < 0.75)
      problem.lower[i] = problem.query[i] + 0.1 * (problem.upper[i] - problem.query[i]);
  }
  if (kind != Kind::plain && kind != Kind::absolute) {
    problem.cost.quadratic = random.normal_vector(d).array().exp();
  }
  if (kind == Kind::absolute || kind == Kind::both) {
    problem.cost.absolute = random.normal_vector(d).array().exp();
  }
  problem.epsilon = epsilon;
  problem.threshold = random.normal();
  return problem;
}

}  // namespace ellice::box_problems
