#include "study/answer_file.hpp"

#include <gtest/gtest.h>

#include "core/number_text.hpp"
#include "ellice/core/json.hpp"
#include "report/recourse_csv.hpp"
#include "request/recourse_file.hpp"
#include "support/messages.hpp"
#include "support/mixed_model.hpp"
#include "support/text_rows.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::TextRows;

class AnswerFiles : public testing::Test {
 protected:
  AnswerFiles() {
    const Encoder& encoder = mixed.model.encoder;
    for (Index i = 0; i < 4; ++i) {
      queries.push_back({.index = static_cast<std::size_t>(i), .raw = mixed.raw.row(i)});
      Answer answer{.query_index = static_cast<std::size_t>(i),
                    .query = encoder.values({mixed.raw.row(i).data(), 7})};
      if (i != 2) {
        answer.status = Status::certified;
        answer.counterfactual = encoder.values({mixed.raw.row(i + 10).data(), 7});
        answer.seconds = 0.5;
        const Vector move = encoder.encode(*answer.counterfactual) - encoder.encode(answer.query);
        answer.distance = {.l2 = move.norm(), .l1 = move.lpNorm<1>()};
      }
      answers.push_back(answer);
    }
  }

  std::string recourse_file() const {
    const Request request{
        .problem = {.model = &mixed.model}, .rule = {.text = "0"}, .method = "exact"};
    RecourseWriter writer(request);
    std::string text = writer.begin();
    for (const Answer& answer : answers) text += writer.answer(answer);
    return text + writer.end();
  }

  /// Answer k as cells: query_index, then the features.
  std::vector<std::string> cells(std::size_t k) const {
    std::vector<std::string> row = {std::to_string(k)};
    for (const Value& value : *answers[k].counterfactual) {
      row.push_back(std::holds_alternative<double>(value) ? number_text(std::get<double>(value))
                                                          : std::get<std::string>(value));
    }
    return row;
  }

  AnswerFile read_table(std::vector<std::string> names, std::vector<TextRows::Row> rows) const {
    TextRows table(std::move(names), std::move(rows));
    return answers_from_table(table, queries, mixed.model);
  }

  void expect_same(const AnswerFile& file) const {
    ASSERT_EQ(file.answers.size(), answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(file.answers[i].query_index, answers[i].query_index);
      EXPECT_EQ(file.answers[i].query, answers[i].query);
      EXPECT_EQ(file.answers[i].counterfactual, answers[i].counterfactual);
    }
  }

  const std::vector<std::string> header = {"query_index", "x0",   "x1",   "whole",
                                           "grade",       "flag", "kind", "place"};
  const problem_zoo::MixedCase mixed = problem_zoo::mixed_case(2, false);
  std::vector<Query> queries;
  std::vector<Answer> answers;
};

TEST_F(AnswerFiles, OfOursAreReadBack) {
  const AnswerFile file = answers_from_json(recourse_file(), mixed.model, "plans.json");
  expect_same(file);
  EXPECT_EQ(*file.model_sha256, mixed.model.sha256);
  EXPECT_EQ(*file.threshold, 0);
  EXPECT_EQ(*file.answers[0].seconds, 0.5);
  EXPECT_EQ(file.answers[2].status, Status::not_found);
}

TEST_F(AnswerFiles, OfOneRecordPerLineAreReadBack) {
  std::string lines;
  for (const Answer& answer : answers) {
    lines += compact_text(to_json(answer, mixed.model.schema())) + "\n";
  }
  expect_same(answers_from_json(lines, mixed.model, "plans.jsonl"));
  lines += "{\"query_index\": 9\n";
  expect_input_error([&] { return answers_from_json(lines, mixed.model, "plans.jsonl"); },
                     {"plans.jsonl: line 5"});
}

TEST_F(AnswerFiles, OfOurOwnCsvAreReadBack) {
  FormulaGuard guard;
  std::vector<TextRows::Row> rows;
  const auto split = [](const std::string& line) {
    TextRows::Row cells = {""};
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else if (c != '\n') {
        cells.back() += c;
      }
    }
    return cells;
  };
  const Schema& schema = mixed.model.schema();
  for (const Answer& answer : answers) {
    rows.push_back(split(recourse_csv_row(answer, schema, CsvColumns{}, guard)));
  }
  const std::vector<std::string> names = split(recourse_csv_header(schema, CsvColumns{}, guard));
  expect_same(read_table(names, rows));
  // The distances tell that two queries have changed places.
  std::swap(queries[0].raw, queries[3].raw);
  expect_input_error([&] { return read_table(names, rows); },
                     {"people.csv:2", "distance_l2", "row 0 of the query file"});
}

TEST_F(AnswerFiles, MayHaveFractionsForWholeNumbers) {
  TextRows::Row row = cells(0);
  row[3] = "2.5";
  const AnswerFile file = read_table(header, {row});
  EXPECT_EQ((*file.answers[0].counterfactual)[2], Value(2.5));
  const AnswerBatch batch = answer_batch(file.answers, mixed.model, 0, ExplainedRows::all);
  ASSERT_EQ(batch.violations.size(), 1U);
  ASSERT_FALSE(batch.violations[0].empty());
  EXPECT_EQ(batch.violations[0][0], "whole: 2.5 is not an allowed value");
  const Encoder& encoder = mixed.model.encoder;
  const Index column = encoder.first_column(2);
  EXPECT_EQ(batch.points(0, column), (2.5 - encoder.mean()(column)) / encoder.scale()(column));
}

TEST_F(AnswerFiles, OfOursMustBeWhole) {
  AnswerFile file = answers_from_json(recourse_file(), mixed.model, "plans.json");
  EXPECT_EQ(file.explained, 4U);
  require_all_answers(file, "plans.json");
  file.answers.pop_back();
  expect_input_error(
      [&] {
        require_all_answers(file, "plans.json");
        return 0;
      },
      {"plans.json", "1 of 4 queries", "query_index 3", "`missing: not-found`"});
  file.explained.reset();
  require_all_answers(file, "plans.jsonl");
  file.answers.erase(file.answers.begin());
  expect_input_error(
      [&] {
        require_all_answers(file, "plans.jsonl");
        return 0;
      },
      {"1 of 3 queries", "query_index 0"});
}

TEST_F(AnswerFiles, MatchForeignColumnsByNameInAnyOrder) {
  std::vector<TextRows::Row> rows;
  for (const std::size_t k : {3U, 0U, 1U}) {
    TextRows::Row row = cells(k);
    std::reverse(row.begin(), row.end());
    rows.push_back(row);
  }
  rows.push_back({"", "", "", "", "", " ", "", "2"});  // nothing found
  AnswerFile file = read_table({header.rbegin(), header.rend()}, rows);
  std::sort(file.answers.begin(), file.answers.end(),
            [](const Answer& a, const Answer& b) { return a.query_index < b.query_index; });
  expect_same(file);
  EXPECT_EQ(file.answers[2].status, Status::not_found);
}

TEST_F(AnswerFiles, RefuseOtherColumns) {
  std::vector<std::string> other = header;
  other[2] = "wage";
  expect_input_error([&] { return read_table(other, {cells(0)}); }, {"people.csv", "wage"});
  other = header;
  other[0] = "index";
  expect_input_error([&] { return read_table(other, {cells(0)}); },
                     {"no column query_index", "people.csv"});
  other = header;
  other.pop_back();
  TextRows::Row row = cells(0);
  row.pop_back();
  expect_input_error([&] { return read_table(other, {row}); }, {"people.csv", "place"});
}

TEST_F(AnswerFiles, RefuseRowsThatAnswerNobodyOrSomebodyTwice) {
  expect_input_error(
      [&] {
        return read_table(header, {cells(0), cells(1), cells(0)});
      },
      {":4", "query_index 0", "already"});
  for (const char* const index : {"4", "-1", "1.5", "x", ""}) {
    TextRows::Row row = cells(0);
    row[0] = index;
    expect_input_error([&] { return read_table(header, {row}); },
                       {":2", "query_index", index, "counted from 0"});
  }
  TextRows::Row partly = cells(0);
  partly[1] = "";
  expect_input_error([&] { return read_table(header, {partly}); }, {"people.csv:2", "x0", "empty"});
  TextRows::Row far = cells(0);
  far[1] = "1e300";
  expect_input_error([&] { return read_table(header, {far}); }, {":2", "too far"});
  Json file = parse_json(recourse_file(), "plans.json");
  file["results"].push_back(file["results"][1]);
  expect_input_error([&] { return answers_from_json(to_text(file), mixed.model, "plans.json"); },
                     {"results[4]", "query_index 1", "already"});
}

TEST_F(AnswerFiles, MustBeCompleteUnlessTheUserSaysOtherwise) {
  AnswerFile file = read_table(header, {cells(0), cells(3)});
  const auto complete = [&](MissingAnswers missing) {
    complete_answers(file, queries, mixed.model, 1e9, ExplainedRows::declined, missing,
                     "theirs.csv");
    return 0;
  };
  AnswerFile copy = file;
  expect_input_error([&] { return complete(MissingAnswers::error); },
                     {"theirs.csv", "2 of 4 queries", "1, 2", "`missing: not-found`"});
  file = copy;
  complete(MissingAnswers::not_found);
  const AnswerBatch batch = answer_batch(file.answers, mixed.model, 1e9);
  EXPECT_EQ(batch.found, (std::vector<bool>{true, false, false, true}));
  // Whom the model accepts as they are needs no answer.
  file = copy;
  complete_answers(file, queries, mixed.model, -1e9, ExplainedRows::declined, MissingAnswers::error,
                   "theirs.csv");
  EXPECT_EQ(answer_batch(file.answers, mixed.model, -1e9).accepted, 4U);
}

TEST_F(AnswerFiles, MustAnswerTheQueriesThatAreGiven) {
  AnswerFile file = answers_from_json(recourse_file(), mixed.model, "plans.json");
  std::swap(queries[0].raw, queries[1].raw);
  expect_input_error(
      [&] {
        complete_answers(file, queries, mixed.model, 0, ExplainedRows::all, MissingAnswers::error,
                         "plans.json");
        return 0;
      },
      {"plans.json", "row 0", "query file"});
  queries.resize(2);
  expect_input_error(
      [&] {
        complete_answers(file, queries, mixed.model, 0, ExplainedRows::all, MissingAnswers::error,
                         "plans.json");
        return 0;
      },
      {"plans.json"});
}

}  // namespace
}  // namespace ellice
