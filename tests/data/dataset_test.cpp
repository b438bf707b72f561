#include "ellice/data/dataset.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "core/number_text.hpp"
#include "core/sha256.hpp"
#include "ellice/data/table.hpp"
#include "support/messages.hpp"
#include "support/text_rows.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::expect_words;
using testing_support::message_of;
using testing_support::TextRows;
using Rows = std::vector<TextRows::Row>;

constexpr const char* people = R"(
target: {column: approved, favourable: yes}
drop: [id]
features:
  income:  {kind: numeric}
  age:     {kind: integer}
  school:  {kind: ordinal, levels: [none, some, much]}
  owner:   {kind: binary}
  purpose: {kind: categorical, levels: [car, home, "3"]}
one_hot:
  job: [job_a, job_b, job_c]
)";

const TextRows::Row header = {"job_b", "purpose", "approved", "income", "id",
                              "age",   "job_a",   "owner",    "school", "job_c"};

Schema people_schema(const std::string& missing = "error") {
  return parse_schema(std::string(people) + "missing: " + missing + "\n", "people.yaml");
}

/// A row that is in order except for one cell.
TextRows::Row row_with(const std::string& column, const std::string& text) {
  TextRows::Row row = {"1", "home", "yes", "10.5", "x1", "40", "0", "1", "some", "0"};
  row.at(static_cast<std::size_t>(std::find(header.begin(), header.end(), column) -
                                  header.begin())) = text;
  return row;
}

const TextRows::Row declined = row_with("approved", "no");

Dataset read(const Rows& rows, const Schema& schema = people_schema()) {
  TextRows source(header, rows);
  return read_dataset(source, schema);
}

TEST(Dataset, MatchesColumnsByName) {
  const Dataset data = read(
      {row_with("income", " -1e3 "), {"0", "3", "no", "7", "x2", "33.0", "0", "0", "none", "1"}});
  RowMatrix expected(2, 6);
  expected << -1000, 40, 1, 1, 1, 1,  //
      7, 33, 0, 0, 2, 2;
  EXPECT_EQ(data.raw, expected);
  EXPECT_EQ(data.labels, (std::vector<int>{1, 0}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data.source, "people.csv");
  EXPECT_EQ(data.schema, people_schema());
  EXPECT_TRUE(data.fill.empty());
  EXPECT_TRUE(data.sha256.empty());
}

TEST(Dataset, TakesALevelThatIsTheSameNumberInAnotherSpelling) {
  const Dataset data = read({row_with("owner", "1.0"), row_with("owner", "0.00"),
                             row_with("purpose", "3.0"), row_with("job_b", "1.0"), declined});
  EXPECT_EQ(data.raw(0, 3), 1);
  EXPECT_EQ(data.raw(1, 3), 0);
  EXPECT_EQ(data.raw(2, 4), 2);
  EXPECT_EQ(data.raw(3, 5), 1);
}

TEST(Dataset, PrefersTheExactTextOfALevel) {
  const Schema schema = parse_schema(
      "target: {column: y, favourable: 1}\nfeatures: {a: {kind: categorical, levels: [\"1\", "
      "\"01\"]}}",
      "s.yaml");
  TextRows source({"a", "y"}, {{"01", "1"}, {"1", "0"}});
  const Dataset data = read_dataset(source, schema);
  EXPECT_EQ(data.raw(0, 0), 1);
  EXPECT_EQ(data.raw(1, 0), 0);
  // A third spelling may be either of them.
  TextRows other({"a", "y"}, {{"01", "1"}, {"1.0", "0"}});
  expect_input_error([&] { return read_dataset(other, schema); },
                     {"found \"1.0\"", "several are this number", "1, 01"});
}

TEST(Dataset, ReadsManyRowsAndReportsProgress) {
  Rows rows;
  for (int i = 0; i < 10000; ++i) {
    rows.push_back(i % 3 == 0 ? declined : row_with("income", std::to_string(i)));
  }
  TextRows source(header, rows);
  std::vector<std::size_t> reported;
  const Dataset data = read_dataset(source, people_schema(), [&](const ProgressState& state) {
    reported.push_back(state.done);
    return true;
  });
  ASSERT_EQ(data.rows(), 10000);
  for (Index i = 0; i < data.rows(); ++i) {
    EXPECT_EQ(data.raw(i, 0), i % 3 == 0 ? 10.5 : static_cast<double>(i));
    EXPECT_EQ(data.labels[static_cast<std::size_t>(i)], i % 3 == 0 ? 0 : 1);
  }
  EXPECT_EQ(reported, (std::vector<std::size_t>{4096, 8192}));
  TextRows again(header, rows);
  message_of(ErrorCode::cancelled, [&] {
    return read_dataset(again, people_schema(), [](const ProgressState&) { return false; });
  });
}

TEST(Dataset, ReadsAFileAndItsHash) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "ellice_dataset_test.csv";
  std::ofstream(path) << "abc,y\n1.5,yes\n2.5,no\n";
  const Schema schema = parse_schema(
      "target: {column: y, favourable: yes}\nfeatures: {abc: {kind: numeric}}", "s.yaml");
  CsvReader reader(path.string());
  const Dataset data = read_dataset(reader, schema);
  std::filesystem::remove(path);
  EXPECT_EQ(data.raw, (RowMatrix(2, 1) << 1.5, 2.5).finished());
  EXPECT_EQ(data.sha256, sha256_hex("abc,y\n1.5,yes\n2.5,no\n"));
}

TEST(Dataset, SpellsTheOtherClass) {
  EXPECT_EQ(read({row_with("approved", "yes"), row_with("approved", "refused")}).classes,
            (std::vector<std::string>{"refused", "yes"}));
  const Dataset many = read({row_with("approved", "yes"), row_with("approved", "no"),
                             row_with("approved", "perhaps"), row_with("approved", "no")});
  EXPECT_EQ(many.classes, (std::vector<std::string>{"not yes", "yes"}));
  EXPECT_EQ(many.labels, (std::vector<int>{1, 0, 0, 0}));

  Schema schema = people_schema();
  schema.target.favourable = "1";
  const Dataset numbers = read({row_with("approved", "1.0"), row_with("approved", "0"),
                                row_with("approved", "0.0"), row_with("approved", "1")},
                               schema);
  EXPECT_EQ(numbers.classes, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(numbers.labels, (std::vector<int>{1, 0, 0, 1}));
}

constexpr const char* weighted = R"(
target: {column: approved, favourable: yes}
features:
  income: {kind: numeric}
)";

Dataset read_weighted(const std::vector<std::string>& weights, const std::string& column = "w") {
  Rows rows = {{"income", "w", "approved"}};
  for (std::size_t i = 0; i < weights.size(); ++i)
    rows.push_back({"1", weights[i], i % 2 == 0 ? "yes" : "no"});
  TextRows source(rows.front(), {rows.begin() + 1, rows.end()});
  return read_dataset(source, parse_schema(weighted, "w.yaml"), {}, ClassValues::of_schema, column);
}

TEST(Dataset, ReadsWeightsFromAColumnThatIsNoFeature) {
  const Dataset data = read_weighted({"0.5", "2", "1e3"});
  EXPECT_EQ(data.weights, Vector(Eigen::Vector3d(0.5, 2, 1000)));
  EXPECT_EQ(data.schema.drop, std::vector<std::string>{"w"});
  EXPECT_EQ(data.schema.features.size(), 1U);
  EXPECT_EQ(select_rows(data, {2, 0}).weights, Vector(Eigen::Vector2d(1000, 0.5)));
  for (const char* wrong : {"0", "-1", "", "nan", "inf", "much"}) {
    expect_input_error(
        [&] {
          return read_weighted({"1", wrong, "1"});
        },
        {":3", "\"w\"", "number > 0"});
  }
  expect_input_error([] { return read_weighted({"1", "1"}, "income"); }, {"feature \"income\""});
  expect_input_error([] { return read_weighted({"1", "1"}, "approved"); }, {"target"});
  expect_input_error([] { return read_weighted({"1", "1"}, "weight"); }, {"\"weight\" is missing"});
}

TEST(Dataset, RefusesTheFavourableLabelInAnotherSpelling) {
  for (const char* label : {"Yes", "YES", " yes", "yes ", "Y es"}) {
    expect_input_error(
        [&] {
          return read({row_with("approved", "yes"), declined, row_with("approved", label)});
        },
        {"people.csv:4", fmt::format("found \"{}\"", label), "\"yes\" as the schema spells"});
  }
}

TEST(Dataset, RefusesAWrongHeader) {
  const auto expect = [](const TextRows::Row& columns,
                         std::initializer_list<std::string_view> words) {
    TextRows source(columns, {});
    expect_input_error([&] { return read_dataset(source, people_schema()); }, words);
  };
  TextRows::Row columns = header;
  columns[3] = "Income";
  expect(columns, {"people.csv: column \"income\" is missing", "did you mean \"Income\"?"});
  columns = header;
  columns[0] = "job_x";
  expect(columns, {"column \"job_b\" is missing"});
  columns = header;
  columns[2] = "decision";
  expect(columns, {"column \"approved\" is missing"});
  columns = header;
  columns.push_back("shoe size");
  expect(columns, {"people.csv: column 11 (\"shoe size\") is not in the schema", "to drop"});
  columns = header;
  columns.insert(columns.begin(), "");
  expect(columns, {"column 1 (\"\") is not in the schema", "add \"\" to drop"});
}

TEST(Dataset, ReadsQueriesWithoutTargetAndDroppedColumns) {
  const Schema schema = people_schema();
  TextRows source({"income", "age", "school", "owner", "purpose", "job_a", "job_b", "job_c"},
                  {{"1", "2", "much", "0", "car", "1", "0", "0"}});
  const RowParser parser(schema, source, RowParser::Columns::exact);
  std::span<const std::string_view> cells;
  ASSERT_TRUE(source.next(cells));
  std::vector<double> raw(6);
  parser.parse(cells, raw);
  EXPECT_EQ(raw, (std::vector<double>{1, 2, 2, 0, 0, 0}));
  TextRows both(header, {});
  EXPECT_NO_THROW(RowParser(schema, both, RowParser::Columns::exact));
  expect_input_error([&] { return RowParser(schema, source, RowParser::Columns::labelled); },
                     {"column \"approved\" is missing"});
}

TEST(Dataset, TakesNumbersAsItReadsTheirTexts) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {0,      -0.0, 1,   40,   -9,  1.5, 29.125, 1e300,
                                       1e-300, 0.1,  -99, 1e22, nan, inf, -inf,   5000.125};
  // What a cell becomes, or what is said of it but for its place.
  const auto outcome = [](const Schema& schema, RowSource& source) -> std::string {
    try {
      const RowParser parser(schema, source, RowParser::Columns::exact);
      std::span<const std::string_view> cells;
      EXPECT_TRUE(source.next(cells));
      std::vector<double> raw(schema.features.size());
      parser.parse(cells, raw);
      std::string text;
      for (const double value : raw)
        text += std::isnan(value) ? "empty " : number_text(value) + " ";
      return text;
    } catch (const Error& error) {
      const std::string said = error.what();
      return said.substr(said.find("column \""));
    }
  };
  for (const char* missing : {"error", "median", "level"}) {
    for (const char* values : {"[]", "[\"-9\", \"inf\"]", "[\"-9.0\", \"-99\"]"}) {
      Schema schema = parse_schema(R"(
target: {column: y, favourable: yes}
features:
  number: {kind: numeric}
  whole:  {kind: integer}
  bin:    {kind: binned, edges: [0, 10]}
  level:  {kind: categorical, levels: ["1", "40", "1.5"]}
missing_values: )" + std::string(values) +
                                       "\nmissing: " + missing + "\n",
                                   "s.yaml");
      for (const double a : numbers) {
        for (const double b : {1.0, a}) {
          const double level = b == a && (a == 1 || a == 1.5) ? a : 40;
          const Table table{.columns = {{"number", std::vector{a}},
                                        {"level", std::vector{level}},
                                        {"bin", std::vector{b}},
                                        {"whole", std::vector{b}}}};
          TableSource by_number(table);
          const auto text = [](double value) -> std::string {
            if (std::isnan(value)) return "";
            return std::isinf(value) ? (value > 0 ? "inf" : "-inf") : number_text(value);
          };
          TextRows by_text({"number", "level", "bin", "whole"},
                           {{text(a), text(level), text(b), text(b)}});
          EXPECT_EQ(outcome(schema, by_number), outcome(schema, by_text))
              << a << ", " << b << ", " << missing << " " << values;
        }
      }
    }
  }
}

TEST(Dataset, NamesLineColumnAndTextOfABadCell) {
  const auto expect = [](const std::string& column, const std::string& text,
                         std::initializer_list<std::string_view> words) {
    SCOPED_TRACE(column + " = " + text);
    expect_input_error([&] { return read({declined, row_with(column, text)}); }, words);
    expect_input_error(
        [&] {
          return read({declined, row_with(column, text)});
        },
        {"people.csv:3: "});
  };
  expect("income", "much", {"column \"income\": found \"much\", expected a finite number"});
  for (const char* text : {"nan", "NaN", "inf", "-inf", "1e999", "NA", "?", "1,5", "0x10"}) {
    expect("income", text, {fmt::format("found \"{}\"", text), "leave the cell empty"});
  }
  expect("age", "40.5", {"column \"age\": found \"40.5\", expected a whole number"});
  expect("school", "Some", {"column \"school\": found \"Some\"", "did you mean \"some\"?"});
  expect("purpose", "holiday", {"found \"holiday\", expected a level", "car, home, 3"});
  expect("owner", "2", {"column \"owner\": found \"2\"", "0, 1"});
  expect("job_a", "1", {"group \"job\"", "both \"job_a\" and \"job_b\""});
  expect("job_b", "0", {"group \"job\"", "none of its columns", "\"job_c\""});
  expect("job_c", "0.5", {"column \"job_c\": found \"0.5\", expected 0 or 1"});
  expect("job_c", "x", {"column \"job_c\": found \"x\", expected 0 or 1"});
  for (const char* column : {"income", "age", "school", "owner", "purpose", "job_a"}) {
    for (const char* text : {"", "  "}) {
      expect(column, text, {fmt::format("column \"{}\": found an empty cell", column), "median"});
    }
  }
  expect("approved", "", {"column \"approved\": found an empty cell", "must not be missing"});
  expect("income", std::string(1000, 'x'), {"xxx…\""});
}

TEST(Dataset, RefusesDataWithoutBothClasses) {
  expect_input_error([] { return read({}); }, {"people.csv", "a header but no rows"});
  expect_input_error(
      [] {
        return read({declined, row_with("approved", "perhaps")});
      },
      {"column \"approved\"", "\"yes\" does not occur", "\"no\", \"perhaps\""});
  expect_input_error([] { return read({row_with("approved", "yes")}); },
                     {"only one class", "\"yes\""});
}

TEST(Dataset, FillsEmptyCellsWithLowerMedianOrMostFrequentLevel) {
  const Schema schema = people_schema("median");
  const Dataset data = read(
      {
          {"1", "home", "yes", "1", "", "10", "0", "1", "none", "0"},
          {"1", "", "no", "", "", "", "0", "", "", "0"},
          {"0", "car", "no", "2", "", "20", "1", "0", "some", "0"},
          {"", "car", "no", "9", "", "30", "", "1", "much", ""},
          {"1", "home", "no", "40", "", "50", "0", "0", "much", "0"},
      },
      schema);
  RowMatrix expected(5, 6);
  expected << 1, 10, 0, 1, 1, 1,  //
      2, 20, 1, 0, 0, 1,          // owner and purpose: two of each, the first level wins
      2, 20, 1, 0, 0, 0,          //
      9, 30, 2, 1, 0, 1,          //
      40, 50, 2, 0, 1, 1;
  EXPECT_EQ(data.raw, expected);
  const std::map<std::string, Value> fill = {{"income", 2.0},    {"age", 20.0},
                                             {"school", "some"}, {"owner", "0"},
                                             {"purpose", "car"}, {"job", "job_b"}};
  EXPECT_EQ(data.fill, fill);
  EXPECT_EQ(data.schema, schema);
}

TEST(Dataset, RecordsFillValuesOfFeaturesWithoutEmptyCells) {
  const Dataset data =
      read({row_with("income", "3"), row_with("income", "5"), declined}, people_schema("median"));
  EXPECT_EQ(data.fill.size(), 6U);
  EXPECT_EQ(data.fill.at("income"), Value(5.0));
}

TEST(Dataset, RefusesToFillAColumnWithoutAnyValue) {
  TextRows::Row other = row_with("income", "");
  other[2] = "no";
  expect_input_error(
      [&] {
        return read({row_with("income", ""), other}, people_schema("median"));
      },
      {"column \"income\"", "all cells are empty", "drop"});
}

TEST(Dataset, GivesEmptyCellsALevelOfTheirOwn) {
  const Schema schema = people_schema("level");
  const Dataset data = read({row_with("purpose", ""), declined, row_with("purpose", " ")}, schema);
  const Feature& purpose = data.schema.features[4];
  EXPECT_EQ(purpose.levels, (std::vector<std::string>{"car", "home", "3", "(missing)"}));
  EXPECT_EQ(data.raw.col(4), (Vector(3) << 3, 1, 3).finished());
  EXPECT_EQ(read({row_with("purpose", "car"), declined}, schema).schema, schema);
  for (const char* column : {"income", "age", "school", "owner", "job_a"}) {
    expect_input_error(
        [&] {
          return read({declined, row_with(column, "")}, schema);
        },
        {"people.csv:3", fmt::format("column \"{}\"", column), "missing: median"});
  }
  // Queries use the schema that was trained with: an empty cell is that level.
  TextRows queries(header, {row_with("purpose", "")});
  const RowParser parser(data.schema, queries, RowParser::Columns::exact);
  std::span<const std::string_view> cells;
  ASSERT_TRUE(queries.next(cells));
  std::vector<double> raw(6);
  parser.parse(cells, raw);
  EXPECT_EQ(raw[4], 3);
}

/// Row i has income i; every third row is favourable.
Dataset numbered(Index rows) {
  Dataset data;
  data.schema =
      parse_schema("target: {column: y, favourable: 1}\nfeatures: {a: {kind: numeric}}", "s");
  data.raw = Vector::LinSpaced(rows, 0, static_cast<double>(rows - 1));
  for (Index i = 0; i < rows; ++i) data.labels.push_back(i % 3 == 0 ? 1 : 0);
  data.classes = {"0", "1"};
  data.fill = {{"a", 3.0}};
  data.source = "numbers";
  data.sha256 = "abc";
  return data;
}

TEST(SelectRows, TakesRowsInTheOrderGiven) {
  const Dataset data = numbered(10);
  const Dataset some = select_rows(data, {6, 0, 6, 1});
  EXPECT_EQ(some.raw.col(0), (Vector(4) << 6, 0, 6, 1).finished());
  EXPECT_EQ(some.labels, (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(some.schema, data.schema);
  EXPECT_EQ(some.classes, data.classes);
  EXPECT_EQ(some.fill, data.fill);
  EXPECT_EQ(some.source, "numbers");
  EXPECT_EQ(some.sha256, "abc");
  for (const Index wrong : {Index{-1}, Index{10}}) {
    message_of(ErrorCode::argument, [&] { return select_rows(data, {wrong}); });
  }
}

TEST(ApplySelection, TakesAllRowsByDefault) {
  const SelectedRows rows = apply_selection(numbered(5), {});
  EXPECT_EQ(rows.fit, (std::vector<Index>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(rows.holdout.empty());
  EXPECT_EQ(rows.dropped_by_balancing, 0U);
}

TEST(ApplySelection, BalancesThenHoldsOutByClass) {
  const Dataset data = numbered(300);
  const Selection selection = {.balance = true, .holdout = 0.2, .seed = 5};
  const SelectedRows rows = apply_selection(data, selection);
  EXPECT_EQ(rows.dropped_by_balancing, 100U);
  EXPECT_EQ(rows.fit.size(), 160U);
  EXPECT_EQ(rows.holdout.size(), 40U);
  const auto favourable = [&](const std::vector<Index>& part) {
    return std::count_if(part.begin(), part.end(), [](Index i) { return i % 3 == 0; });
  };
  EXPECT_EQ(favourable(rows.fit), 80);
  EXPECT_EQ(favourable(rows.holdout), 20);
  EXPECT_TRUE(std::is_sorted(rows.fit.begin(), rows.fit.end()));
  EXPECT_TRUE(std::is_sorted(rows.holdout.begin(), rows.holdout.end()));
  std::set<Index> distinct(rows.fit.begin(), rows.fit.end());
  distinct.insert(rows.holdout.begin(), rows.holdout.end());
  EXPECT_EQ(distinct.size(), 200U);

  const SelectedRows again = apply_selection(data, selection);
  EXPECT_EQ(again.fit, rows.fit);
  EXPECT_EQ(again.holdout, rows.holdout);
  // The rows that balancing keeps do not depend on whether some are held out.
  const SelectedRows whole = apply_selection(data, {.balance = true, .seed = 5});
  EXPECT_EQ(std::set<Index>(whole.fit.begin(), whole.fit.end()), distinct);
}

TEST(ApplySelection, NamesTheClassThatIsTooSmallToHoldOut) {
  expect_input_error([] { return apply_selection(numbered(3), {.holdout = 0.5}); },
                     {"numbers: class \"1\" has 1 row", "`holdout`"});
}

TEST(ApplySelection, RefusesAShareOutsideItsRange) {
  expect_words(
      message_of(ErrorCode::argument, [] { return apply_selection(numbered(9), {.holdout = 1}); }),
      {"Selection.holdout = 1", "[0, 1)"});
}

}  // namespace
}  // namespace ellice
