#pragma once

// Calibration for a request, its JSON form, and what a model file keeps of it.

#include "ellice/core/json_fwd.hpp"
#include "explain/owned_problem.hpp"
#include "radius/calibration.hpp"

namespace ellice {

/// The same as calibrate() below the request: people are those of the validation rows where there
/// are some. For models with one logit and every set but the true one. Throws Error{argument}
/// naming the field.
[[nodiscard]] Calibration calibrate(const OwnedProblem& owned, const CalibrationOptions& options,
                                    const Execution& execution = {});

/// Whether people are explained who are not among the rows that the model was fitted on.
[[nodiscard]] bool has_other_people(const OwnedProblem& owned);

/// {"format": "ellice.calibration", …}.
[[nodiscard]] Json to_json(const Calibration& calibration, const CalibrationOptions& options,
                           const OwnedProblem& owned);

/// The model with what calibration recommends, which there must be.
[[nodiscard]] Model with_recommendation(const Calibration& calibration,
                                        const CalibrationOptions& options,
                                        const OwnedProblem& owned);

}  // namespace ellice
