// A fixed piece of work that nothing of the project takes part in, in every program of benchmarks:
// times divided by this one's tell more of the code than of the processor (scripts/bench
// --compare).

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace {

constexpr std::size_t size = 48;
using Square = std::array<std::array<double, size>, size>;

Square positive_definite() {
  Square result{};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double distance = static_cast<double>(i > j ? i - j : j - i);
      result[i][j] = (i == j ? 2.0 : 0.0) + 1 / (1 + distance);
    }
  }
  return result;
}

/// The lower Cholesky factor in place of the lower triangle, by plain loops.
void factorise(Square& a) {
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      for (std::size_t i = j; i < size; ++i) a[i][j] -= a[i][k] * a[j][k];
    }
    const double root = std::sqrt(a[j][j]);
    for (std::size_t i = j; i < size; ++i) a[i][j] /= root;
  }
}

void BM_reference(benchmark::State& state) {
  const Square matrix = positive_definite();
  for (auto _ : state) {
    Square factor = matrix;
    factorise(factor);
    benchmark::DoNotOptimize(factor);
  }
}

BENCHMARK(BM_reference)->Unit(benchmark::kMicrosecond);

}  // namespace
