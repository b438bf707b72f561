#pragma once

#include "ellice/audit/audit.hpp"
#include "request/feasible_set.hpp"
#include "request/recourse_file.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice {

/// Whether a stated largest ε can be, where rules or several models take part: nothing robust may
/// be found a little above it, and nothing may prove that there is nothing a little below it. Asks
/// the solver that also finds answers; what it finds is a point or a proof either way.
void check_largest_epsilon(double stated, const Model& model, const SetChoice& set,
                           const FeasibleSet& feasible, AnswerAudit& result);

}  // namespace ellice
