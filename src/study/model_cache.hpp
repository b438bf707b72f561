#pragma once

#include <string>
#include <vector>

#include "study/evaluator.hpp"

namespace ellice {

/// make_evaluators, with the models that took time kept in a file: read from there if the file is
/// of the same request, else made and written. A file that is cut short or of another request is
/// replaced.
[[nodiscard]] std::vector<EvaluatorPointer> cached_evaluators(
    const std::string& path, const EvaluationSource& source,
    const std::vector<EvaluatorKind>& kinds, const std::vector<double>& epsilons,
    const EvaluatorOptions& options, const Random& seeds, const Execution& execution);

}  // namespace ellice
