#pragma once

#include <vector>

#include "ellice/model/training.hpp"
#include "study/evaluator.hpp"
#include "support/numeric_dataset.hpp"
#include "support/stress_cases.hpp"

namespace ellice::study_cases {

/// A small trained model with all the rows that evaluators want. Not copied: the source points into
/// it.
struct TrainedCase {
  explicit TrainedCase(std::vector<int> hidden) {
    const Dataset data = problem_zoo::numeric_dataset(problem_zoo::random_rows(320, 3, 17));
    TrainingOptions options{.folds = 0};
    if (!hidden.empty()) {
      options.model = NetworkKind::mlp;
      options.network = {.hidden = std::move(hidden), .learning_rate = 0.02, .epochs = 120};
    }
    model = train(data, {.holdout = 0.4}, options).model;
    const SelectedRows selected = apply_selection(data, model.training.selection);
    fitted = rows_of(data, selected.fit);
    validation = rows_of(data, selected.validation);
    other = rows_of(data, selected.holdout);
    source = {.model = &model,
              .fitted = &fitted,
              .validation = validation.labels.empty() ? nullptr : &validation,
              .other = &other};
    objective = objective_of(model.network);
  }
  TrainedCase(const TrainedCase&) = delete;
  TrainedCase& operator=(const TrainedCase&) = delete;

  [[nodiscard]] StoredRows rows_of(const Dataset& data, const std::vector<Index>& rows) const {
    const Dataset selected = select_rows(data, rows);
    return {.encoded = model.encoder.encode(selected.raw), .labels = selected.labels};
  }
  /// L(Θ) on the rows that the model was fitted on, from its definition.
  [[nodiscard]] double objective_of(const Network& network) const {
    return stress_cases::plain_objective(
        network, {.features = fitted.encoded, .labels = fitted.labels}, model.training.l2);
  }
  /// Points of both classes, some of them close to the boundary.
  [[nodiscard]] RowMatrix points() const { return 1.5 * other.encoded.topRows(40); }

  Model model;
  StoredRows fitted, validation, other;
  EvaluationSource source;
  double objective = 0;
};

inline const EvaluatorOptions few_models = {.retrain_models = 6,
                                            .dropout_models = 20,
                                            .awp_models = 12,
                                            .bootstrap_models = 8,
                                            .shift_models = 5};

inline std::vector<EvaluatorKind> all_kinds() {
  std::vector<EvaluatorKind> kinds;
  for (std::size_t i = 0; i < EnumNames<EvaluatorKind>::names.size(); ++i) {
    kinds.push_back(static_cast<EvaluatorKind>(i));
  }
  return kinds;
}

}  // namespace ellice::study_cases
