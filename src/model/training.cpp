#include "ellice/model/training.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/core/stopwatch.hpp"
#include "ellice/data/folds.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/objective.hpp"
#include "ellice/solver/newton.hpp"

namespace ellice {

namespace {

// Streams of a model's seed; apply_selection has its own.
constexpr std::uint64_t cross_validation_stream = 100;

struct Fit {
  Vector theta = {};
  NewtonResult newton = {};
};

[[noreturn]] void fail_without_minimiser(const std::string& source, bool complete) {
  fail(ErrorCode::input,
       "{}: the two classes {} by a plane and l2 = 0, so that the loss has no minimiser: "
       "parameters grow without end. Use --l2 with a number > 0, e.g. --l2 0.001",
       source, complete ? "are separated" : "are separated up to ties");
}

/// The head that minimises the objective on encoded rows.
Fit fit_head(const Objective& objective, const RowMatrix& features, const std::vector<int>& labels,
             const TrainingOptions& options, const std::string& source) {
  Fit fit;
  fit.newton = minimize_newton(
      {.value = [&](VectorArg theta) { return objective.value(theta); },
       .derivatives =
           [&](VectorArg theta, Vector& gradient, Matrix& hessian) {
             return objective.derivatives(theta, gradient, hessian);
           }},
      Vector::Zero(objective.parameters()),
      {.gradient_tolerance = options.gradient_tolerance, .max_iterations = options.max_iterations});
  fit.theta = fit.newton.point;
  const bool converged = fit.newton.status == NewtonStatus::converged;
  const bool is_flat = fit.newton.gradient_norm <= options.gradient_tolerance;

  // Without a penalty the logistic loss of separable classes decreases for ever along the
  // separating direction; one strictly separating θ proves it.
  if (options.l2 == 0 && options.loss == LossKind::logistic) {
    const Vector scores = linear_network(fit.theta).logits(features);
    bool separated = true;
    for (Index i = 0; i < scores.size() && separated; ++i) {
      separated = labels[static_cast<std::size_t>(i)] == 1 ? scores(i) > 0 : scores(i) < 0;
    }
    if (separated) fail_without_minimiser(source, true);
    // Separable up to ties: the curvature along the separating direction dies out on the way from
    // 0, and Newton's steps along it do not.
    const Index full_rank = spectrum(objective.hessian(Vector::Zero(objective.parameters()))).rank;
    if ((is_flat && !converged) || spectrum(objective.hessian(fit.theta)).rank < full_rank) {
      fail_without_minimiser(source, false);
    }
  }
  if (!converged) {
    fail(ErrorCode::internal,
         "{}: training stopped after {} Newton steps with a gradient of {:.3g}, {}; raise {}--l2, "
         "which is {}",
         source, fit.newton.iterations, fit.newton.gradient_norm,
         is_flat ? std::string("but its parameters still grow")
                 : fmt::format("above the tolerance of {:.3g}", options.gradient_tolerance),
         is_flat ? "" : "--max-iterations or --gradient-tolerance, or ", options.l2);
  }
  return fit;
}

Model fit_model(const Dataset& data, const TrainingOptions& options, int threads,
                TrainingSummary& summary) {
  Model model{.encoder = Encoder::fit(data)};
  const RowMatrix features = model.encoder.encode(data.raw);
  const Objective objective(features, data.labels, options.loss,
                            {.l2 = options.l2, .penalize_bias = options.penalize_bias}, threads);
  const Fit fit = fit_head(objective, features, data.labels, options, data.source);
  model.network = linear_network(fit.theta);
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(),
                    .loss_kind = options.loss,
                    .l2 = options.l2,
                    .penalize_bias = options.penalize_bias,
                    .loss = objective.loss(fit.theta),
                    .objective = fit.newton.value,
                    .head_decrement = fit.newton.decrement,
                    .data_sha256 = data.sha256};
  model.curvature.hessian = objective.hessian(fit.theta);
  model.curvature.shift = needed_shift(model.curvature.hessian);
  model.curvature.hessian.diagonal().array() += model.curvature.shift;
  if (options.store_rows) model.rows = StoredRows{.encoded = features, .labels = data.labels};
  summary.iterations = fit.newton.iterations;
  summary.gradient_norm = fit.newton.gradient_norm;
  return model;
}

/// Each row is judged by a model, encoder included, that has not seen it.
double cross_validate(const Dataset& data, const TrainingOptions& options, std::uint64_t seed,
                      const Execution& execution) {
  const std::vector<Fold> folds =
      stratified_folds(data.labels, options.folds, Random(seed).split(cross_validation_stream));
  TrainingOptions fold_options = options;
  fold_options.store_rows = false;
  std::vector<double> accuracies(folds.size());
  parallel_for("cross-validation", folds.size(), execution, [&](std::size_t k) {
    TrainingSummary ignored;
    const Model model = fit_model(select_rows(data, folds[k].train), fold_options, 1, ignored);
    accuracies[k] = accuracy(model, select_rows(data, folds[k].test));
  });
  double sum = 0;
  for (const double a : accuracies) sum += a;
  return sum / static_cast<double>(accuracies.size());
}

}  // namespace

double accuracy(const Model& model, const Dataset& data) {
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  Index right = 0;
  for (Index i = 0; i < logits.size(); ++i) {
    const int answer = logits(i) >= model.decision.threshold ? 1 : 0;
    right += answer == data.labels[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(data.rows());
}

TrainingResult train(const Dataset& data, const Selection& selection,
                     const TrainingOptions& options, const Execution& execution) {
  validate(options, "TrainingOptions");
  validate(selection, "Selection");
  const Stopwatch watch;
  TrainingResult result;
  TrainingSummary& summary = result.summary;

  const SelectedRows selected = apply_selection(data, selection);
  const Dataset fitted = select_rows(data, selected.fit);
  summary.dropped_by_balancing = selected.dropped_by_balancing;
  summary.holdout_rows = selected.holdout.size();
  summary.favourable_rows =
      static_cast<std::size_t>(std::count(fitted.labels.begin(), fitted.labels.end(), 1));

  result.model = fit_model(fitted, options, thread_count(execution.threads), summary);
  Model& model = result.model;
  model.training.selection = selection;
  model.training.seed = selection.seed;
  model.sha256 = model_sha256(to_json(model));

  summary.train_accuracy = accuracy(model, fitted);
  if (!selected.holdout.empty()) {
    summary.holdout_accuracy = accuracy(model, select_rows(data, selected.holdout));
  } else if (options.folds > 1) {
    // Fewer rows of a class than folds: as many folds as the class allows.
    const std::size_t unfavourable = fitted.labels.size() - summary.favourable_rows;
    const std::size_t smaller = std::min(summary.favourable_rows, unfavourable);
    TrainingOptions capped = options;
    capped.folds = static_cast<int>(std::min(static_cast<std::size_t>(options.folds), smaller));
    if (capped.folds > 1) {
      // The rows of a fold can be separable, or one of its columns too narrow, where those of the
      // whole are not: the model is sound, only this number is missing.
      try {
        summary.cross_validated_accuracy =
            cross_validate(fitted, capped, selection.seed, execution);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) throw;
        summary.cross_validation_failure = error.what();
      }
    }
  }
  summary.hessian_spectrum = spectrum(model.curvature.hessian);
  summary.seconds = watch.seconds();
  return result;
}

}  // namespace ellice
