// Counterfactuals per second for linear models, beside the two matrix products alone on the same
// blocks: the ratio of the two times is what the exact solve costs over a change of basis.

#include "solver/cone_projection.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

#include "core/blas.hpp"
#include "core/random.hpp"

namespace ellice {
namespace {

constexpr Index rows = 16384;

// A curvature as standardised data give it: eigenvalues from 1e-3 to 0.25, and a model whose
// weights are a few standard errors large.
ConeProblem problem_of(Index d, Index fixed) {
  Random random(17);
  Matrix factor(d + 1, d + 1);
  for (Index j = 0; j <= d; ++j) factor.col(j) = random.normal_vector(d + 1);
  ConeProblem problem;
  problem.hessian = 0.2 / static_cast<double>(d + 1) * factor * factor.transpose();
  problem.hessian.diagonal().array() += 1e-3;
  problem.theta = random.normal_vector(d + 1) / std::sqrt(static_cast<double>(d));
  if (fixed > 0) {
    problem.movable.assign(static_cast<std::size_t>(d), true);
    for (Index i = 0; i < fixed; ++i) problem.movable[static_cast<std::size_t>(i)] = false;
  }
  return problem;
}

// Rows that the base model rejects, as queries are.
RowMatrix queries_of(const ConeProblem& problem) {
  Random random(18);
  const Index d = problem.theta.size() - 1;
  RowMatrix queries(rows, d);
  for (Index i = 0; i < rows; ++i) {
    queries.row(i) = random.normal_vector(d).transpose();
    if (queries.row(i).dot(problem.theta.head(d)) > 0) queries.row(i) *= -1;
  }
  return queries;
}

void count_rows(benchmark::State& state) {
  state.counters["per_second"] = benchmark::Counter(static_cast<double>(state.iterations() * rows),
                                                    benchmark::Counter::kIsRate);
}

void project(benchmark::State& state, Index fixed) {
  const ConeProblem problem = problem_of(state.range(0), fixed);
  const RowMatrix queries = queries_of(problem);
  const ConeFactor factor(problem);
  const ConeTarget target = {.epsilon =
                                 1e-3 * static_cast<double>(state.range(1)) * factor.max_epsilon()};
  ConeBatch batch = factor.project_rows(queries, target);
  for (auto _ : state) {
    factor.project_rows_into(queries, target, batch.points, batch.summaries);
    benchmark::ClobberMemory();
  }
  count_rows(state);
}

void BM_cone_projection_batch(benchmark::State& state) {
  project(state, 0);
}
void BM_cone_projection_masked(benchmark::State& state) {
  project(state, state.range(0) / 4);
}

void BM_cone_projection_products_alone(benchmark::State& state) {
  const ConeProblem problem = problem_of(state.range(0), 0);
  const RowMatrix queries = queries_of(problem);
  const Index d = queries.cols();
  const Index block = ConeFactor(problem).block_rows();
  const Matrix basis = problem.hessian.topLeftCorner(d, d);
  Matrix rotated(block, d);
  RowMatrix points = queries;
  for (auto _ : state) {
    for (Index i = 0; i < rows; i += block) {
      blas::gemm(block, d, d, {queries.row(i).data(), d, blas::Op::transposed}, {basis.data(), d},
                 0.0, rotated.data(), block);
      blas::gemm(d, block, d, {basis.data(), d}, {rotated.data(), block, blas::Op::transposed}, 0.0,
                 points.row(i).data(), d);
    }
    benchmark::ClobberMemory();
  }
  count_rows(state);
}

void BM_cone_projection_single(benchmark::State& state) {
  const ConeProblem problem = problem_of(state.range(0), 0);
  const Vector query = queries_of(problem).row(0).transpose();
  const ConeFactor factor(problem);
  const ConeTarget target = {.epsilon = 0.3 * factor.max_epsilon()};
  for (auto _ : state) benchmark::DoNotOptimize(factor.project(query, target));
}

void BM_cone_projection_factor(benchmark::State& state) {
  const ConeProblem problem = problem_of(state.range(0), 0);
  for (auto _ : state) benchmark::DoNotOptimize(ConeFactor(problem));
}

BENCHMARK(BM_cone_projection_products_alone)->ArgName("dim")->Arg(8)->Arg(20)->Arg(61)->Arg(200);
BENCHMARK(BM_cone_projection_batch)
    ->ArgNames({"dim", "permille_of_max"})
    ->ArgsProduct({{8, 20, 61, 200}, {100, 500, 900}});
BENCHMARK(BM_cone_projection_masked)
    ->ArgNames({"dim", "permille_of_max"})
    ->ArgsProduct({{8, 20, 61, 200}, {100}});
BENCHMARK(BM_cone_projection_single)->ArgName("dim")->Arg(8)->Arg(20)->Arg(61)->Arg(200);
BENCHMARK(BM_cone_projection_factor)->ArgName("dim")->Arg(8)->Arg(20)->Arg(61)->Arg(200);

}  // namespace
}  // namespace ellice
