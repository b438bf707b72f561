#pragma once

#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::audit {

/// The weight of the feature that each column belongs to.
[[nodiscard]] Vector weights_by_column(const Encoder& encoder);

/// What a move costs (docs/reference/formats.md, `weight`), added up by the audit itself: `from`
/// and `to` are points of model space.
[[nodiscard]] double cost_of_move(const Cost& cost, const Encoder& encoder, VectorArg from,
                                  VectorArg to);

}  // namespace ellice::audit
