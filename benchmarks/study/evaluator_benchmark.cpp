#include "study/evaluator.hpp"

#include <benchmark/benchmark.h>

#include <ctime>
#include <string>

#include "data/recipe.hpp"
#include "ellice/model/training.hpp"
#include "study/outlier_factor.hpp"

namespace ellice {
namespace {

/// A network of the paper's protocol and the rows that evaluators work with: three quarters of the
/// balanced data, a fifth of these for validation.
struct Prepared {
  Prepared(const std::string& name, const std::vector<int>& hidden) {
    const Dataset data = load_recipe(name);
    TrainingOptions options{.folds = 0};
    if (!hidden.empty()) {
      options.model = NetworkKind::mlp;
      options.network.hidden = hidden;
    }
    model = train(data, {.balance = true, .holdout = 0.25}, options).model;
    const SelectedRows selected = apply_selection(data, model.training.selection);
    const auto rows_of = [&](const std::vector<Index>& indices) {
      const Dataset part = select_rows(data, indices);
      return StoredRows{.encoded = model.encoder.encode(part.raw), .labels = part.labels};
    };
    fitted = rows_of(selected.fit);
    validation = rows_of(selected.validation);
    held_out = rows_of(selected.holdout);
    source = {.model = &model,
              .fitted = &fitted,
              .validation = validation.labels.empty() ? nullptr : &validation,
              .other = &held_out};
  }

  Model model;
  StoredRows fitted, validation, held_out;
  EvaluationSource source;
};

struct Setting {
  std::string name = {};
  std::vector<int> hidden = {};
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {{"diabetes", {}},   {"german", {}},
                                           {"diabetes", {16}}, {"german", {16}},
                                           {"wine", {32, 32}}, {"fico", {32, 32}}};
  return all;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Models per second of CPU time on one thread, at ε = 10 % of the objective; for evaluators that
/// work per answer, answers per second.
void BM_evaluator(benchmark::State& state) {
  const Setting& setting = settings()[static_cast<std::size_t>(state.range(0))];
  const auto kind = static_cast<EvaluatorKind>(state.range(1));
  if (!find_dataset_file(setting.name)) {
    state.SkipWithError("skipped: the data set is not there");
    return;
  }
  const Prepared prepared(setting.name, setting.hidden);
  const double epsilon = 0.1 * prepared.model.training.objective;
  const EvaluatorOptions options{.retrain_models = 8,
                                 .dropout_models = 600,
                                 .awp_models = 100,
                                 .bootstrap_models = 8,
                                 .shift_models = 8};
  const RowMatrix points = prepared.held_out.encoded.topRows(20);
  double count = 0;
  double seconds = 0;
  for ([[maybe_unused]] auto step : state) {
    const double start = cpu_seconds();
    const EvaluatorPointer evaluator =
        make_evaluators(prepared.source, {kind}, {epsilon}, options, Random(1)).front();
    const bool per_answer = evaluator->summary().is_per_answer;
    if (per_answer) benchmark::DoNotOptimize(evaluator->worst(points));
    seconds += cpu_seconds() - start;
    count += per_answer ? static_cast<double>(points.rows())
                        : static_cast<double>(evaluator->summary().models);
  }
  std::string label = setting.name;
  for (const int units : setting.hidden) label += " " + std::to_string(units);
  state.SetLabel(label + ", " + std::string(enum_name(kind)));
  state.counters["rows"] = static_cast<double>(prepared.fitted.labels.size());
  state.counters["per_second"] = count / seconds;
}
BENCHMARK(BM_evaluator)
    ->ArgNames({"setting", "kind"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5, 6}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// Answers scored by 600 models, and their local outlier factors.
void BM_scoring(benchmark::State& state) {
  const Setting& setting = settings()[static_cast<std::size_t>(state.range(0))];
  if (!find_dataset_file(setting.name)) {
    state.SkipWithError("skipped: the data set is not there");
    return;
  }
  const Prepared prepared(setting.name, setting.hidden);
  StressSet set;
  set.models.assign(600, {.network = prepared.model.network});
  const EvaluatorPointer evaluator =
      evaluator_of(EvaluatorKind::retrain, std::nullopt, std::move(set));
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(evaluator->worst(prepared.held_out.encoded));
  }
  state.counters["answers/s"] =
      benchmark::Counter(static_cast<double>(prepared.held_out.labels.size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_scoring)->ArgName("setting")->DenseRange(0, 5)->Unit(benchmark::kMillisecond);

void BM_outlier_factor(benchmark::State& state) {
  const Setting& setting = settings()[static_cast<std::size_t>(state.range(0))];
  if (!find_dataset_file(setting.name)) {
    state.SkipWithError("skipped: the data set is not there");
    return;
  }
  const Prepared prepared(setting.name, {});
  for ([[maybe_unused]] auto step : state) {
    const OutlierFactor factor(prepared.fitted.encoded, 20);
    benchmark::DoNotOptimize(factor.factors(prepared.held_out.encoded));
  }
}
BENCHMARK(BM_outlier_factor)->ArgName("setting")->DenseRange(0, 5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ellice
