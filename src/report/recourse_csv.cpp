#include "report/recourse_csv.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "certificate/certificate_json.hpp"
#include "core/append_number.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

namespace {

/// Empty for what is not there; a file never holds a number that is not finite.
void append_cell(std::string& row, double value) {
  row += ',';
  if (std::isfinite(value)) append_number(row, value);
}

void append_cell(std::string& row, std::string_view cell) {
  row += ',';
  row += cell;
}

void append_cell(std::string& row, const Value& value, FormulaGuard& guard) {
  const double* number = std::get_if<double>(&value);
  if (number != nullptr) {
    append_cell(row, *number);
  } else {
    append_cell(row, guard.cell(std::get<std::string>(value)));
  }
}

std::string certificate_cell(const Certificate& certificate, const Schema& schema) {
  std::string text;
  JsonText out(text, JsonText::Style::compact);
  write_json(out, certificate, schema);
  return csv_cell(text);
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
  std::string row;
  row.reserve(20 * (schema.features.size() + 12));
  row += std::to_string(answer.query_index);
  append_cell(row, std::to_string(answer.plan));
  if (columns.has_id) append_cell(row, guard.cell(answer.id.value_or("")));
  append_cell(row, enum_name(answer.status));
  if (answer.counterfactual) {
    require(answer.counterfactual->size() == schema.features.size(),
            "query {}: a counterfactual of {} values, expected {} as in the schema",
            answer.query_index, answer.counterfactual->size(), schema.features.size());
    for (const Value& value : *answer.counterfactual) append_cell(row, value, guard);
    for (const double number : {answer.distance.l2, answer.distance.l1, answer.distance.weighted})
      append_cell(row, number);
    append_cell(row, std::to_string(answer.distance.changed));
    append_cell(row, answer.logit);
    append_cell(row, answer.robust_logit);
  } else {
    row.append(schema.features.size() + 6, ',');
  }
  append_cell(row, answer.gap.value_or(std::nan("")));
  append_cell(row, guard.cell(answer.message));
  append_cell(row, guard.cell(answer.reason));
  if (columns.has_certificates) {
    append_cell(row, answer.certificate ? certificate_cell(*answer.certificate, schema) : "");
  }
  row += '\n';
  return row;
}

}  // namespace ellice
