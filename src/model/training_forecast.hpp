#pragma once

// What training will take, foreseen from sizes alone, before anything is computed.

#include "ellice/data/schema.hpp"
#include "ellice/model/training.hpp"

namespace ellice {

struct TrainingForecast {
  double bytes = 0;    // at the peak
  double seconds = 0;  // on one core of an ordinary machine; good to a factor of three or so
};

/// A softmax model may have some or none; an mlp or nam without any is refused.
[[nodiscard]] inline bool has_hidden_layers(const TrainingOptions& options) {
  return options.model == NetworkKind::mlp || options.model == NetworkKind::nam ||
         (options.model == NetworkKind::softmax && !options.network.hidden.empty());
}

/// The columns that rows of this schema have for a model.
[[nodiscard]] Index encoded_columns(const Schema& schema);

[[nodiscard]] TrainingForecast forecast_training(const Schema& schema, Index rows, Index classes,
                                                 const TrainingOptions& options);

/// Throws where training would take more memory than memory_limit(), or has more parameters than
/// anybody could wait for; names what is too large and what helps.
void require_feasible_training(const Schema& schema, Index rows, Index classes,
                               const TrainingOptions& options);

}  // namespace ellice
