#pragma once

#include <vector>

#include "core/parallel.hpp"
#include "request/problem.hpp"

namespace ellice {

/// Attacks every certified answer within the ε of its certificate (rashomon/attack.hpp) and fills
/// in what was found. `rows` are the rows that the model was fitted on.
void attack_answers(std::vector<Answer>& answers, const Problem& problem, const StoredRows& rows,
                    const Execution& execution = {});

}  // namespace ellice
