#include "ellice/model/training.hpp"

#include <algorithm>

#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "data/folds.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/model_file.hpp"
#include "model/gauss_newton.hpp"
#include "model/head_objective.hpp"
#include "model/input_groups.hpp"
#include "model/network_objective.hpp"
#include "model/network_training.hpp"
#include "model/row_weights.hpp"
#include "model/sampling_moments.hpp"
#include "model/training_forecast.hpp"
#include "solver/cholesky.hpp"
#include "solver/newton.hpp"

namespace ellice {

namespace {

// Streams of a model's seed; apply_selection has its own.
constexpr std::uint64_t cross_validation_stream = 100;
constexpr std::uint64_t network_stream = 101;
constexpr std::uint64_t fold_validation_stream = 102;

constexpr double default_validation = 0.2;  // of networks
constexpr int default_folds = 5;            // of models without hidden layers

LabelledRows labelled(const RowMatrix& encoded, const Dataset& data, const Vector& weights) {
  return {.features = &encoded,
          .labels = &data.labels,
          .classes = static_cast<Index>(data.classes.size()),
          .weights = &weights};
}

/// The classes that the head has rows for.
Index outputs_of(LossKind loss, std::size_t classes) {
  return loss == LossKind::softmax ? static_cast<Index>(classes) : 1;
}

std::optional<RowWeights> weights_of(const TrainingOptions& options) {
  if (options.weights.empty() && options.class_weight == ClassWeight::none) return std::nullopt;
  return RowWeights{.column = options.weights, .class_weight = options.class_weight};
}

Penalty penalty_of(const TrainingOptions& options) {
  return {.l2 = options.l2,
          .penalize_bias = options.penalize_bias,
          .factors = Eigen::Map<const Vector>(options.penalty_factors.data(),
                                              static_cast<Index>(options.penalty_factors.size()))};
}

/// Columns of bins count as the share of rows in them, at least as one row; all others in full.
Vector bin_factors(const Encoder& encoder, const RowMatrix& encoded) {
  Vector factors = Vector::Ones(encoder.columns());
  const auto rows = static_cast<double>(encoded.rows());
  for (Index column = 0; column < factors.size(); ++column) {
    const Feature& feature = encoder.schema().features[encoder.feature_of(column)];
    if (feature.is_binned() && feature.has_indicators())
      factors(column) = std::max(1.0, encoded.col(column).sum()) / rows;
  }
  return factors;
}

/// A data set as one model sees it.
struct FitRows {
  Dataset fitted = {};
  std::optional<Dataset> validation = {};
};

Network fit_hidden_layers(const FitRows& rows, const Encoder& encoder, const LabelledRows& fitted,
                          const TrainingOptions& options, const Penalty& penalty,
                          std::uint64_t seed, TrainingSummary& summary) {
  RowMatrix validation;
  Vector validation_weights;
  LabelledRows validation_view;
  if (rows.validation) {
    validation = encoder.encode(rows.validation->raw);
    validation_weights = row_weights(*rows.validation, weights_of(options));
    validation_view = labelled(validation, *rows.validation, validation_weights);
  }
  NetworkFit fit = fit_network(fitted, validation_view, options.loss, penalty, options.network,
                               Random(seed).split(network_stream), input_groups(encoder, options));
  summary.epochs = fit.epochs;
  summary.stopped_early = fit.stopped_early;
  return std::move(fit.network);
}

/// Loss and curvature of the head as it stands; returns its gradient.
Vector measure_head(Model& model, const HeadObjective& head) {
  const Vector theta = model.network.head();
  Matrix& hessian = model.curvature.hessian;
  Vector gradient;
  model.training.loss = head.loss(theta);
  head.derivatives(theta, gradient, hessian);
  model.curvature.shift = needed_shift(with_gauge(hessian, model.network.outputs()));
  hessian.diagonal().array() += model.curvature.shift;
  return gradient;
}

/// What all layers together add: their objective, how far the head is from its optimum, and, where
/// there is one logit, the curvature in all parameters.
/// Without `damping` there is no curvature in all parameters.
void measure_network(Model& model, const Vector& head_gradient, const LabelledRows& rows,
                     std::optional<double> damping) {
  TrainingRecord& training = model.training;
  const Matrix hessian = with_gauge(model.curvature.hessian, model.network.outputs());
  const double newton_step = CholeskyFactor(hessian).inverse_norm(head_gradient);
  training.head_decrement = newton_step * newton_step / 2;
  training.objective =
      NetworkObjective(rows, training.loss_kind, penalty_of(training)).value(model.network);
  if (model.network.outputs() > 1 || !damping) return;
  constexpr double share = 0.3;
  model.curvature.full = gauss_newton(model.network, *rows.features, training.loss_kind, *damping,
                                      share, mean_one_weights(rows));
}

/// Of a fold only the scores count.
enum class FitFor { model, fold };

Model fit_model(const FitRows& rows, const TrainingOptions& options, std::uint64_t seed,
                int threads, TrainingSummary& summary, FitFor purpose = FitFor::model) {
  const Dataset& data = rows.fitted;
  const bool hidden_layers = has_hidden_layers(options);
  const Index outputs = outputs_of(options.loss, data.classes.size());
  Penalty penalty = penalty_of(options);
  const std::optional<RowWeights> weighting = weights_of(options);
  const Vector weights = row_weights(data, weighting);
  Model model{.encoder = Encoder::fit(data)};
  const RowMatrix encoded = model.encoder.encode(data.raw);
  if (options.bin_penalty) penalty.factors = bin_factors(model.encoder, encoded);
  const LabelledRows view = labelled(encoded, data, weights);
  if (hidden_layers) {
    model.network = fit_hidden_layers(rows, model.encoder, view, options, penalty, seed, summary);
  }
  const RowMatrix features = hidden_layers ? model.network.row_features(encoded) : encoded;
  const HeadObjective head(labelled(features, data, weights), options.loss, outputs, penalty,
                           threads);

  NewtonResult optimum;
  if (!hidden_layers || options.refit) {
    optimum = head.minimize({.gradient_tolerance = options.gradient_tolerance,
                             .max_iterations = options.max_iterations},
                            data.source);
    if (hidden_layers) {
      model.network.set_head(optimum.point);
    } else {
      model.network =
          outputs == 1 ? linear_network(optimum.point) : softmax_network(optimum.point, outputs);
    }
  }
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(),
                    .loss_kind = options.loss,
                    .l2 = options.l2,
                    .penalize_bias = options.penalize_bias,
                    .penalty_factors = penalty.factors,
                    .weights = weighting,
                    .objective = optimum.value,
                    .head_decrement = optimum.decrement,
                    .data_sha256 = data.sha256};
  summary.iterations = optimum.iterations;
  summary.gradient_norm = optimum.gradient_norm;
  const Vector gradient = measure_head(model, head);
  if (hidden_layers) {
    model.training.network = options.network;
    summary.gradient_norm = gradient.cwiseAbs().maxCoeff();
    measure_network(model, gradient, view,
                    options.full_curvature ? std::optional(options.damping) : std::nullopt);
  }
  if (purpose == FitFor::model && !hidden_layers && outputs == 1 && !weighting)
    model.curvature.sampling = sampling_of(model, view);
  if (options.store_rows) {
    model.rows = StoredRows{.encoded = encoded, .labels = data.labels, .weights = weights};
  }
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
    const Model model = fit_model(rows, fold_options, selection.seed, 1, ignored, FitFor::fold);
    accuracies[k] = accuracy(model, select_rows(data, folds[k].test));
  });
  double sum = 0;
  for (const double a : accuracies) sum += a;
  return sum / static_cast<double>(accuracies.size());
}

/// The selection with what its kind of model implies.
Selection complete(Selection selection, const TrainingOptions& options) {
  if (has_hidden_layers(options)) {
    require(!options.network.hidden.empty(), "a network needs hidden layers, e.g. `hidden: 16`");
    selection.validation = selection.validation.value_or(default_validation);
    return selection;
  }
  require(!options.bin_penalty || options.model == NetworkKind::logistic,
          "a penalty by the rows in a bin is for linear models of two classes");
  const bool is_softmax = options.model == NetworkKind::softmax;
  const std::string_view needed =
      is_softmax ? "`hidden`, the units of hidden layers" : "`model: mlp` or nam";
  require(selection.validation.value_or(0) == 0,
          "validation rows decide when a network's training stops; `validation` needs {}", needed);
  NetworkOptions unused;
  unused.hidden = options.network.hidden;
  require(options.network == (is_softmax ? unused : NetworkOptions{}),
          "hidden layers and how to fit them (`hidden`, `epochs` …) need {}", needed);
  selection.validation.reset();
  return selection;
}

/// The options with the loss that belongs to the kind of model. Throws where model, loss and
/// classes do not go together.
TrainingOptions complete(TrainingOptions options, const Dataset& data) {
  require(options.penalty_factors.empty() || !has_hidden_layers(options),
          "a penalty with a factor for each column is for models without hidden layers");
  check_monotone(data.schema, options);
  if (options.model == NetworkKind::softmax) {
    require(options.loss != LossKind::squared,
            "`loss: squared` is for models with two classes; a softmax model has its own loss");
    options.loss = LossKind::softmax;
    return options;
  }
  require(options.loss != LossKind::softmax, "`loss: softmax` is the loss of `model: softmax`");
  require_input(data.schema.target.classes.empty(),
                "{}: the target has the classes {}; use `model: softmax`, or leave target.classes "
                "out of the schema for a model that tells \"{}\" from the rest",
                data.source, fmt::join(data.classes, ", "), data.schema.target.favourable);
  return options;
}

}  // namespace

double accuracy(const Model& model, const Dataset& data) {
  const RowMatrix encoded = model.encoder.encode(data.raw);
  Index right = 0;
  if (model.network.outputs() > 1) {
    const RowMatrix scores = model.network.row_scores(encoded);
    for (Index i = 0; i < scores.rows(); ++i) {
      Index answer = 0;
      scores.row(i).maxCoeff(&answer);
      right += answer == data.labels[static_cast<std::size_t>(i)] ? 1 : 0;
    }
  } else {
    const Vector logits = model.network.logits(encoded);
    for (Index i = 0; i < logits.size(); ++i) {
      const int answer = logits(i) >= model.decision.threshold ? 1 : 0;
      right += answer == data.labels[static_cast<std::size_t>(i)] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(data.rows());
}

Model train_on(const Dataset& fitted, const Dataset* validation, const TrainingOptions& options,
               std::uint64_t seed) {
  validate(options, "TrainingOptions");
  FitRows rows{.fitted = fitted};
  if (validation != nullptr) rows.validation = *validation;
  TrainingSummary summary;
  Model model = fit_model(rows, options, seed, 1, summary);
  model.training.seed = seed;
  model.sha256 = model_sha256(model);
  return model;
}

Model with_penalty(const Model& model, const StoredRows& rows, const Penalty& penalty) {
  require(model.network.is_linear(), "another penalty is for linear models");
  Model changed = model;
  TrainingRecord& training = changed.training;
  training.l2 = penalty.l2;
  training.penalize_bias = penalty.penalize_bias;
  training.penalty_factors = penalty.factors;
  const HeadObjective head(labelled(rows), training.loss_kind, model.network.outputs(), penalty);
  const Vector gradient = measure_head(changed, head);
  changed.curvature.sampling.reset();  // it is about minima
  training.objective =
      NetworkObjective(labelled(rows), training.loss_kind, penalty).value(changed.network);
  const double newton_step = CholeskyFactor(changed.curvature.hessian).inverse_norm(gradient);
  training.head_decrement = newton_step * newton_step / 2;
  changed.sha256 = model_sha256(changed);
  return changed;
}

Model refit_model(const Model& model, const StoredRows& rows) {
  require(
      rows.encoded.rows() == model.training.rows && rows.encoded.cols() == model.encoder.columns(),
      "the model was fitted on {} rows with {} columns, found {} with {}", model.training.rows,
      model.encoder.columns(), rows.encoded.rows(), rows.encoded.cols());
  require(model.training.weights.has_value() == (rows.weights.size() > 0),
          "the model was fitted on rows with{} weights, found some with{}",
          model.training.weights ? "" : "out", rows.weights.size() > 0 ? "" : "out");
  require(parameter_signs(model.network).size() == 0,
          "the last layer of a model with monotone features is not refitted: its minimiser has "
          "other signs");
  Model refitted = model;
  const TrainingRecord& training = refitted.training;
  const Penalty penalty = penalty_of(training);
  LabelledRows view = labelled(rows);
  view.classes = static_cast<Index>(model.decision.classes.size());
  const NewtonResult optimum = refit_head(refitted.network, view, training.loss_kind, penalty);
  const RowMatrix features = refitted.network.row_features(rows.encoded);
  LabelledRows head_rows = view;
  head_rows.features = &features;
  const HeadObjective head(head_rows, training.loss_kind, model.network.outputs(), penalty);
  const Vector gradient = measure_head(refitted, head);
  if (refitted.network.layers.size() > 1) {
    measure_network(
        refitted, gradient, view,
        model.curvature.full ? std::optional(model.curvature.full->damping) : std::nullopt);
  } else {
    refitted.training.objective = optimum.value;
    refitted.training.head_decrement = optimum.decrement;
    if (model.network.has_one_output() && !training.weights && !has_corners(training))
      refitted.curvature.sampling = sampling_of(refitted, view);
  }
  refitted.recommended.reset();  // it was for another model
  refitted.sha256 = model_sha256(refitted);
  return refitted;
}

TrainingResult train(const Dataset& data, const Selection& given,
                     const TrainingOptions& given_options, const Execution& execution) {
  validate(given_options, "TrainingOptions");
  validate(given_options.network, "NetworkOptions");
  validate(given, "Selection");
  const TrainingOptions options = complete(given_options, data);
  const Selection selection = complete(given, options);
  const Stopwatch watch;
  TrainingResult result;
  TrainingSummary& summary = result.summary;

  const SelectedRows selected = apply_selection(data, selection);
  FitRows rows{.fitted = select_rows(data, selected.fit)};
  // A softmax model lists its classes, even where there are two and the data did not.
  if (options.model == NetworkKind::softmax) rows.fitted.schema.target.classes = data.classes;
  if (!selected.validation.empty()) rows.validation = select_rows(data, selected.validation);
  const Dataset& fitted = rows.fitted;
  summary.dropped_by_balancing = selected.dropped_by_balancing;
  summary.holdout_rows = selected.holdout.size();
  summary.validation_rows = selected.validation.size();
  summary.class_rows.resize(fitted.classes.size());
  for (const int label : fitted.labels) ++summary.class_rows[static_cast<std::size_t>(label)];

  require_feasible_training(fitted.schema, fitted.rows(), static_cast<Index>(fitted.classes.size()),
                            options);
  result.model = fit_model(rows, options, selection.seed, thread_count(execution.threads), summary);
  Model& model = result.model;
  model.training.selection = selection;
  model.training.seed = selection.seed;
  model.sha256 = model_sha256(model);

  summary.train_accuracy = accuracy(model, fitted);
  if (rows.validation) summary.validation_accuracy = accuracy(model, *rows.validation);
  const int folds = options.folds.value_or(has_hidden_layers(options) ? 0 : default_folds);
  if (!selected.holdout.empty()) {
    summary.holdout_accuracy = accuracy(model, select_rows(data, selected.holdout));
  } else if (folds > 1) {
    // Fewer rows of a class than folds: as many folds as the class allows.
    const std::size_t smallest =
        *std::min_element(summary.class_rows.begin(), summary.class_rows.end());
    const int capped = static_cast<int>(std::min(static_cast<std::size_t>(folds), smallest));
    if (capped > 1) {
      // The rows of a fold can be separable, or one of its columns too narrow, where those of the
      // whole are not: the model is sound, only this number is missing.
      try {
        summary.cross_validated_accuracy =
            cross_validate(fitted, options, capped, selection, execution);
      } catch (const Error& error) {
        keep_stop(error);
        summary.cross_validation_failure = error.what();
      }
    }
  }
  summary.condition_number =
      spectrum(with_gauge(model.curvature.hessian, model.network.outputs())).condition();
  summary.seconds = watch.seconds();
  return result;
}

}  // namespace ellice
