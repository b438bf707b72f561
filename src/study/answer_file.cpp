#include "study/answer_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/as_input.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "model/deciding.hpp"
#include "request/farthest.hpp"
#include "request/query_reader.hpp"
#include "request/recourse_file.hpp"
#include "study/answer_columns.hpp"

namespace ellice {

namespace {

// Queries of a recourse file are written in full precision; rows of a table may be rounded.
constexpr double same_query = 1e-9;
constexpr double same_distance = 1e-4;

void require_near(const Vector& z, const std::string& place) {
  require_input(!is_too_far(z), "{}: the row is too far from the training rows to compute with",
                place);
}

RawRow row_of(JsonObject& record, std::string_view key, const Model& model,
              const std::string& place) {
  RawRow row = row_from_json(model.schema(), record.at(key), record.source(),
                             fmt::format("{}.{}", place, key));
  require_near(model.encoder.encode(row), fmt::format("{}: {}.{}", record.source(), place, key));
  return row;
}

Answer answer_from_json(JsonObject& record, const Model& model, const std::string& place) {
  const std::int64_t index = record.integer("query_index");
  if (index < 0) record.wrong("query_index", "a row number, from 0");
  Answer answer{.query_index = static_cast<std::size_t>(index),
                .status = record.choice<Status>("status")};
  if (record.has("plan")) {
    const std::int64_t plan = record.integer("plan");
    if (!std::in_range<int>(plan) || plan < 0) record.wrong("plan", "a number, from 0");
    answer.plan = static_cast<int>(plan);
  }
  if (answer.status != Status::invalid) answer.query = row_of(record, "query", model, place);
  if (record.has("counterfactual"))
    answer.counterfactual = row_of(record, "counterfactual", model, place);
  if (record.has("seconds")) answer.seconds = record.number("seconds");
  return answer;
}

std::optional<Promise> promise_of(JsonObject& record) {
  if (!record.has("certificate")) return std::nullopt;
  JsonObject certificate = record.object("certificate");
  Promise promise{.model_sha256 = certificate.string("model_sha256"),
                  .set = certificate.choice<SetKind>("set"),
                  .epsilon = certificate.number("epsilon"),
                  .threshold = certificate.number("threshold")};
  if (certificate.has("damping")) promise.damping = certificate.number("damping");
  if (certificate.has("acceptable")) {
    promise.acceptable = certificate.strings("acceptable");
  } else if (certificate.has("target")) {
    promise.acceptable = {certificate.string("target")};
  }
  return promise;
}

/// Refuses what is there twice.
class Seen {
 public:
  [[nodiscard]] bool insert(const Answer& answer) {
    return seen_.emplace(answer.query_index, answer.plan).second;
  }

 private:
  std::set<std::pair<std::size_t, int>> seen_;
};

void read_records(std::vector<JsonObject> records, const Model& model, const std::string& name,
                  AnswerFile& file) {
  Seen seen;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", name, i);
    Answer answer = answer_from_json(records[i], model, place);
    require_input(seen.insert(answer), "{}: {}: query_index {}, plan {} is there already",
                  records[i].source(), place, answer.query_index, answer.plan);
    file.answers.push_back(std::move(answer));
    const std::optional<Promise> promise = promise_of(records[i]);
    if (promise) file.epsilon = std::max(file.epsilon.value_or(0), promise->epsilon);
    file.promises.push_back(promise);
  }
}

AnswerFile answers_from_lines(const std::string& text, const Model& model,
                              const std::string& source) {
  const std::vector<Json> lines = parse_json_lines(text, source);
  std::vector<JsonObject> records;
  for (const Json& line : lines) records.emplace_back(line, source);
  AnswerFile file;
  read_records(std::move(records), model, "record", file);
  return file;
}

/// The first few of a list of rows.
constexpr std::size_t most_shown = 5;
std::string some_of(const std::vector<std::size_t>& rows) {
  const std::size_t shown = std::min(rows.size(), most_shown);
  return fmt::format(
      "{}{}", fmt::join(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      rows.size() > shown ? ", …" : "");
}

/// Whole numbers as any numbers.
Schema without_whole_numbers(Schema schema) {
  for (Feature& feature : schema.features) {
    if (feature.kind == FeatureKind::integer) feature.kind = FeatureKind::numeric;
    feature.bins.are_whole = false;
  }
  return schema;
}

/// Refuses an answer that is as far from its query as the table says from another.
void require_stated_distance(const AnswerColumns& columns, std::string_view name, double found,
                             std::size_t index, const std::string& place) {
  const std::optional<double> stated = columns.number(name);
  if (!stated || std::abs(*stated - found) <= same_distance * (1 + found)) return;
  fail(ErrorCode::input,
       "{}: {} is {}, but row {} of the query file is {} away: these are other queries, or in "
       "another order, than those that were explained, or answers for another model; without the "
       "columns of distances they are judged all the same",
       place, name, *stated, index, found);
}

std::size_t parse_index(std::string_view cell, std::size_t rows, const RowSource& table) {
  double value = 0;
  const bool is_whole = parse_number(cell, value) && value >= 0 && value == std::floor(value);
  require_input(is_whole && value < static_cast<double>(rows),
                "{}: query_index is \"{}\", expected a row of the query file, which has "
                "{}, counted from 0",
                table.place(), cell, rows);
  return static_cast<std::size_t>(value);
}

AnswerFile answers_from_document(const std::string& text, const Model& model,
                                 const std::string& source) {
  const Json document = parse_json(text, source);
  JsonObject top(document, source);
  top.envelope(recourse_format, 1);
  AnswerFile file{.model_sha256 = top.string("model_sha256"),
                  .threshold = top.object("options").number("threshold"),
                  .method = top.string("method")};
  file.declined = document["options"].value("declined", Json()) == true;
  if (document.value("epsilon", Json()).is_object())
    file.epsilon = top.object("epsilon").number("value");
  if (top.has("explained")) {
    const std::int64_t explained = top.integer("explained");
    if (explained < 0) top.wrong("explained", "a number of queries");
    file.explained = static_cast<std::size_t>(explained);
  }
  read_records(top.objects("results"), model, "results", file);
  return file;
}

}  // namespace

AnswerFile answers_from_json(const std::string& text, const Model& model,
                             const std::string& source) {
  return as_input(source, [&] {
    return is_json_lines(text) ? answers_from_lines(text, model, source)
                               : answers_from_document(text, model, source);
  });
}

AnswerFile answers_from_table(RowSource& table, const std::vector<Query>& queries,
                              const Model& model) {
  AnswerColumns columns(table, model.schema());
  const Schema schema = without_whole_numbers(model.schema());
  const RowParser parser(schema, columns, RowParser::Columns::exact);
  const std::size_t features = model.schema().features.size();
  AnswerFile file;
  Seen seen;
  std::span<const std::string_view> cells;
  while (columns.next(cells)) {
    check_stop();
    const std::string place = table.place();
    Answer answer{.query_index = parse_index(columns.index(), queries.size(), table),
                  .plan = columns.plan(),
                  .status = columns.status().value_or(Status::uncertified),
                  .seconds = columns.seconds()};
    require_input(seen.insert(answer), "{}: query_index {} is there already{}", place,
                  answer.query_index,
                  answer.plan > 0 ? fmt::format(" with plan {}", answer.plan) : "");
    answer.query = model.encoder.values({queries[answer.query_index].raw.data(), features});
    if (columns.is_empty()) {
      if (answer.status == Status::uncertified) answer.status = Status::not_found;
    } else {
      Vector raw(static_cast<Index>(features));
      parser.parse(cells, {raw.data(), features});
      for (std::size_t j = 0; j < features; ++j) {
        require_input(!std::isnan(raw(static_cast<Index>(j))),
                      "{}: {} is empty; a row of which nothing was found leaves all features empty",
                      place, model.schema().features[j].name);
      }
      answer.counterfactual = model.encoder.values({raw.data(), features});
      Vector move(model.encoder.columns());
      model.encoder.encode({raw.data(), features}, move);
      require_near(move, place);
      move -= model.encoder.encode(answer.query);
      require_stated_distance(columns, "distance_l2", move.norm(), answer.query_index, place);
      require_stated_distance(columns, "distance_l1", move.lpNorm<1>(), answer.query_index, place);
    }
    file.answers.push_back(std::move(answer));
  }
  return file;
}

std::vector<Query> read_queries(RowSource& table, const Model& model) {
  QueryReader reader(model, table, identifier_column(table, model.schema()), OnError::stop);
  return std::move(reader.next(std::numeric_limits<std::size_t>::max()).queries);
}

void complete_answers(AnswerFile& file, const std::vector<Query>& queries, const Model& model,
                      double threshold, ExplainedRows rows, MissingAnswers missing,
                      const std::string& source) {
  std::vector<bool> answered(queries.size(), false);
  for (const Answer& answer : file.answers) {
    require_input(answer.query_index < queries.size(),
                  "{}: there is an answer to query {}; the query file has {} rows, counted from 0",
                  source, answer.query_index, queries.size());
    answered[answer.query_index] = true;
    if (answer.query.empty()) continue;
    const Vector given = model.encoder.encode(model.encoder.values(
        {queries[answer.query_index].raw.data(), model.schema().features.size()}));
    const double off = (model.encoder.encode(answer.query) - given).lpNorm<Eigen::Infinity>();
    require_input(off <= same_query * (1 + given.lpNorm<Eigen::Infinity>()),
                  "{}: the query of the answer to row {} is not that row of the query file", source,
                  answer.query_index);
  }
  std::vector<std::size_t> lacking;
  for (const Query& query : queries) {
    if (answered[query.index]) continue;
    Answer nothing{
        .query_index = query.index,
        .query = model.encoder.values({query.raw.data(), model.schema().features.size()})};
    const bool is_accepted =
        deciding_logit(model, model.encoder.encode(nothing.query)) >= threshold;
    if (rows == ExplainedRows::all || !is_accepted) lacking.push_back(query.index);
    file.answers.push_back(std::move(nothing));
  }
  if (lacking.empty() || missing == MissingAnswers::not_found) return;
  fail(ErrorCode::input,
       "{}: {} of {} queries have no answer: query_index {}; if nothing was found for them, say "
       "so with `missing: not-found`, and they count as not robust",
       source, lacking.size(), queries.size(), some_of(lacking));
}

void require_all_answers(const AnswerFile& file, const std::string& source) {
  std::set<std::size_t> answered;
  for (const Answer& answer : file.answers) answered.insert(answer.query_index);
  // Who was accepted has a number and no answer where only the declined were asked about.
  const std::size_t last = answered.empty() || file.declined ? 0 : *answered.rbegin() + 1;
  const std::size_t explained = std::max({last, file.explained.value_or(0), answered.size()});
  const std::size_t missing = explained - answered.size();  // each is below `explained`
  std::vector<std::size_t> lacking;  // the first few: an index may be anything
  for (std::size_t i = 0; i < explained && lacking.size() < std::min(missing, most_shown + 1); ++i)
    if (!answered.contains(i)) lacking.push_back(i);
  require_input(missing == 0,
                "{}: {} of {} queries have no answer any more: query_index {}; with "
                "`queries: FILE.csv` and `missing: not-found` they count as not robust",
                source, missing, explained, some_of(lacking));
}

}  // namespace ellice
