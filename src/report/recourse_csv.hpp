#pragma once

// Answers as CSV, one row per query and plan: query_index, plan, id (where there are any), status,
// the counterfactual's value of every feature, distance_l2, distance_l1, distance_weighted,
// changed, logit, robust_logit, gap, message, reason, certificate (where asked for). Numbers in
// full precision; cells that an answer does not fill are empty. Where a feature has the name of one
// of these columns, the feature keeps it and the column gets an underscore at its end.

#include <string>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"
#include "report/formula_guard.hpp"

namespace ellice {

/// Which columns there are beside those that always are.
struct CsvColumns {
  bool has_id = false;
  bool has_certificates = false;  // the last one, as JSON
};

/// The header, with its line end. Texts go through the guard.
[[nodiscard]] std::string recourse_csv_header(const Schema& schema, CsvColumns columns,
                                              FormulaGuard& guard);

/// One answer, with its line end.
[[nodiscard]] std::string recourse_csv_row(const Answer& answer, const Schema& schema,
                                           CsvColumns columns, FormulaGuard& guard);

}  // namespace ellice
