#pragma once

#include <optional>

#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

/// The weights of the data's rows in a model's loss: those of its column, times Σw/(K·Σw of the
/// class) where classes are balanced; none where all weigh the same. Throws Error{input} where the
/// data has no weights that the model needs.
[[nodiscard]] Vector row_weights(const Dataset& data, const std::optional<RowWeights>& weights);

}  // namespace ellice
