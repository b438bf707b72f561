#pragma once

// Evaluators of sets that were made once, for asking often.

#include "study/evaluator.hpp"

namespace ellice {

/// Decides whether every model gives at least `threshold`, and no more: a point that a model has
/// rejected is not shown to all others, and its logit is one below the threshold, not the smallest.
[[nodiscard]] EvaluatorPointer deciding(EvaluatorPointer evaluator, double threshold);

/// Asks once for each point: where answers are training rows, the same few rows come back for many
/// people and many values of a method's parameter. Gives what `evaluator` gives.
[[nodiscard]] EvaluatorPointer remembered(EvaluatorPointer evaluator);

}  // namespace ellice
