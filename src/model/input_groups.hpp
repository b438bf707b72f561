#pragma once

// Which columns a neural additive model keeps apart.

#include <vector>

#include "ellice/data/encoder.hpp"
#include "ellice/model/training.hpp"

namespace ellice {

/// Of a nam: the columns of each feature, and which way its score goes; of others none.
[[nodiscard]] std::vector<InputGroup> input_groups(const Encoder& encoder,
                                                   const TrainingOptions& options);

/// Throws Error{argument} for features that cannot be monotone, and models that cannot keep it.
void check_monotone(const Schema& schema, const TrainingOptions& options);

}  // namespace ellice
