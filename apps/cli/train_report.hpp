#pragma once

// What `train` says of the model that it made.

#include <optional>
#include <string>

#include "ellice/core/json_fwd.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/training.hpp"

namespace ellice::cli {

struct TrainingReport {
  const Dataset* data = nullptr;
  const TrainingResult* result = nullptr;
  std::optional<double> epsilon_limit = {};  // of linear models
};

[[nodiscard]] Json training_json(const TrainingReport& report);
/// `output`: where the model was written.
[[nodiscard]] std::string training_text(const TrainingReport& report, const std::string& output);

}  // namespace ellice::cli
