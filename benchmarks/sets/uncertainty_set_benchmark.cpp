#include "sets/uncertainty_set.hpp"

#include <benchmark/benchmark.h>

#include <Eigen/QR>

#include "certificate/certifier.hpp"
#include "support/numeric_dataset.hpp"
#include "support/random_network.hpp"

namespace ellice {
namespace {

/// A model of the size that is asked for, its eigenvectors random: times do not depend on them.
Model sized_model(Index inputs, const std::vector<Index>& hidden, Index rank) {
  const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(100, inputs, 1));
  Model model{.encoder = Encoder::fit(data),
              .network = random_network(inputs, hidden, Activation::relu, Random(1))};
  model.training.l2 = 1e-3;
  const Index head = model.network.head().size();
  model.curvature.hessian = problem_zoo::random_hessian(head, 100, Random(2));
  Matrix gaussian(model.network.parameters(), rank);
  for (Index k = 0; k < rank; ++k) {
    gaussian.col(k) = Random(static_cast<std::uint64_t>(k)).normal_vector(gaussian.rows());
  }
  const Matrix orthonormal = Eigen::HouseholderQR<Matrix>(gaussian).householderQ() *
                             Matrix::Identity(gaussian.rows(), rank);
  model.curvature.full = GaussNewton{.damping = 0.1,
                                     .cut = 0.01,
                                     .values = Vector::LinSpaced(rank, 2, 0.02),
                                     .vectors = orthonormal};
  return model;
}

/// 16 units with 8 inputs and rank 17, or 32 and 32 with 11 and rank 67: what the paper's data
/// give.
Model model_of(const benchmark::State& state) {
  return state.range(0) == 16 ? sized_model(8, {16}, 17) : sized_model(11, {32, 32}, 67);
}

RowMatrix points_of(const Model& model) {
  RowMatrix result(64, model.network.inputs());
  for (Index i = 0; i < result.rows(); ++i) {
    result.row(i) = Random(static_cast<std::uint64_t>(i)).normal_vector(result.cols());
  }
  return result;
}

void BM_value(benchmark::State& state, SetKind kind) {
  const Model model = model_of(state);
  const auto set = make_set(model, {.kind = kind});
  const auto function = set->function();
  const RowMatrix points = points_of(model);
  Index i = 0;
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(function->value(0, points.row(i).transpose()));
    i = (i + 1) % points.rows();
  }
}

void BM_gradient(benchmark::State& state, SetKind kind) {
  const Model model = model_of(state);
  const auto set = make_set(model, {.kind = kind});
  const auto function = set->function();
  const RowMatrix points = points_of(model);
  Vector logit_gradient;
  Vector spread_gradient;
  Index i = 0;
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(
        function->gradient(0, points.row(i).transpose(), logit_gradient, spread_gradient));
    i = (i + 1) % points.rows();
  }
}

void BM_curvature(benchmark::State& state) {
  const Model model = model_of(state);
  const auto set = make_set(model, {});
  const auto function = set->function();
  const RowMatrix points = points_of(model);
  Vector logit_gradient;
  Vector spread_gradient;
  Matrix root;
  Index i = 0;
  for ([[maybe_unused]] auto step : state) {
    (void)function->gradient(0, points.row(i).transpose(), logit_gradient, spread_gradient);
    benchmark::DoNotOptimize(function->spread_root(0, root));
    i = (i + 1) % points.rows();
  }
}

void BM_certificate(benchmark::State& state, SetKind kind) {
  const Model model = model_of(state);
  const Certifier certifier(model, {.kind = kind}, 0.01, -1e6);
  const Vector z = points_of(model).row(0);
  const RawRow row = model.encoder.decode(z);
  for ([[maybe_unused]] auto step : state) benchmark::DoNotOptimize(certifier.certify(row));
}

#define ELLICE_SIZES ArgName("units")->Arg(16)->Arg(32)->Unit(benchmark::kMicrosecond)
BENCHMARK_CAPTURE(BM_value, last_layer, SetKind::last_layer)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_value, full, SetKind::full)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_value, isotropic, SetKind::isotropic)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_gradient, last_layer, SetKind::last_layer)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_gradient, full, SetKind::full)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_gradient, isotropic, SetKind::isotropic)->ELLICE_SIZES;
BENCHMARK(BM_curvature)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_certificate, last_layer, SetKind::last_layer)->ELLICE_SIZES;
BENCHMARK_CAPTURE(BM_certificate, full, SetKind::full)->ELLICE_SIZES;

}  // namespace
}  // namespace ellice
