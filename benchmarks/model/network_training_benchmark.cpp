#include "model/network_training.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "core/blas.hpp"

namespace ellice {
namespace {

struct Rows {
  RowMatrix features = {};
  std::vector<int> labels = {};
};

Rows random_rows(Index rows, Index columns) {
  Random random(1);
  Rows result{.features = RowMatrix(rows, columns)};
  const Vector w = random.normal_vector(columns);
  for (Index i = 0; i < rows; ++i) {
    result.features.row(i) = random.normal_vector(columns).transpose();
    const double score = result.features.row(i).dot(w) + 2 * random.normal();
    result.labels.push_back(score > 0 ? 1 : 0);
  }
  return result;
}

/// The matrix products of one full-batch step and nothing else: forwards, then back.
class BareProducts {
 public:
  BareProducts(Index rows, std::vector<Index> widths) : rows_(rows), widths_(std::move(widths)) {
    Random random(2);
    for (std::size_t l = 0; l < widths_.size(); ++l) {
      values_.push_back(random.normal_vector(rows * widths_[l]));
      adjoints_.push_back(random.normal_vector(rows * widths_[l]));
      if (l == 0) continue;
      weights_.push_back(random.normal_vector(widths_[l - 1] * widths_[l]));
      gradients_.push_back(Vector::Zero(widths_[l - 1] * widths_[l]));
    }
  }

  void step() {
    using enum blas::Op;
    for (std::size_t l = 0; l < weights_.size(); ++l) {
      const Index in = widths_[l];
      const Index out = widths_[l + 1];
      blas::gemm(out, rows_, in, {.data = weights_[l].data(), .leading = out},
                 {.data = values_[l].data(), .leading = in}, 0, values_[l + 1].data(), out);
    }
    for (std::size_t l = weights_.size(); l-- > 0;) {
      const Index in = widths_[l];
      const Index out = widths_[l + 1];
      const double* adjoint = adjoints_[l + 1].data();
      blas::gemm(in, out, rows_, {.data = values_[l].data(), .leading = in},
                 {.data = adjoint, .leading = out, .op = transposed}, 0, gradients_[l].data(), in);
      if (l == 0) break;
      blas::gemm(in, rows_, out, {.data = weights_[l].data(), .leading = out, .op = transposed},
                 {.data = adjoint, .leading = out}, 0, adjoints_[l].data(), in);
    }
    benchmark::DoNotOptimize(gradients_.front().data());
  }

 private:
  Index rows_;
  std::vector<Index> widths_;
  std::vector<Vector> values_, adjoints_, weights_, gradients_;
};

/// Of this process: both sides run on one thread, and other programs do not count.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Whole fits of 600 full-batch epochs on one thread, at the sizes of Diabetes (8 columns), Wine
/// (11) and Parkinson's (18), against the bare matrix products of as many epochs in the same run:
/// `ratio_to_products` is the quotient of the two best CPU times.
void BM_network_fit(benchmark::State& state) {
  const Rows rows = random_rows(state.range(0), state.range(1));
  const int width = static_cast<int>(state.range(2));
  const auto layers = static_cast<std::size_t>(state.range(3));
  const NetworkOptions options{.hidden = std::vector<int>(layers, width), .patience = 0};
  std::vector<Index> widths = {state.range(1)};
  for (const int units : options.hidden) widths.push_back(units);
  widths.push_back(1);
  BareProducts products(state.range(0), widths);

  double best_fit = std::numeric_limits<double>::infinity();
  double best_products = best_fit;
  for ([[maybe_unused]] auto step : state) {
    const double fit_start = cpu_seconds();
    benchmark::DoNotOptimize(fit_network({.features = &rows.features, .labels = &rows.labels}, {},
                                         LossKind::logistic, {}, options, Random(3)));
    best_fit = std::min(best_fit, cpu_seconds() - fit_start);
    state.PauseTiming();
    const double products_start = cpu_seconds();
    for (int epoch = 0; epoch < options.epochs; ++epoch) products.step();
    best_products = std::min(best_products, cpu_seconds() - products_start);
    state.ResumeTiming();
  }
  state.counters["networks/s"] = 1 / best_fit;
  state.counters["ratio_to_products"] = best_fit / best_products;
}
BENCHMARK(BM_network_fit)
    ->ArgNames({"rows", "columns", "width", "layers"})
    ->Args({321, 8, 16, 1})
    ->Args({1532, 11, 16, 1})
    ->Args({3523, 18, 16, 1})
    ->Args({321, 8, 32, 2})
    ->Args({1532, 11, 32, 2})
    ->Args({3523, 18, 32, 2})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1);

}  // namespace
}  // namespace ellice
