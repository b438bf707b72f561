#pragma once

// Evaluators that seek one model for each answer.

#include <vector>

#include "study/evaluator.hpp"

namespace ellice {

/// The base and its rows as the factories of models take them.
[[nodiscard]] StressSource stress_source(const EvaluationSource& source);

/// Weights moved against the answer itself, inside the bound, until it is rejected or its logit
/// falls no further.
[[nodiscard]] EvaluatorPointer targeted_evaluator(const StressSource& source, double epsilon,
                                                  double bound, Variant variant);

/// `base` is L(Θ̂).
[[nodiscard]] EvaluatorPointer ellipsoid_evaluator(const EvaluationSource& source, double base,
                                                   double epsilon, Variant variant);

/// One per ε. The set is {heads θ : L ≤ L(Θ̂) + ε} also where the base's head is not the minimiser:
/// around the minimiser of the head, with an ε that is larger by what the base lies above it
/// (theory.md, Result 46).
void append_true_sets(const EvaluationSource& source, double base,
                      const std::vector<double>& epsilons, std::vector<EvaluatorPointer>& result);

}  // namespace ellice
