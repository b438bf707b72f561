#include "record_audit.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/csv.hpp"
#include "report/formula_guard.hpp"
#include "report/verification_file.hpp"
#include "request/recourse_file.hpp"

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

/// A table of answers with their certificates, row by row.
class CertificateTable {
 public:
  CertificateTable(const std::string& path, const Model& model)
      : table_(path), schema_(&model.schema()) {
    index_ = own("query_index");
    plan_ = own("plan");
    status_ = own("status");
    certificate_ = own("certificate");
    for (const Feature& feature : schema_->features) features_.push_back(column(feature.name));
  }

  [[nodiscard]] std::optional<Json> next() {
    std::span<const std::string_view> cells;
    if (!table_.next(cells)) return std::nullopt;
    const std::string place = table_.place();
    Json record = {{"query_index", whole(cells, index_, place)},
                   {"plan", whole(cells, plan_, place)},
                   {"status", std::string(cells[status_])}};
    if (cells[certificate_].empty()) return record;
    record["certificate"] = parse_json(std::string(cells[certificate_]), place);
    for (std::size_t j = 0; j < features_.size(); ++j) {
      const std::string_view cell = cells[features_[j]];
      const Feature& feature = schema_->features[j];
      double number = 0;
      record["counterfactual"][feature.name] = feature.is_number() && parse_number(cell, number)
                                                   ? Json(number)
                                                   : Json(std::string(without_guard(cell)));
    }
    return record;
  }

 private:
  [[nodiscard]] std::size_t column(const std::string& name) const {
    const auto found = std::find(table_.header().begin(), table_.header().end(), name);
    require_input(found != table_.header().end(),
                  "{}: there is no column {}; `explain --format csv --certificates` writes it",
                  table_.name(), name);
    return static_cast<std::size_t>(found - table_.header().begin());
  }
  [[nodiscard]] std::size_t own(std::string name) const {
    while (schema_->find(name)) name += '_';
    return column(name);
  }
  [[nodiscard]] std::int64_t whole(std::span<const std::string_view> cells, std::size_t cell,
                                   const std::string& place) const {
    double number = 0;
    require_input(parse_number(cells[cell], number) && number >= 0 && number < 1e15 &&
                      number == std::floor(number),
                  "{}: {} is \"{}\", expected a whole number", place, table_.header()[cell],
                  cells[cell]);
    return static_cast<std::int64_t>(number);
  }

  CsvReader table_;
  const Schema* schema_;
  std::size_t index_ = 0;
  std::size_t plan_ = 0;
  std::size_t status_ = 0;
  std::size_t certificate_ = 0;
  std::vector<std::size_t> features_;
};

bool is_blank_line(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

NextRecord records_of_table(const std::string& path, const Model& model) {
  return [table = std::make_shared<CertificateTable>(path, model)] { return table->next(); };
}

RecordFile::RecordFile(const std::string& path)
    : path_(path), stream_(path == "-" ? &std::cin : &file_) {
  if (path != "-") file_.open(path, std::ios::binary);
  std::string line;
  while (is_blank_line(line) && std::getline(*stream_, line)) {
    ++line_;
    head_ += line;
    if (!stream_->eof()) head_ += '\n';
  }
  // Says why, where a file cannot be read.
  if (head_.empty() && path != "-") head_ = read_file(path);
  has_lines_ = is_json_lines(line);
}

NextRecord RecordFile::records() {
  return [this]() -> std::optional<Json> {
    std::string line = std::exchange(head_, {});
    while (is_blank_line(line)) {
      if (!std::getline(*stream_, line)) {
        require_input(!stream_->bad(), "cannot read {} to its end", input_name(path_));
        return std::nullopt;
      }
      ++line_;
    }
    return parse_json(line, fmt::format("{}: line {}", input_name(path_), line_));
  };
}

std::string RecordFile::text() {
  head_.append(std::istreambuf_iterator<char>(*stream_), {});
  require_input(!stream_->bad(), "cannot read {} to its end", input_name(path_));
  return std::move(head_);
}

FileAudit audit_records(const NextRecord& next, const Model& model,
                        const std::function<const Verifier&(const Json&)>& verifier,
                        const std::string& source) {
  FileAudit all;
  std::set<std::pair<std::size_t, int>> seen;
  while (const std::optional<Json> record = next()) {
    check_stop();
    AnswerAudit one = audit_record(*record, model, verifier(*record),
                                   fmt::format("{}: record {}", source, all.size()));
    if (!seen.emplace(one.query_index, one.plan).second)
      one.failures.emplace_back("there is a record of this query and plan already");
    all.answers.push_back(std::move(one));
  }
  require_input(all.size() > 0, "{}: there are no answers in it", source);
  return all;
}

}  // namespace ellice::cli
