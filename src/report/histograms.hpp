#pragma once

// How the training rows are distributed, for people to see where they stand.

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/training_rows.hpp"

namespace ellice {

/// By feature: of numbers `edges` of equal ranges and `counts` in them, otherwise `levels` and
/// `counts`.
[[nodiscard]] Json training_histograms(const Model& model, const TrainingRows& rows);

}  // namespace ellice
