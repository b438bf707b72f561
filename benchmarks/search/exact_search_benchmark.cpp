#include "search/exact_search.hpp"

#include <benchmark/benchmark.h>

#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"

namespace ellice {
namespace {

const Model& lending_model() {
  static const Model model = train(lending_dataset(2000, 1), {}, {.folds = 0}).model;
  return model;
}

std::vector<Query> declined(std::size_t count) {
  const Model& model = lending_model();
  std::vector<Query> queries;
  const Dataset data = lending_dataset(8 * count + 100, 2);
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  for (Index i = 0; i < logits.size() && queries.size() < count; ++i) {
    if (logits(i) < 0) queries.push_back({.index = queries.size(), .raw = data.raw.row(i)});
  }
  return queries;
}

/// From query to certified answer through the library: constraints, solve, grids, certificate.
/// range 0 leaves the ranges out, 1 keeps them; grid 0 drops the schema's steps.
void BM_linear_exact_answers(benchmark::State& state) {
  Dataset data = lending_dataset(2000, 1);
  if (state.range(2) == 0) {
    for (Feature& feature : data.schema.features) feature.step.reset();
  }
  const Model model = train(data, {}, {.folds = 0}).model;
  Problem problem{.model = &model, .epsilon = 0.01 * model.training.objective};
  problem.constraints.range = state.range(1) == 0 ? RangePolicy::off : RangePolicy::train;
  const ExactSearch generator(problem);
  const std::vector<Query> queries = declined(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(generator.generate(queries, {}));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_linear_exact_answers)
    ->ArgNames({"queries", "range", "grid"})
    ->Args({1, 0, 0})
    ->Args({1, 1, 0})
    ->Args({1, 1, 1})
    ->Args({1000, 0, 0})
    ->Args({1000, 1, 0})
    ->Args({1000, 1, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ellice
