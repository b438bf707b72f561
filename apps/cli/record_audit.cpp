#include "record_audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "core/pipeline.hpp"
#include "core/stop.hpp"
#include "data/held_rows.hpp"
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

// Records that one thread takes at a time: enough that taking turns costs nothing beside them.
constexpr std::size_t held_rows = 32;
constexpr std::size_t held_bytes = std::size_t{1} << 18U;

/// The columns of a table of answers with their certificates.
class CertificateColumns {
 public:
  CertificateColumns(const CsvReader& table, const Schema& schema)
      : table_(&table), schema_(&schema) {
    index_ = own("query_index");
    plan_ = own("plan");
    status_ = own("status");
    certificate_ = own("certificate");
    for (const Feature& feature : schema_->features) features_.push_back(column(feature.name));
  }

  [[nodiscard]] Json record(std::span<const std::string_view> cells,
                            const std::string& place) const {
    Json record = {{"query_index", whole(cells, index_, place)},
                   {"plan", whole(cells, plan_, place)},
                   {"status", std::string(cells[status_])}};
    if (cells[certificate_].empty()) return record;
    record["certificate"] = parse_json(cells[certificate_], place);
    Json row = Json::object();
    auto& entries = row.get_ref<Json::object_t&>();
    entries.reserve(features_.size());
    for (std::size_t j = 0; j < features_.size(); ++j) {
      const std::string_view cell = cells[features_[j]];
      const Feature& feature = schema_->features[j];
      double number = 0;
      entries.emplace_back(feature.name, feature.is_number() && parse_number(cell, number)
                                             ? Json(number)
                                             : Json(std::string(without_guard(cell))));
    }
    record["counterfactual"] = std::move(row);
    return record;
  }

 private:
  [[nodiscard]] std::size_t column(const std::string& name) const {
    const auto found = std::find(table_->header().begin(), table_->header().end(), name);
    require_input(found != table_->header().end(),
                  "{}: there is no column {}; `explain --format csv --certificates` writes it",
                  table_->name(), name);
    return static_cast<std::size_t>(found - table_->header().begin());
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
                  "{}: {} is \"{}\", expected a whole number", place, table_->header()[cell],
                  cells[cell]);
    return static_cast<std::int64_t>(number);
  }

  const CsvReader* table_;
  const Schema* schema_;
  std::size_t index_ = 0;
  std::size_t plan_ = 0;
  std::size_t status_ = 0;
  std::size_t certificate_ = 0;
  std::vector<std::size_t> features_;
};

/// A table of them.
struct CertificateTable {
  CertificateTable(const std::string& path, const Model& model)
      : rows(path), columns(rows, model.schema()) {}
  CsvReader rows;
  CertificateColumns columns;
  bool is_at_end = false;
};

class HeldTableRows final : public HeldRecords {
 public:
  explicit HeldTableRows(std::shared_ptr<CertificateTable> table)
      : table_(std::move(table)), rows_(table_->rows) {}
  bool take() override {
    if (table_->is_at_end) return false;
    rows_.take(table_->rows, held_rows);
    table_->is_at_end = rows_.are_last();
    return rows_.rows() > 0;
  }
  [[nodiscard]] std::size_t size() const override { return rows_.rows(); }
  std::optional<Json> next() override {
    std::span<const std::string_view> cells;
    if (!rows_.next(cells)) return std::nullopt;
    return table_->columns.record(cells, rows_.place());
  }

 private:
  std::shared_ptr<CertificateTable> table_;
  HeldRows rows_;
};

bool is_blank_line(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

MakeHeld records_of_table(const std::string& path, const Model& model) {
  return [table = std::make_shared<CertificateTable>(path, model)] {
    return std::make_unique<HeldTableRows>(table);
  };
}

/// Lines of a file.
class RecordFile::HeldLines final : public HeldRecords {
 public:
  explicit HeldLines(RecordFile& file) : file_(&file) {}

  bool take() override {
    text_.clear();
    lines_.clear();
    at_ = 0;
    std::string line = std::exchange(file_->head_, {});
    while (text_.size() < held_bytes && lines_.size() < held_rows) {
      if (is_blank_line(line)) {
        if (!std::getline(*file_->stream_, line)) break;
        ++file_->line_;
        continue;
      }
      text_ += line;
      lines_.push_back({.end = text_.size(), .number = file_->line_});
      line.clear();
    }
    const bool is_broken = lines_.empty() && file_->stream_->bad();
    require_input(!is_broken, "cannot read {} to its end", input_name(file_->path_));
    return !lines_.empty();
  }

  [[nodiscard]] std::size_t size() const override { return lines_.size(); }

  std::optional<Json> next() override {
    if (at_ == lines_.size()) return std::nullopt;
    const std::size_t begin = at_ == 0 ? 0 : lines_[at_ - 1].end;
    const Line& line = lines_[at_++];
    return parse_json(std::string_view(text_).substr(begin, line.end - begin),
                      fmt::format("{}: line {}", input_name(file_->path_), line.number));
  }

 private:
  struct Line {
    std::size_t end = 0;  // in text_
    std::size_t number = 0;
  };

  RecordFile* file_;
  std::string text_ = {};
  std::vector<Line> lines_ = {};
  std::size_t at_ = 0;  // the next one
};

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

MakeHeld RecordFile::records() {
  return [this] { return std::make_unique<HeldLines>(*this); };
}

std::string RecordFile::text() {
  std::array<char, 1 << 16> buffer{};
  while (stream_->read(buffer.data(), buffer.size()), stream_->gcount() > 0)
    head_.append(buffer.data(), static_cast<std::size_t>(stream_->gcount()));
  require_input(!stream_->bad(), "cannot read {} to its end", input_name(path_));
  return std::move(head_);
}

FileAudit audit_records(const MakeHeld& make, const Model& model,
                        const std::function<const Verifier&(const Json&)>& verifier,
                        const std::string& source, int threads) {
  struct Place {
    std::unique_ptr<HeldRecords> records = {};
    std::size_t first = 0;  // of the file's
    std::vector<AnswerAudit> answers = {};
  };
  std::vector<Place> places(2 * static_cast<std::size_t>(thread_count(threads)));
  for (Place& place : places) place.records = make();
  FileAudit all;
  std::set<std::pair<std::size_t, int>> seen;
  std::size_t taken = 0;
  run_in_order(
      places.size(), threads,
      {.take =
           [&](std::size_t k) {
             if (!places[k].records->take()) return false;
             places[k].first = taken;
             taken += places[k].records->size();
             return true;
           },
       .work =
           [&](std::size_t k) {
             Place& place = places[k];
             place.answers.clear();
             while (const std::optional<Json> record = place.records->next()) {
               check_stop();
               const std::size_t number = place.first + place.answers.size();
               place.answers.push_back(audit_record(*record, model, verifier(*record),
                                                    fmt::format("{}: record {}", source, number)));
             }
           },
       .give =
           [&](std::size_t k) {
             for (AnswerAudit& one : places[k].answers) {
               if (!seen.emplace(one.query_index, one.plan).second)
                 one.failures.emplace_back("there is a record of this query and plan already");
               all.answers.push_back(std::move(one));
             }
           }});
  require_input(all.size() > 0, "{}: there are no answers in it", source);
  return all;
}

}  // namespace ellice::cli
