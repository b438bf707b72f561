#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ellice/core/execution.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

struct TrainingOptions {
  NetworkKind model = NetworkKind::logistic;
  LossKind loss = LossKind::logistic;
  double l2 = 1e-3;
  bool penalize_bias = true;
  std::string weights = {};  // where Dataset::weights came from; none are used without it
  ClassWeight class_weight = ClassWeight::none;
  std::vector<double> penalty_factors = {};  // of linear models, by encoded column (see Penalty)
  /// Of linear models with binned features: the weight of a bin is penalised as the share of rows
  /// in it.
  bool bin_penalty = false;
  /// Of a nam, by the name of a feature with an order: which way the score goes when it grows.
  std::map<std::string, Monotone> monotone = {};
  double gradient_tolerance = 1e-10;
  int max_iterations = 200;
  std::optional<int> folds = {};
  bool store_rows = false;
  bool refit = false;
  double damping = 0.1;
  bool full_curvature = true;
  /// Has fields of its own. A softmax model takes its hidden layers from here; none is softmax
  /// regression.
  NetworkOptions network = {};

  static void fields(auto& self, auto&& visit) {
    visit("model", self.model, any_value(), "kind of model");
    visit("loss", self.loss, any_value(),
          "training loss; for squared the ellipsoid is exactly the Rashomon set; that of a softmax "
          "model is always softmax");
    visit("l2", self.l2, at_least(0), "weight of the penalty (l2/2)·‖θ‖²");
    visit("penalize_bias", self.penalize_bias, any_value(), "the penalty includes the bias");
    visit("weights", self.weights, any_value(),
          "column with the weight of each row in the loss, a number > 0; it is no feature");
    visit("class_weight", self.class_weight, any_value(),
          "balanced: classes weigh the same in the loss, however many rows they have");
    visit("gradient_tolerance", self.gradient_tolerance, greater_than(0),
          "largest entry of the gradient at which to stop");
    visit("max_iterations", self.max_iterations, at_least(1), "Newton steps");
    visit("folds", self.folds, at_least(0),
          "folds of the cross-validated accuracy when no rows are held out; 0 or 1 to skip it; 5 "
          "without hidden layers and 0 with them unless given");
    visit("store_rows", self.store_rows, any_value(),
          "keep the encoded rows in the model file, so that the true set needs no other file");
    visit("refit", self.refit, any_value(),
          "fit a network's last layer to its optimum in the end, the hidden layers fixed; models "
          "without hidden layers always are at theirs");
    visit("damping", self.damping, greater_than(0),
          "added to the curvature of all of a network's parameters for the full-network set");
    visit("full_curvature", self.full_curvature, any_value(),
          "store the curvature of all of a network's parameters, which the set full needs; large "
          "networks do without");
  }
  bool operator==(const TrainingOptions&) const = default;
};

/// What training did, beyond what the model itself records.
struct TrainingSummary {
  int iterations = 0;        // Newton steps of the head; 0 for a network that is not refitted
  double gradient_norm = 0;  // largest entry, in the head's parameters
  int epochs = 0;            // of a network
  bool stopped_early = false;
  double train_accuracy = 0;
  std::optional<double> holdout_accuracy = {};
  std::optional<double> validation_accuracy = {};       // of a network, on the rows that stopped it
  std::optional<double> cross_validated_accuracy = {};  // mean over the folds
  std::string cross_validation_failure = {};  // why there is none although it was asked for
  std::vector<std::size_t> class_rows = {};   // among those fitted
  std::size_t holdout_rows = 0;
  std::size_t validation_rows = 0;
  std::size_t dropped_by_balancing = 0;
  double condition_number = 0;  // of H as it is stored, with the gauge term of many classes
  double seconds = 0;
};

struct TrainingResult {
  Model model = {};
  TrainingSummary summary = {};
};

/// Selects the rows, fits encoder and model on them, stores the curvature. A network is fitted by
/// fit_network, and its head is the minimiser with hidden layers fixed only after `refit`;
/// otherwise `head_decrement` says how far off it is. Without hidden layers, and with `refit`,
/// throws Error{input} when the classes can be separated and l2 = 0 (no minimiser exists),
/// Error{input} when Newton stops short of its tolerance: a head that is not the minimiser is
/// never returned as if it were.
[[nodiscard]] TrainingResult train(const Dataset& data, const Selection& selection,
                                   const TrainingOptions& options, const Execution& execution = {});

/// The model that train() makes of given rows; `validation` (may be null) decides when a network's
/// training stops.
[[nodiscard]] Model train_on(const Dataset& fitted, const Dataset* validation,
                             const TrainingOptions& options, std::uint64_t seed);

/// The same network seen with another penalty: what is stored of its objective and curvature is
/// recomputed on the rows, its parameters stay, and need not minimise the objective any more.
[[nodiscard]] Model with_penalty(const Model& model, const StoredRows& rows,
                                 const Penalty& penalty);

/// The model with its last layer refitted on the rows that it was fitted on, and what follows from
/// it (loss, objective, curvature, hash): the optional step of the paper's Algorithm 1. A linear
/// model is its last layer and stays what it is, to the tolerance of its training.
[[nodiscard]] Model refit_model(const Model& model, const StoredRows& rows);

/// Share of rows on the right side of the threshold, or whose class has the largest score.
[[nodiscard]] double accuracy(const Model& model, const Dataset& data);

}  // namespace ellice
