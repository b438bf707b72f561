#include "ellice/model/training.hpp"

#include <algorithm>

#include "ellice/core/error.hpp"
#include "ellice/core/stopwatch.hpp"
#include "ellice/data/folds.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/network_objective.hpp"
#include "ellice/model/objective.hpp"
#include "ellice/solver/newton.hpp"

namespace ellice {

namespace {

// Streams of a model's seed; apply_selection has its own.
constexpr std::uint64_t cross_validation_stream = 100;
constexpr std::uint64_t network_stream = 101;
constexpr std::uint64_t fold_validation_stream = 102;

constexpr double default_validation = 0.2;  // of networks
constexpr int default_folds = 5;            // of logistic models

[[noreturn]] void fail_without_minimiser(const std::string& source, bool complete) {
  fail(ErrorCode::input,
       "{}: the two classes {} by a plane and l2 = 0, so that the loss has no minimiser: "
       "parameters grow without end. Use --l2 with a number > 0, e.g. --l2 0.001",
       source, complete ? "are separated" : "are separated up to ties");
}

/// The head that minimises the objective on the given features.
NewtonResult fit_head(const Objective& objective, const RowMatrix& features,
                      const std::vector<int>& labels, LossKind loss, double l2,
                      const NewtonOptions& options, const std::string& source) {
  NewtonResult newton =
      minimize_newton({.value = [&](VectorArg theta) { return objective.value(theta); },
                       .derivatives =
                           [&](VectorArg theta, Vector& gradient, Matrix& hessian) {
                             return objective.derivatives(theta, gradient, hessian);
                           }},
                      Vector::Zero(objective.parameters()), options);
  const bool converged = newton.status == NewtonStatus::converged;
  const bool is_flat = newton.gradient_norm <= options.gradient_tolerance;

  // Without a penalty the logistic loss of separable classes decreases for ever along the
  // separating direction; one strictly separating θ proves it.
  if (l2 == 0 && loss == LossKind::logistic) {
    const Vector scores = linear_network(newton.point).logits(features);
    bool separated = true;
    for (Index i = 0; i < scores.size() && separated; ++i) {
      separated = labels[static_cast<std::size_t>(i)] == 1 ? scores(i) > 0 : scores(i) < 0;
    }
    if (separated) fail_without_minimiser(source, true);
    // Separable up to ties: the curvature along the separating direction dies out on the way from
    // 0, and Newton's steps along it do not.
    const Index full_rank = spectrum(objective.hessian(Vector::Zero(objective.parameters()))).rank;
    if ((is_flat && !converged) || spectrum(objective.hessian(newton.point)).rank < full_rank) {
      fail_without_minimiser(source, false);
    }
  }
  if (!converged) {
    fail(ErrorCode::internal,
         "{}: training stopped after {} Newton steps with a gradient of {:.3g}, {}; raise {}--l2, "
         "which is {}",
         source, newton.iterations, newton.gradient_norm,
         is_flat ? std::string("but its parameters still grow")
                 : fmt::format("above the tolerance of {:.3g}", options.gradient_tolerance),
         is_flat ? "" : "--max-iterations or --gradient-tolerance, or ", l2);
  }
  return newton;
}

/// A data set as one model sees it.
struct FitRows {
  Dataset fitted = {};
  std::optional<Dataset> validation = {};
};

Network fit_hidden_layers(const FitRows& rows, const Encoder& encoder, const RowMatrix& features,
                          const TrainingOptions& options, Penalty penalty, std::uint64_t seed,
                          TrainingSummary& summary) {
  RowMatrix validation;
  LabelledRows validation_view;
  if (rows.validation) {
    validation = encoder.encode(rows.validation->raw);
    validation_view = {.features = &validation, .labels = &rows.validation->labels};
  }
  NetworkFit fit =
      fit_network({.features = &features, .labels = &rows.fitted.labels}, validation_view,
                  options.loss, penalty, options.network, Random(seed).split(network_stream));
  summary.epochs = fit.epochs;
  summary.stopped_early = fit.stopped_early;
  return std::move(fit.network);
}

/// Loss and curvature of the head as it stands; returns its gradient.
Vector measure_head(Model& model, const Objective& head) {
  const Vector theta = model.network.head();
  Vector gradient;
  model.training.loss = head.loss(theta);
  head.derivatives(theta, gradient, model.curvature.hessian);
  model.curvature.shift = needed_shift(model.curvature.hessian);
  model.curvature.hessian.diagonal().array() += model.curvature.shift;
  return gradient;
}

/// What all layers together add: their objective, how far the head is from its optimum, and the
/// curvature in all parameters.
void measure_network(Model& model, const Vector& head_gradient, LabelledRows rows, double damping) {
  TrainingRecord& training = model.training;
  const double newton_step = CholeskyFactor(model.curvature.hessian).inverse_norm(head_gradient);
  training.head_decrement = newton_step * newton_step / 2;
  training.objective =
      NetworkObjective(rows, training.loss_kind,
                       {.l2 = training.l2, .penalize_bias = training.penalize_bias})
          .value(model.network);
  model.curvature.full = gauss_newton(model.network, *rows.features, training.loss_kind, damping);
}

Model fit_model(const FitRows& rows, const TrainingOptions& options, std::uint64_t seed,
                int threads, TrainingSummary& summary) {
  const Dataset& data = rows.fitted;
  const bool hidden_layers = options.model == NetworkKind::mlp;
  const Penalty penalty{.l2 = options.l2, .penalize_bias = options.penalize_bias};
  Model model{.encoder = Encoder::fit(data)};
  const RowMatrix encoded = model.encoder.encode(data.raw);
  if (hidden_layers) {
    model.network =
        fit_hidden_layers(rows, model.encoder, encoded, options, penalty, seed, summary);
  }
  const RowMatrix features = hidden_layers ? model.network.row_features(encoded) : encoded;
  const Objective head(features, data.labels, options.loss, penalty, threads);

  NewtonResult optimum;
  if (!hidden_layers || options.refit) {
    optimum = fit_head(head, features, data.labels, options.loss, options.l2,
                       {.gradient_tolerance = options.gradient_tolerance,
                        .max_iterations = options.max_iterations},
                       data.source);
    if (hidden_layers) {
      model.network.set_head(optimum.point);
    } else {
      model.network = linear_network(optimum.point);
    }
  }
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(),
                    .loss_kind = options.loss,
                    .l2 = options.l2,
                    .penalize_bias = options.penalize_bias,
                    .objective = optimum.value,
                    .head_decrement = optimum.decrement,
                    .data_sha256 = data.sha256};
  summary.iterations = optimum.iterations;
  summary.gradient_norm = optimum.gradient_norm;
  const Vector gradient = measure_head(model, head);
  if (hidden_layers) {
    model.training.network = options.network;
    summary.gradient_norm = gradient.cwiseAbs().maxCoeff();
    measure_network(model, gradient, {.features = &encoded, .labels = &data.labels},
                    options.damping);
  }
  if (options.store_rows) model.rows = StoredRows{.encoded = encoded, .labels = data.labels};
  return model;
}

/// Each row is judged by a model, encoder included, that has not seen it.
double cross_validate(const Dataset& data, const TrainingOptions& options, int fold_count,
                      const Selection& selection, const Execution& execution) {
  const Random random(selection.seed);
  const std::vector<Fold> folds =
      stratified_folds(data.labels, fold_count, random.split(cross_validation_stream));
  TrainingOptions fold_options = options;
  fold_options.store_rows = false;
  std::vector<double> accuracies(folds.size());
  parallel_for("cross-validation", folds.size(), execution, [&](std::size_t k) {
    FitRows rows{.fitted = select_rows(data, folds[k].train)};
    if (const double share = selection.validation.value_or(0); share > 0) {
      const Fold inner = stratified_split(rows.fitted.labels, share,
                                          random.split(fold_validation_stream).split(k));
      rows.validation = select_rows(rows.fitted, inner.test);
      rows.fitted = select_rows(rows.fitted, inner.train);
    }
    TrainingSummary ignored;
    const Model model = fit_model(rows, fold_options, selection.seed, 1, ignored);
    accuracies[k] = accuracy(model, select_rows(data, folds[k].test));
  });
  double sum = 0;
  for (const double a : accuracies) sum += a;
  return sum / static_cast<double>(accuracies.size());
}

/// The selection with what its kind of model implies.
Selection complete(Selection selection, const TrainingOptions& options) {
  if (options.model == NetworkKind::mlp) {
    require(!options.network.hidden.empty(), "a network needs hidden layers, e.g. --hidden 16");
    selection.validation = selection.validation.value_or(default_validation);
    return selection;
  }
  require(selection.validation.value_or(0) == 0,
          "validation rows decide when a network's training stops; --validation needs --model mlp");
  require(options.network == NetworkOptions{},
          "hidden layers and how to fit them (--hidden, --epochs …) need --model mlp");
  selection.validation.reset();
  return selection;
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

NewtonResult refit_head(Network& network, LabelledRows rows, LossKind kind, Penalty penalty) {
  require(rows.features != nullptr && rows.labels != nullptr, "rows and labels are needed");
  const RowMatrix features = network.row_features(*rows.features);
  const Objective objective(features, *rows.labels, kind, penalty);
  NewtonResult optimum = fit_head(objective, features, *rows.labels, kind, penalty.l2, {}, "refit");
  network.set_head(optimum.point);
  return optimum;
}

Model refit_model(const Model& model, const StoredRows& rows) {
  require(
      rows.encoded.rows() == model.training.rows && rows.encoded.cols() == model.encoder.columns(),
      "the model was fitted on {} rows with {} columns, found {} with {}", model.training.rows,
      model.encoder.columns(), rows.encoded.rows(), rows.encoded.cols());
  Model refitted = model;
  const TrainingRecord& training = refitted.training;
  const Penalty penalty{.l2 = training.l2, .penalize_bias = training.penalize_bias};
  const NewtonResult optimum =
      refit_head(refitted.network, labelled(rows), training.loss_kind, penalty);
  const RowMatrix features = refitted.network.row_features(rows.encoded);
  const Objective head(features, rows.labels, training.loss_kind, penalty);
  const Vector gradient = measure_head(refitted, head);
  if (refitted.network.kind == NetworkKind::mlp) {
    measure_network(refitted, gradient, labelled(rows), model.curvature.full->damping);
  } else {
    refitted.training.objective = optimum.value;
    refitted.training.head_decrement = optimum.decrement;
  }
  refitted.recommended.reset();  // it was for another model
  refitted.sha256 = model_sha256(to_json(refitted));
  return refitted;
}

TrainingResult train(const Dataset& data, const Selection& given, const TrainingOptions& options,
                     const Execution& execution) {
  validate(options, "TrainingOptions");
  validate(options.network, "NetworkOptions");
  validate(given, "Selection");
  const Selection selection = complete(given, options);
  const Stopwatch watch;
  TrainingResult result;
  TrainingSummary& summary = result.summary;

  const SelectedRows selected = apply_selection(data, selection);
  FitRows rows{.fitted = select_rows(data, selected.fit)};
  if (!selected.validation.empty()) rows.validation = select_rows(data, selected.validation);
  const Dataset& fitted = rows.fitted;
  summary.dropped_by_balancing = selected.dropped_by_balancing;
  summary.holdout_rows = selected.holdout.size();
  summary.validation_rows = selected.validation.size();
  summary.favourable_rows =
      static_cast<std::size_t>(std::count(fitted.labels.begin(), fitted.labels.end(), 1));

  result.model = fit_model(rows, options, selection.seed, thread_count(execution.threads), summary);
  Model& model = result.model;
  model.training.selection = selection;
  model.training.seed = selection.seed;
  model.sha256 = model_sha256(to_json(model));

  summary.train_accuracy = accuracy(model, fitted);
  if (rows.validation) summary.validation_accuracy = accuracy(model, *rows.validation);
  const int folds =
      options.folds.value_or(options.model == NetworkKind::logistic ? default_folds : 0);
  if (!selected.holdout.empty()) {
    summary.holdout_accuracy = accuracy(model, select_rows(data, selected.holdout));
  } else if (folds > 1) {
    // Fewer rows of a class than folds: as many folds as the class allows.
    const std::size_t unfavourable = fitted.labels.size() - summary.favourable_rows;
    const std::size_t smaller = std::min(summary.favourable_rows, unfavourable);
    const int capped = static_cast<int>(std::min(static_cast<std::size_t>(folds), smaller));
    if (capped > 1) {
      // The rows of a fold can be separable, or one of its columns too narrow, where those of the
      // whole are not: the model is sound, only this number is missing.
      try {
        summary.cross_validated_accuracy =
            cross_validate(fitted, options, capped, selection, execution);
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
