#pragma once

#include "ellice/model/model.hpp"

namespace ellice {

/// What rounding, in whatever order a program adds up, may do to the score that the deployed
/// parameters of a model give to an encoded row, and what folding them changed
/// (docs/theory.md, Result 57).
[[nodiscard]] double rounding_bound(const Model& model, VectorArg z);

}  // namespace ellice
