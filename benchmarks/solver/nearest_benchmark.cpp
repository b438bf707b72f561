#include "solver/nearest.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>

#include "core/random.hpp"
#include "core/stopwatch.hpp"

namespace ellice {
namespace {

/// Correlated rows of about half as many effective dimensions as columns, as tables have.
RowMatrix correlated_rows(Index rows, Index columns, std::uint64_t seed) {
  const Index factors = (columns + 1) / 2;
  Random mixing(7);
  Matrix mix(factors, columns);
  for (Index i = 0; i < mix.size(); ++i) mix.data()[i] = mixing.normal();
  RowMatrix latent(rows, factors);
  Random random(seed);
  for (Index i = 0; i < latent.size(); ++i) latent.data()[i] = random.normal();
  RowMatrix result = latent * mix;
  for (Index i = 0; i < result.size(); ++i) result.data()[i] += 0.3 * random.normal();
  return result;
}

/// The search that is chosen against brute force over the same rows, in turns in one run, one
/// thread. `ratio_to_brute` is the quotient of the best times: 1 where brute force is the choice.
void compare(benchmark::State& state, const Metric& metric, SearchKind kind, Index batch) {
  const Index n = state.range(0);
  const Index d = state.range(1);
  const RowMatrix rows = correlated_rows(n, d, 1);
  const RowMatrix queries = correlated_rows(batch, d, 2);
  const Stopwatch build_watch;
  const NearestRows chosen(rows, metric, kind);
  state.counters["build_s"] = build_watch.seconds();
  const NearestRows brute(rows, metric, SearchKind::brute);

  double best_chosen = std::numeric_limits<double>::infinity();
  double best_brute = best_chosen;
  for ([[maybe_unused]] auto step : state) {
    const Stopwatch chosen_watch;
    benchmark::DoNotOptimize(chosen.find(queries, 1));
    best_chosen = std::min(best_chosen, chosen_watch.seconds());
    state.PauseTiming();
    const Stopwatch brute_watch;
    benchmark::DoNotOptimize(brute.find(queries, 1));
    best_brute = std::min(best_brute, brute_watch.seconds());
    state.ResumeTiming();
  }
  const auto per_query = 1e6 / static_cast<double>(batch);
  state.counters["us/query"] = best_chosen * per_query;
  state.counters["brute_us/query"] = best_brute * per_query;
  state.counters["ratio_to_brute"] = best_chosen / best_brute;
  state.SetLabel(std::string(enum_name(chosen.kind())));
}

void BM_nearest_batch_l2(benchmark::State& state) {
  compare(state, weighted_squares(Vector::Ones(state.range(1))),
          static_cast<SearchKind>(state.range(2)), 256);
}
void BM_nearest_single_l2(benchmark::State& state) {
  compare(state, weighted_squares(Vector::Ones(state.range(1))),
          static_cast<SearchKind>(state.range(2)), 1);
}
void BM_nearest_batch_l1(benchmark::State& state) {
  compare(state, weighted_absolutes(Vector::Ones(state.range(1))),
          static_cast<SearchKind>(state.range(2)), 32);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "columns", "kind"})->Unit(benchmark::kMillisecond)->MinTime(0.2);
  for (const std::int64_t rows : {10000, 1000000}) {
    for (const std::int64_t columns : {7, 20, 61}) {
      for (const SearchKind kind :
           {SearchKind::automatic, SearchKind::kdtree, SearchKind::balltree}) {
        // A k-d tree of a million rows in many columns takes minutes and is never chosen.
        if (kind == SearchKind::kdtree && columns == 61 && rows > 10000) continue;
        benchmark->Args({rows, columns, static_cast<std::int64_t>(kind)});
      }
    }
  }
}
BENCHMARK(BM_nearest_batch_l2)->Apply(sizes);
BENCHMARK(BM_nearest_single_l2)->Apply(sizes);
BENCHMARK(BM_nearest_batch_l1)->Apply(sizes);

}  // namespace
}  // namespace ellice
