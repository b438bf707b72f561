#include "report/recourse_csv.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/number_text.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

/// Empty for what is not there; a file never holds a number that is not finite.
std::string number_cell(double value) {
  return std::isfinite(value) ? number_text(value) : "";
}

std::string value_cell(const Value& value, FormulaGuard& guard) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr ? number_cell(*number) : guard.cell(std::get<std::string>(value));
}

std::string line(const std::vector<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells) text += (text.empty() ? "" : ",") + cell;
  return text + '\n';
}

}  // namespace

std::string recourse_csv_header(const Schema& schema, CsvColumns columns, FormulaGuard& guard) {
  const auto own = [&](std::string name) {
    while (schema.find(name)) name += '_';
    return guard.cell(name);
  };
  std::vector<std::string> cells = {own("query_index"), own("plan")};
  if (columns.has_id) cells.push_back(own("id"));
  cells.push_back(own("status"));
  for (const Feature& feature : schema.features) cells.push_back(guard.cell(feature.name));
  for (const char* name : {"distance_l2", "distance_l1", "distance_weighted", "changed", "logit",
                           "robust_logit", "gap", "message", "reason"}) {
    cells.push_back(own(name));
  }
  if (columns.has_certificates) cells.push_back(own("certificate"));
  return line(cells);
}

std::string recourse_csv_row(const Answer& answer, const Schema& schema, CsvColumns columns,
                             FormulaGuard& guard) {
  std::vector<std::string> cells = {std::to_string(answer.query_index),
                                    std::to_string(answer.plan)};
  if (columns.has_id) cells.push_back(guard.cell(answer.id.value_or("")));
  cells.emplace_back(enum_name(answer.status));
  if (answer.counterfactual) {
    require(answer.counterfactual->size() == schema.features.size(),
            "query {}: a counterfactual of {} values, expected {} as in the schema",
            answer.query_index, answer.counterfactual->size(), schema.features.size());
    for (const Value& value : *answer.counterfactual) cells.push_back(value_cell(value, guard));
    for (const double number : {answer.distance.l2, answer.distance.l1, answer.distance.weighted}) {
      cells.push_back(number_cell(number));
    }
    cells.push_back(std::to_string(answer.distance.changed));
    cells.push_back(number_cell(answer.logit));
    cells.push_back(number_cell(answer.robust_logit));
  } else {
    cells.resize(cells.size() + schema.features.size() + 6);
  }
  cells.push_back(answer.gap ? number_cell(*answer.gap) : "");
  cells.push_back(guard.cell(answer.message));
  cells.push_back(guard.cell(answer.reason));
  if (columns.has_certificates) {
    cells.push_back(
        answer.certificate ? csv_cell(compact_text(to_json(*answer.certificate, schema))) : "");
  }
  return line(cells);
}

}  // namespace ellice
