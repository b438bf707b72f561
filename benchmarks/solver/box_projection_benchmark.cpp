// Microseconds per instance inside boxes, cold starts: ranges as data give them, some one-way, some
// held.

#include "solver/box_projection.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "solver/cone_projection.hpp"

namespace ellice {
namespace {

enum Cost { squares, absolute_values, both };

void BM_box_projection(benchmark::State& state) {
  const Index d = state.range(0);
  const double share = 1e-3 * static_cast<double>(state.range(1));
  const Cost cost = static_cast<Cost>(state.range(2));
  Random random(17);
  Matrix factor(d + 1, d + 1);
  for (Index j = 0; j <= d; ++j) factor.col(j) = random.normal_vector(d + 1);
  Matrix hessian = 0.2 / static_cast<double>(d + 1) * factor * factor.transpose();
  hessian.diagonal().array() += 1e-3;
  const Vector theta = random.normal_vector(d + 1) / std::sqrt(static_cast<double>(d));
  const double max_epsilon = ConeFactor({.theta = theta, .hessian = hessian}).max_epsilon();
  const BoxFactor box(theta, hessian);

  std::vector<BoxProblem> problems(256);
  for (BoxProblem& problem : problems) {
    problem.query = random.normal_vector(d);
    if (problem.query.dot(theta.head(d)) > 0) problem.query *= -1;
    problem.lower = problem.query.cwiseMin(-2.5);
    problem.upper = problem.query.cwiseMax(2.5);
    for (Index i = 0; i < d; ++i) {
      const double kind = random.uniform();
      if (kind < 0.1) problem.lower[i] = problem.upper[i] = problem.query[i];
      if (kind > 0.8) problem.lower[i] = problem.query[i];
    }
    if (cost != squares) problem.cost.absolute = Vector::Ones(d);
    if (cost != absolute_values) problem.cost.quadratic = Vector::Ones(d);
    problem.epsilon = share * max_epsilon;
  }
  std::size_t next = 0;
  double infeasible = 0;
  double inexact = 0;
  double factorisations = 0;
  for (auto _ : state) {
    const BoxProjection answer = box.project(problems[next++ % problems.size()]);
    infeasible += answer.status == BoxStatus::infeasible;
    inexact += answer.status == BoxStatus::inexact;
    factorisations += answer.factorisations;
  }
  using benchmark::Counter;
  state.counters["infeasible"] = Counter(infeasible, Counter::kAvgIterations);
  state.counters["inexact"] = Counter(inexact, Counter::kAvgIterations);
  state.counters["factorisations"] = Counter(factorisations, Counter::kAvgIterations);
}

BENCHMARK(BM_box_projection)
    ->ArgNames({"dim", "permille_of_max", "cost"})
    ->ArgsProduct({{8, 20, 67}, {10, 100, 300}, {squares, absolute_values, both}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ellice
