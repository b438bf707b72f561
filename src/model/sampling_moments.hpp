#pragma once

#include "ellice/model/model.hpp"
#include "model/network_objective.hpp"

namespace ellice {

/// What the rows that a linear model with one logit was fitted on say about its retraining
/// (theory.md, Result 33); reads the model's parameters, penalty and Hessian. The same for any
/// number of threads: it uses one.
[[nodiscard]] Sampling sampling_of(const Model& model, LabelledRows rows);

}  // namespace ellice
