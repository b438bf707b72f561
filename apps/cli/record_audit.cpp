#include "record_audit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "report/formula_guard.hpp"

namespace ellice::cli {

namespace {

/// A record without the run around it: its certificate, and that it speaks of the record's row.
AnswerAudit audit_record(const Json& record, const Model& model, const Verifier& verifier,
                         const std::string& source) {
  JsonObject object(record, source);
  const auto status = object.choice<Status>("status");
  AnswerAudit answer;
  if (is_certified(status)) {
    answer = audit_certificate(object.at("certificate"), model, verifier, source);
    const bool is_same = record.value("counterfactual", Json()) == record["certificate"]["point"];
    if (!is_same) answer.failures.emplace_back("the certificate is for another row");
    if (answer.holds()) answer.fields.emplace("counterfactual", Standing::proved);
  }
  answer.status = status;
  const std::int64_t index = object.integer("query_index");
  if (index < 0) object.wrong("query_index", "a row number, from 0");
  answer.query_index = static_cast<std::size_t>(index);
  if (object.has("plan")) {
    const std::int64_t plan = object.integer("plan");
    if (!std::in_range<int>(plan) || plan < 0) object.wrong("plan", "a number, from 0");
    answer.plan = static_cast<int>(plan);
  }
  answer.unverified.emplace_back(
      "all but the certificate, since only a file of --format json says what was asked");
  return answer;
}

}  // namespace

AnswerAudit audit_certificate(const Json& document, const Model& model, const Verifier& verifier,
                              const std::string& source) {
  const Certificate certificate = certificate_from_json(document, model, source);
  const Verification verification = verifier.verify(certificate);
  AnswerAudit answer{.status = Status::certified,
                     .epsilon = certificate.epsilon,
                     .threshold = certificate.threshold,
                     .logit = verification.logit,
                     .robust_logit = verification.robust_logit,
                     .breaking_model = verification.breaking_model,
                     .failures = verification.failures};
  if (answer.holds()) answer.fields = {{"certificate", Standing::proved}};
  return answer;
}

std::vector<Json> records_of_table(const std::string& path, const Model& model) {
  CsvReader table(path);
  const Schema& schema = model.schema();
  const auto column = [&](const std::string& name) {
    const auto found = std::find(table.header().begin(), table.header().end(), name);
    require_input(found != table.header().end(),
                  "{}: there is no column {}; `explain --format csv --certificates` writes it",
                  table.name(), name);
    return static_cast<std::size_t>(found - table.header().begin());
  };
  const auto own = [&](std::string name) {
    while (schema.find(name)) name += '_';
    return column(name);
  };
  const std::size_t index = own("query_index");
  const std::size_t plan = own("plan");
  const std::size_t status = own("status");
  const std::size_t certificate = own("certificate");
  std::vector<std::size_t> features;
  for (const Feature& feature : schema.features) features.push_back(column(feature.name));
  std::vector<Json> records;
  std::span<const std::string_view> cells;
  while (table.next(cells)) {
    const std::string place = fmt::format("{}: line {}", table.name(), table.line());
    const auto whole = [&](std::size_t cell) {
      double number = 0;
      require_input(parse_number(cells[cell], number) && number >= 0 && number < 1e15 &&
                        number == std::floor(number),
                    "{}: {} is \"{}\", expected a whole number", place, table.header()[cell],
                    cells[cell]);
      return static_cast<std::int64_t>(number);
    };
    Json record = {{"query_index", whole(index)},
                   {"plan", whole(plan)},
                   {"status", std::string(cells[status])}};
    if (!cells[certificate].empty()) {
      record["certificate"] = parse_json(std::string(cells[certificate]), place);
      for (std::size_t j = 0; j < features.size(); ++j) {
        const std::string_view cell = cells[features[j]];
        double number = 0;
        record["counterfactual"][schema.features[j].name] =
            schema.features[j].is_number() && parse_number(cell, number)
                ? Json(number)
                : Json(std::string(without_guard(cell)));
      }
    }
    records.push_back(std::move(record));
  }
  return records;
}

FileAudit audit_records(const std::vector<Json>& records, const Model& model,
                        const std::vector<const Model*>& ensemble, const StoredRows* rows,
                        const std::string& source) {
  require_input(!records.empty(), "{}: there are no answers in it", source);
  const Verifier verifier(model, ensemble, rows);
  FileAudit all;
  std::set<std::pair<std::size_t, int>> seen;
  for (std::size_t i = 0; i < records.size(); ++i) {
    AnswerAudit one =
        audit_record(records[i], model, verifier, fmt::format("{}: record {}", source, i));
    if (!seen.emplace(one.query_index, one.plan).second)
      one.failures.emplace_back("there is a record of this query and plan already");
    all.answers.push_back(std::move(one));
  }
  return all;
}

}  // namespace ellice::cli
