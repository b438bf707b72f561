#pragma once

#include "ellice/study/evaluator.hpp"

namespace ellice {

/// The evaluator of a set that was made once, asked once for each point: where answers are training
/// rows, the same few rows come back for many people and many values of a method's parameter. Gives
/// what `evaluator` gives.
[[nodiscard]] EvaluatorPointer remembered(EvaluatorPointer evaluator);

}  // namespace ellice
