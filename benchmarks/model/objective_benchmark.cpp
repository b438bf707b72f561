#include "model/objective.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>

#include "core/blas.hpp"
#include "core/random.hpp"
#include "core/stopwatch.hpp"

namespace ellice {
namespace {

RowMatrix random_rows(Index rows, Index columns) {
  RowMatrix result(rows, columns);
  Random random(1);
  for (Index i = 0; i < result.size(); ++i) result.data()[i] = 2 * random.uniform() - 1;
  return result;
}

/// The Hessian of n rows against the bare SYRK of the same n x (d + 1) matrix, taken in turns in
/// one run; `ratio` is the quotient of the two best times: 1 would mean that scoring, weighting and
/// copying are free.
void BM_objective_hessian(benchmark::State& state) {
  const Index n = state.range(0);
  const Index d = state.range(1);
  const RowMatrix features = random_rows(n, d);
  std::vector<int> labels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(i % 2);
  const Objective objective(features, labels, LossKind::logistic, {});
  const Vector theta = Vector::LinSpaced(d + 1, -1, 1);
  const RowMatrix with_one = random_rows(n, d + 1);
  Matrix gram = Matrix::Zero(d + 1, d + 1);

  double best_hessian = std::numeric_limits<double>::infinity();
  double best_syrk = best_hessian;
  for ([[maybe_unused]] auto step : state) {
    const Stopwatch hessian_watch;
    benchmark::DoNotOptimize(objective.hessian(theta));
    best_hessian = std::min(best_hessian, hessian_watch.seconds());
    state.PauseTiming();
    const Stopwatch syrk_watch;
    blas::add_gram(with_one, gram);
    benchmark::DoNotOptimize(gram.data());
    best_syrk = std::min(best_syrk, syrk_watch.seconds());
    state.ResumeTiming();
  }
  state.counters["rows/s"] = static_cast<double>(n) / best_hessian;
  state.counters["GB/s"] = static_cast<double>(8 * n * d) / best_hessian * 1e-9;
  state.counters["ratio_to_syrk"] = best_hessian / best_syrk;
}
BENCHMARK(BM_objective_hessian)
    ->ArgNames({"rows", "columns"})
    ->Args({1000000, 20})
    ->Args({100000, 61})
    ->Args({20000, 200})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(2);

}  // namespace
}  // namespace ellice
