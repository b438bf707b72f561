// Targets with more than two classes.

#include <gtest/gtest.h>

#include <algorithm>

#include "data/folds.hpp"
#include "data/recipe.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/dataset.hpp"
#include "support/datasets.hpp"
#include "support/messages.hpp"
#include "support/text_rows.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using testing_support::TextRows;

Schema flowers(const std::string& classes) {
  return parse_schema("target: {column: species, favourable: rose" + classes +
                          "}\nfeatures:\n  length: {kind: numeric}\n",
                      "flowers.yaml");
}

Dataset read(const std::vector<std::string>& labels, const Schema& schema,
             ClassValues values = ClassValues::of_schema) {
  std::vector<TextRows::Row> rows;
  for (const std::string& label : labels) rows.push_back({"1.5", label});
  TextRows source({"length", "species"}, rows);
  return read_dataset(source, schema, {}, values);
}

const std::string listed = ", classes: [tulip, rose, lily]";

TEST(Classes, OfTheSchemaGiveLabelsInItsOrder) {
  const Dataset data = read({"rose", "lily", "tulip", "rose"}, flowers(listed));
  EXPECT_EQ(data.labels, (std::vector<int>{1, 2, 0, 1}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"tulip", "rose", "lily"}));
  EXPECT_EQ(select_rows(data, {1}).classes, data.classes);
}

TEST(Classes, StayInTheSchemaThroughYamlAndJson) {
  const Schema schema = flowers(listed);
  EXPECT_EQ(parse_schema(to_yaml(schema), "again"), schema);
  EXPECT_EQ(schema_from_json(to_json(schema), "again"), schema);
  EXPECT_EQ(to_json(flowers(""))["target"].contains("classes"), false);
}

TEST(Classes, ThatAreFoundAreSortedAndStored) {
  const Dataset data = read({"tulip", "rose", "lily", "rose"}, flowers(""), ClassValues::all);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"lily", "rose", "tulip"}));
  EXPECT_EQ(data.labels, (std::vector<int>{2, 1, 0, 1}));
  EXPECT_EQ(data.schema.target.classes, data.classes);
  // Read again with that schema, as explain does, it is the same.
  EXPECT_EQ(read({"tulip", "rose", "lily", "rose"}, data.schema).labels, data.labels);
}

TEST(Classes, ThatAreNumbersAreSortedAsNumbers) {
  Schema grades = flowers("");
  grades.target.favourable = "10";
  const Dataset data = read({"10", "9", "2.0", "2", "10.0"}, grades, ClassValues::all);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"2.0", "9", "10"}));
  EXPECT_EQ(data.labels, (std::vector<int>{2, 1, 0, 0, 2}));
}

TEST(Classes, AreTwoUnlessAskedFor) {
  const Dataset data = read({"tulip", "rose", "lily"}, flowers(""));
  EXPECT_EQ(data.labels, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"not rose", "rose"}));
  EXPECT_TRUE(data.schema.target.classes.empty());
}

TEST(Classes, OfDataMustBeThoseOfTheSchema) {
  expect_input_error(
      [] {
        return read({"rose", "lily", "tulp"}, flowers(listed));
      },
      {"people.csv:4", "species", "\"tulp\"", "did you mean", "tulip"});
  expect_input_error(
      [] {
        return read({"rose", "lily"}, flowers(listed));
      },
      {"no row is of class \"tulip\"", "target.classes"});
  expect_input_error(
      [] {
        return read({"rose", "lily", "Tulip "}, flowers(listed));
      },
      {"Tulip", "\"tulip\""});
  expect_input_error(
      [] {
        return read({"rose", "lily", ""}, flowers(listed));
      },
      {"people.csv:4", "empty cell"});
}

TEST(Classes, ThatAreFoundMustBeClasses) {
  expect_input_error(
      [] {
        return read({"rose", "rose"}, flowers(""), ClassValues::all);
      },
      {"only one class"});
  expect_input_error(
      [] {
        return read({"lily", "tulip"}, flowers(""), ClassValues::all);
      },
      {"favourable", "\"rose\"", "lily"});
  expect_input_error(
      [] {
        return read({"rose", "Rose"}, flowers(""), ClassValues::all);
      },
      {"one spelling"});
  std::vector<std::string> labels;
  for (int k = 0; k <= 100; ++k) labels.push_back(std::to_string(k));
  expect_input_error([&] { return read(labels, flowers(""), ClassValues::all); },
                     {"at most 100 classes", "number"});
}

TEST(Schema, RefusesClassesThatCannotBe) {
  expect_input_error([] { return flowers(", classes: [tulip, lily]"); },
                     {"flowers.yaml:1", "target.classes", "\"rose\""});
  expect_input_error([] { return flowers(", classes: [rose]"); }, {"found 1 classes"});
  expect_input_error([] { return flowers(", classes: [rose, lily, rose]"); }, {"stands twice"});
  expect_input_error([] { return flowers(", classes: rose"); }, {"list of the target's classes"});
}

TEST(BalancedRows, LeaveAsManyOfEachOfThreeClasses) {
  const std::vector<int> labels = {0, 1, 2, 1, 0, 1, 0, 1, 2};
  const std::vector<Index> rows = balanced_rows(labels, Random(4));
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  std::vector<int> count(3);
  for (const Index row : rows)
    ++count[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])];
  EXPECT_EQ(count, (std::vector<int>{2, 2, 2}));
}

TEST(Recipe, HasThreeSpeciesOfIris) {
  ELLICE_NEEDS_DATASET("iris3");
  const Dataset data = load_recipe("iris3");
  const Dataset two = load_recipe("iris");
  EXPECT_EQ(data.classes, (std::vector<std::string>{"setosa", "versicolor", "virginica"}));
  EXPECT_EQ(data.schema.target.favourable, "virginica");
  EXPECT_EQ(data.raw, two.raw);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    EXPECT_EQ(data.labels[i] == 0, two.labels[i] == 1);  // setosa
  }
}

TEST(Recipe, GradesWines) {
  ELLICE_NEEDS_DATASET("wine-grades");
  const Dataset data = load_recipe("wine-grades");
  EXPECT_EQ(data.classes, (std::vector<std::string>{"low", "medium", "high"}));
  std::vector<std::ptrdiff_t> count;
  for (const int label : {0, 1, 2}) {
    count.push_back(std::count(data.labels.begin(), data.labels.end(), label));
  }
  // Qualities 3 to 9 occur 30, 216, 2138, 2836, 1079, 193 and 5 times.
  EXPECT_EQ(count, (std::vector<std::ptrdiff_t>{2384, 2836, 1277}));
  EXPECT_EQ(apply_selection(data, {.balance = true}).fit.size(), 3U * 1277U);
}

}  // namespace
}  // namespace ellice
