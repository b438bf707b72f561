#pragma once

// Answers as CSV, one row per query and plan: query_index, plan, id (where there are any), status,
// the counterfactual's value of every feature, distance_l2, distance_l1, distance_weighted,
// changed, logit, robust_logit, gap, message. Numbers in full precision; cells that an answer does
// not fill are empty. Where a feature has the name of one of these columns, the feature keeps it
// and the column gets an underscore at its end.

#include <string>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"
#include "report/formula_guard.hpp"

namespace ellice {

enum class IdColumn { absent, present };

/// The header, with its line end. Texts go through the guard.
[[nodiscard]] std::string recourse_csv_header(const Schema& schema, IdColumn id,
                                              FormulaGuard& guard);

/// One answer, with its line end.
[[nodiscard]] std::string recourse_csv_row(const Answer& answer, const Schema& schema, IdColumn id,
                                           FormulaGuard& guard);

}  // namespace ellice
