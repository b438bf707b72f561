#include "report/recourse_csv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>

#include "ellice/data/csv.hpp"
#include "report/lending_answers.hpp"

namespace ellice {
namespace {

using testing_support::lending_example;

/// Every row as column -> cell, through the reader of queries.
std::vector<std::map<std::string, std::string>> read_back(const std::string& text) {
  const std::string path = testing::TempDir() + "ellice_recourse_csv_test_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
  std::ofstream(path, std::ios::binary) << text;
  CsvReader reader(path);
  std::vector<std::map<std::string, std::string>> rows;
  std::span<const std::string_view> cells;
  while (reader.next(cells)) {
    auto& row = rows.emplace_back();
    for (std::size_t j = 0; j < cells.size(); ++j) row[reader.header()[j]] = cells[j];
  }
  std::remove(path.c_str());
  return rows;
}

double number(const std::string& cell) {
  double value = std::nan("");
  EXPECT_TRUE(parse_number(cell, value)) << "\"" << cell << "\"";
  return value;
}

TEST(RecourseCsv, ReadsBackAsTheAnswersItWasWrittenFrom) {
  FormulaGuard guard;
  const auto example = lending_example(9, 0.03);
  const Schema& schema = example.model.schema();
  std::string text = recourse_csv_header(schema, CsvColumns{.has_id = true}, guard);
  for (const Answer& answer : example.answers) {
    text += recourse_csv_row(answer, schema, CsvColumns{.has_id = true}, guard);
  }
  const auto rows = read_back(text);
  ASSERT_EQ(rows.size(), example.answers.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = rows[i];
    const Answer& answer = example.answers[i];
    EXPECT_EQ(row["query_index"], std::to_string(answer.query_index));
    EXPECT_EQ(row["plan"], "0");
    EXPECT_EQ(row["id"], answer.id.value_or(""));
    EXPECT_EQ(row["status"], enum_name(answer.status));
    EXPECT_EQ(row["message"], answer.message);
    for (std::size_t j = 0; j < schema.features.size(); ++j) {
      const std::string& cell = row[schema.features[j].name];
      if (!answer.counterfactual) {
        EXPECT_EQ(cell, "");
      } else if (schema.features[j].is_number()) {
        EXPECT_EQ(number(cell), std::get<double>((*answer.counterfactual)[j]));
      } else {
        EXPECT_EQ(cell, std::get<std::string>((*answer.counterfactual)[j]));
      }
    }
    EXPECT_EQ(row["gap"], answer.gap ? "0" : "");
    if (!answer.counterfactual) {
      EXPECT_EQ(row["distance_l2"] + row["changed"] + row["logit"] + row["robust_logit"], "");
      continue;
    }
    EXPECT_EQ(number(row["distance_l2"]), answer.distance.l2);
    EXPECT_EQ(number(row["distance_l1"]), answer.distance.l1);
    EXPECT_EQ(number(row["distance_weighted"]), answer.distance.weighted);
    EXPECT_EQ(row["changed"], std::to_string(answer.distance.changed));
    EXPECT_EQ(number(row["logit"]), answer.logit);
    EXPECT_EQ(number(row["robust_logit"]), answer.robust_logit);
  }
}

TEST(RecourseCsv, QuotesWhatMustBeQuoted) {
  FormulaGuard guard;
  Schema schema;
  schema.features = {{.name = "job, \"title\"", .kind = FeatureKind::categorical}};
  Answer answer{.id = "x\ny", .message = "a \"b\", c"};
  answer.counterfactual = RawRow{std::string("clerk, senior")};
  auto rows = read_back(recourse_csv_header(schema, CsvColumns{.has_id = true}, guard) +
                        recourse_csv_row(answer, schema, CsvColumns{.has_id = true}, guard));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["job, \"title\""], "clerk, senior");
  EXPECT_EQ(rows[0]["id"], "x\ny");
  EXPECT_EQ(rows[0]["message"], "a \"b\", c");
}

TEST(RecourseCsv, HasNoColumnForIdsWhereThereAreNone) {
  FormulaGuard guard;
  Schema schema;
  schema.features = {{.name = "a"}};
  const std::string header = recourse_csv_header(schema, CsvColumns{}, guard);
  EXPECT_EQ(header,
            "query_index,plan,status,a,distance_l2,distance_l1,distance_weighted,changed,logit,"
            "robust_logit,gap,message,reason\n");
  EXPECT_EQ(recourse_csv_row({.query_index = 7}, schema, CsvColumns{}, guard),
            "7,0,not_found,,,,,,,,,,\n");
}

TEST(RecourseCsv, GivesWayToAFeatureOfTheSameName) {
  FormulaGuard guard;
  Schema schema;
  schema.features = {{.name = "status"}, {.name = "status_"}};
  auto rows = read_back(
      recourse_csv_header(schema, CsvColumns{}, guard) +
      recourse_csv_row({.counterfactual = RawRow{1.5, 2.5}}, schema, CsvColumns{}, guard));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["status"], "1.5");
  EXPECT_EQ(rows[0]["status_"], "2.5");
  EXPECT_EQ(rows[0]["status__"], "not_found");
}

TEST(RecourseCsv, WritesNoNumberThatIsNotFinite) {
  FormulaGuard guard;
  Schema schema;
  schema.features = {{.name = "a"}};
  Answer answer{.counterfactual = RawRow{1.0}, .gap = INFINITY};
  EXPECT_EQ(recourse_csv_row(answer, schema, CsvColumns{}, guard),
            "0,0,not_found,1,0,0,0,0,0,0,,,\n");
}

TEST(RecourseCsv, DisarmsWhatASpreadsheetWouldRunAndNothingElse) {
  for (const std::string text : {"=1+1", "=cmd|'/c calc'!A0", "+49 30 123", "-1-1", "@SUM(A1)",
                                 "\tx", "\r=1", "-", "=", "+a"}) {
    EXPECT_TRUE(is_formula(text)) << text;
    FormulaGuard warns(false);
    FormulaGuard disarms(true);
    EXPECT_EQ(warns.cell(text), csv_cell(text));
    EXPECT_EQ(disarms.cell(text), csv_cell("'" + text));
    EXPECT_EQ(warns.found(), 1U);
    EXPECT_EQ(warns.first(), text);
  }
  for (const std::string text : {"", "-5", "+1.5e3", "-.5", "a=b", " =1", "'=1", "0", "x-y"}) {
    EXPECT_FALSE(is_formula(text)) << text;
    FormulaGuard disarms(true);
    EXPECT_EQ(disarms.cell(text), csv_cell(text));
    EXPECT_EQ(disarms.found(), 0U);
  }
}

TEST(RecourseCsv, DisarmsNamesLevelsIdentifiersAndMessages) {
  Schema schema;
  schema.features = {{.name = "=name", .kind = FeatureKind::categorical}, {.name = "n"}};
  Answer answer{.id = "=id", .message = "@message"};
  answer.counterfactual = RawRow{std::string("-level"), -5.0};
  answer.reason = "+reason";
  FormulaGuard guard(true);
  const std::string text = recourse_csv_header(schema, CsvColumns{.has_id = true}, guard) +
                           recourse_csv_row(answer, schema, CsvColumns{.has_id = true}, guard);
  EXPECT_EQ(guard.found(), 5U);
  auto rows = read_back(text);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["'=name"], "'-level");
  EXPECT_EQ(rows[0]["n"], "-5");
  EXPECT_EQ(rows[0]["id"], "'=id");
  EXPECT_EQ(rows[0]["message"], "'@message");
  EXPECT_EQ(rows[0]["reason"], "'+reason");
}

}  // namespace
}  // namespace ellice
