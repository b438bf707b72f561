#include "ellice/core/random.hpp"

#include <benchmark/benchmark.h>

namespace ellice {
namespace {

void BM_random_normal_vector(benchmark::State& state) {
  Random random(7);
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(random.normal_vector(state.range(0)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_random_normal_vector)->ArgName("size")->Range(8, 4096);

}  // namespace
}  // namespace ellice
