#pragma once

#include "ellice/data/encoder.hpp"
#include "solver/cone_intersection.hpp"

namespace ellice {

/// A rule between features as one between columns of the model.
[[nodiscard]] LinearRule in_model_space(const Rule& rule, const Encoder& encoder);

/// Throws Error{argument} where no row within the schema's own ranges keeps all of its linear
/// rules, naming some that contradict each other and none that could be spared.
void require_consistent_rules(const Encoder& encoder);

}  // namespace ellice
