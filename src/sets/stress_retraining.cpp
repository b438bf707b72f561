#include "ellice/core/error.hpp"
#include "model/head_objective.hpp"
#include "sets/stress.hpp"
#include "sets/stress_collection.hpp"
#include "solver/newton.hpp"

namespace ellice {

namespace {

// Streams of a bootstrap model's seed.
constexpr std::uint64_t rows_stream = 0;
constexpr std::uint64_t training_stream = 1;

Network fit_linear(const LabelledRows& rows, const StressSource& source) {
  if (source.penalty.l1.size() > 0) {
    const HeadObjective cornered(rows, source.loss, 1, source.penalty);
    return linear_network(cornered.minimize({}, "rows drawn with replacement").point);
  }
  const Objective objective(rows, source.loss, source.penalty);
  const NewtonResult result =
      minimize_newton({.value = [&](VectorArg theta) { return objective.value(theta); },
                       .derivatives =
                           [&](VectorArg theta, Vector& gradient, Matrix& hessian) {
                             return objective.derivatives(theta, gradient, hessian);
                           }},
                      source.base->head());
  if (result.status != NewtonStatus::converged) {
    fail(ErrorCode::input,
         "training on rows drawn with replacement stopped after {} Newton steps with a gradient "
         "of {:.3g}: without a penalty a draw whose classes can be separated has no minimiser; "
         "l2 is {}",
         result.iterations, result.gradient_norm, source.penalty.l2);
  }
  return linear_network(result.point);
}

Network fit_resampled(const StressSource& source, const Random& random) {
  const Index rows = source.train.features->rows();
  RowMatrix features(rows, source.train.features->cols());
  std::vector<int> labels(static_cast<std::size_t>(rows));
  Vector weights;
  if (source.train.weights != nullptr) weights.resize(source.train.weights->size());
  Random draws = random.split(rows_stream);
  for (Index i = 0; i < rows; ++i) {
    const std::uint64_t drawn = draws.below(static_cast<std::uint64_t>(rows));
    features.row(i) = source.train.features->row(static_cast<Index>(drawn));
    labels[static_cast<std::size_t>(i)] = (*source.train.labels)[drawn];
    if (weights.size() > 0) weights(i) = (*source.train.weights)(static_cast<Index>(drawn));
  }
  const LabelledRows drawn{.features = &features, .labels = &labels, .weights = &weights};
  if (source.base->is_linear()) return fit_linear(drawn, source);
  return fit_network(drawn, source.validation, source.loss, source.penalty, source.network,
                     random.split(training_stream), source.base->groups)
      .network;
}

}  // namespace

StressSet retrain_set(const StressSource& source, double bound, const StressOptions& options,
                      const Random& seeds, const Execution& execution) {
  check_stress_source(source, options);
  StressSet set{.kind = StressKind::retrain, .bound = bound};
  const auto count = static_cast<std::size_t>(options.count);
  if (source.base->is_linear()) {
    collect_models(
        "retraining", source, {.count = 1, .attempts = 1}, execution,
        [&](std::size_t) { return *source.base; }, set);
    return set;
  }
  check_network_options(source);
  collect_models(
      "retraining", source,
      {.count = count, .attempts = count * static_cast<std::size_t>(options.retrain_attempts)},
      execution,
      [&](std::size_t k) {
        return fit_network(source.train, source.validation, source.loss, source.penalty,
                           source.network, seeds.split(k), source.base->groups)
            .network;
      },
      set);
  return set;
}

StressSet bootstrap_set(const StressSource& source, const StressOptions& options,
                        const Random& seeds, const Execution& execution) {
  check_stress_source(source, options);
  if (!source.base->is_linear()) check_network_options(source);
  StressSet set{.kind = StressKind::bootstrap};
  const auto count = static_cast<std::size_t>(options.count);
  collect_models(
      "bootstrap", source, {.count = count, .attempts = count}, execution,
      [&](std::size_t k) { return fit_resampled(source, seeds.split(k)); }, set);
  return set;
}

}  // namespace ellice
