#include "search/local_search.hpp"

#include <benchmark/benchmark.h>

#include <Eigen/Eigenvalues>
#include <vector>

#include "model/network_pass.hpp"
#include "model/network_training.hpp"
#include "search/gradient.hpp"

namespace ellice {
namespace {

/// Rows whose classes no linear model separates.
Dataset curved_dataset(Index rows, Index columns, std::uint64_t seed) {
  Random random(seed);
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  for (Index j = 0; j < columns; ++j) {
    data.schema.features.push_back({.name = "x" + std::to_string(j)});
  }
  data.raw.resize(rows, columns);
  for (Index i = 0; i < rows; ++i) {
    const Vector x = random.normal_vector(columns);
    data.raw.row(i) = x.transpose();
    const double score = x[0] + x[1] * x[2] + std::sin(2 * x[3]) + 0.5 * x[4] - 0.4;
    data.labels.push_back(score + 0.5 * random.normal() > 0 ? 1 : 0);
  }
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

struct Setting {
  Model model = {};
  StoredRows rows = {};
  std::vector<Query> declined = {};
};

Setting make_setting(const std::vector<int>& hidden) {
  const Dataset data = curved_dataset(1000, 11, 1);
  Setting setting;
  Model& model = setting.model;
  model.encoder = Encoder::fit(data);
  setting.rows = {.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  const LabelledRows labelled{.features = &setting.rows.encoded, .labels = &setting.rows.labels};
  model.network = fit_network(labelled, labelled, LossKind::logistic, {.l2 = 1e-3},
                              {.hidden = hidden, .epochs = 300}, Random(1))
                      .network;
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(), .l2 = 1e-3, .objective = 0.4};
  model.sha256 = std::string(64, 'a');
  RowMatrix jacobians(data.rows(), model.network.parameters());
  NetworkPass pass(model.network);
  Vector jacobian;
  for (Index i = 0; i < data.rows(); ++i) {
    const double p = 1 / (1 + std::exp(-pass.forward(setting.rows.encoded.row(i).transpose())));
    if (p < 0.5) {
      setting.declined.push_back({.index = setting.declined.size(), .raw = data.raw.row(i)});
    }
    pass.backward();
    pass.parameter_gradient(jacobian);
    jacobians.row(i) =
        std::sqrt(p * (1 - p) / static_cast<double>(data.rows())) * jacobian.transpose();
  }
  setting.declined.resize(50);
  const Index head = model.network.head().size();
  const Matrix last = jacobians.rightCols(head);
  model.curvature.hessian = last.transpose() * last;
  model.curvature.hessian.diagonal().array() += model.training.l2;
  // Through the rows' Gram matrix, which is the smaller one.
  const Matrix gram = jacobians * jacobians.transpose();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
  GaussNewton full{.damping = 0.1, .cut = 0.01};
  const Index rank = (eigen.eigenvalues().array() > full.cut).count();
  full.values = eigen.eigenvalues().tail(rank).reverse();
  full.vectors = jacobians.transpose() * eigen.eigenvectors().rightCols(rank).rowwise().reverse();
  for (Index k = 0; k < rank; ++k) full.vectors.col(k) /= std::sqrt(full.values[k]);
  model.curvature.full = full;
  return setting;
}

const Setting& setting_of(Index depth) {
  static const Setting shallow = make_setting({16});
  static const Setting deep = make_setting({32, 32});
  return depth == 1 ? shallow : deep;
}

/// Counts what a search found, beside its time.
void run(benchmark::State& state, const Generator& generator, const std::vector<Query>& queries) {
  std::vector<Answer> answers;
  for ([[maybe_unused]] auto step : state) answers = generator.generate(queries, {});
  double length = 0;
  double certified = 0;
  for (const Answer& answer : answers) {
    if (answer.status != Status::certified) continue;
    ++certified;
    length += answer.distance.l2;
  }
  const auto count = static_cast<double>(queries.size());
  state.counters["per_answer"] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["certified"] = certified / count;
  state.counters["length"] = certified > 0 ? length / certified : 0;
}

Problem problem_of(const benchmark::State& state) {
  return {.model = &setting_of(state.range(0)).model,
          .set = {.kind = state.range(1) == 0 ? SetKind::last_layer : SetKind::full},
          .epsilon = 0.01};
}

/// depth 1 is one hidden layer of 16 units, depth 2 two of 32; full 0 is the last-layer set.
void BM_network_search(benchmark::State& state) {
  const Setting& setting = setting_of(state.range(0));
  const Problem problem = problem_of(state);
  const LocalSearch generator(problem, &setting.rows);
  run(state, generator, setting.declined);
}

void BM_gradient_search(benchmark::State& state) {
  const Problem problem = problem_of(state);
  const GradientSearch generator(problem);
  run(state, generator, setting_of(state.range(0)).declined);
}

void all_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"depth", "full"})->Unit(benchmark::kMillisecond);
  for (const int depth : {1, 2}) {
    for (const int full : {0, 1}) benchmark->Args({depth, full});
  }
}
BENCHMARK(BM_network_search)->Apply(all_sizes);
BENCHMARK(BM_gradient_search)->Apply(all_sizes);

}  // namespace
}  // namespace ellice
