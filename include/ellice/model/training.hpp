#pragma once

#include <optional>
#include <string>

#include "ellice/core/fields.hpp"
#include "ellice/core/parallel.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"
#include "ellice/solver/cholesky.hpp"

namespace ellice {

struct TrainingOptions {
  NetworkKind model = NetworkKind::logistic;
  LossKind loss = LossKind::logistic;
  double l2 = 1e-3;
  bool penalize_bias = true;
  double gradient_tolerance = 1e-10;
  int max_iterations = 200;
  int folds = 5;
  bool store_rows = false;

  static void fields(auto& self, auto&& visit) {
    visit("model", self.model, any_value(), "kind of model");
    visit("loss", self.loss, any_value(),
          "training loss; for squared the ellipsoid is exactly the Rashomon set");
    visit("l2", self.l2, at_least(0), "weight of the penalty (l2/2)·‖θ‖²");
    visit("penalize_bias", self.penalize_bias, any_value(), "the penalty includes the bias");
    visit("gradient_tolerance", self.gradient_tolerance, greater_than(0),
          "largest entry of the gradient at which to stop");
    visit("max_iterations", self.max_iterations, at_least(1), "Newton steps");
    visit("folds", self.folds, at_least(0),
          "folds of the cross-validated accuracy when no rows are held out; 0 or 1 to skip it");
    visit("store_rows", self.store_rows, any_value(),
          "keep the encoded rows in the model file, so that the true set needs no other file");
  }
  bool operator==(const TrainingOptions&) const = default;
};

/// What training did, beyond what the model itself records.
struct TrainingSummary {
  int iterations = 0;
  double gradient_norm = 0;  // largest entry at the optimum
  double train_accuracy = 0;
  std::optional<double> holdout_accuracy = {};
  std::optional<double> cross_validated_accuracy = {};  // mean over the folds
  std::string cross_validation_failure = {};  // why there is none although it was asked for
  std::size_t favourable_rows = 0;            // among those fitted
  std::size_t holdout_rows = 0;
  std::size_t dropped_by_balancing = 0;
  Spectrum hessian_spectrum = {};  // of H as it is stored
  double seconds = 0;
};

struct TrainingResult {
  Model model = {};
  TrainingSummary summary = {};
};

/// Selects the rows, fits encoder and head on them, stores the curvature. Throws Error{input} when
/// the classes can be separated and l2 = 0 (no minimiser exists), Error{internal} when Newton stops
/// short of its tolerance: a head that is not the minimiser is never returned as if it were.
[[nodiscard]] TrainingResult train(const Dataset& data, const Selection& selection,
                                   const TrainingOptions& options, const Execution& execution = {});

/// Share of rows on the right side of the threshold.
[[nodiscard]] double accuracy(const Model& model, const Dataset& data);

}  // namespace ellice
