#include <gtest/gtest.h>

#include "ellice/core/json.hpp"
#include "ellice/data/schema.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;

constexpr std::string_view schema_head = R"(
target: {column: y, favourable: "1"}
features:
  age: {kind: integer}
  income: {kind: numeric}
  odd name: {kind: numeric, step: 5}
  education: {kind: ordinal, levels: [none, school, master]}
  housing: {kind: categorical, levels: [rent, own, with family]}
constraints:
)";

Schema schema_with(const std::string& rule) {
  return parse_schema(std::string(schema_head) + "  - '" + rule + "'\n", "s.yaml");
}

TEST(Implication, IsReadAsItIsWritten) {
  const Implication read = parse_implication("if education rises then age rises by at least 2");
  EXPECT_EQ(read.condition, (Move{.kind = Move::Kind::rises, .feature = "education"}));
  EXPECT_EQ(read.consequence, (Move{.kind = Move::Kind::rises, .feature = "age", .by = 2}));
  EXPECT_EQ(read.text, "if education rises then age rises by at least 2");
  const Implication levels =
      parse_implication("if housing becomes \"with family\", then `odd name` stays");
  EXPECT_EQ(levels.condition.level, "with family");
  EXPECT_EQ(levels.consequence, (Move{.kind = Move::Kind::stays, .feature = "odd name"}));
  EXPECT_EQ(parse_implication("if a changes then b falls").consequence.by, 0);
}

TEST(Implication, SurvivesTheSchemaFile) {
  const Schema schema = schema_with("if housing becomes own then income rises by at least 0.5");
  ASSERT_EQ(schema.implications.size(), 1U);
  EXPECT_EQ(parse_schema(to_yaml(schema), "again"), schema);
  EXPECT_EQ(schema_from_json(to_json(schema), "again"), schema);
}

TEST(Implication, NamesTextAndPlaceOfAMistake) {
  const auto expect = [](const std::string& text, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return parse_implication(text); }, words);
    expect_input_error([&] { return parse_implication(text); }, {"rule \"" + text + "\""});
  };
  expect("if", {"found the end", "a feature"});
  expect("if a", {"found the end", "rises, falls, changes or becomes"});
  expect("if a grows then b rises", {"character 6", "found \"grows\""});
  expect("if a stays then b rises", {"character 6", "found \"stays\""});
  expect("if a rises b rises", {"character 12", "found \"b\"", "then"});
  expect("if a rises then b changes", {"found \"changes\"", "rises, falls, stays or becomes"});
  expect("if a rises then b rises by 2", {"found \"2\"", "expected at"});
  expect("if a rises then b rises by at least two", {"found \"two\"", "a number > 0"});
  expect("if a rises then b rises by at least -1", {"found \"-1\"", "a number > 0"});
  expect("if a rises then b rises sharply", {"found \"sharply\"", "the end"});
  expect("if `a rises then b rises", {"character 4", "between two quotes"});
}

TEST(Implication, NamesWhatTheSchemaDoesNotKnow) {
  const auto expect = [](const std::string& rule, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return schema_with(rule); }, words);
    expect_input_error([&] { return schema_with(rule); }, {"s.yaml", "constraints", rule});
  };
  expect("if education rises then agee rises by at least 2",
         {"no feature \"agee\"", "did you mean \"age\""});
  expect("if housing rises then age stays", {"\"housing\" of kind categorical", "cannot rise"});
  expect("if housing becomes owned then age stays", {"no level \"owned\"", "own"});
  expect("if income becomes 3 then age stays", {"no levels to become"});
  expect("if age rises then income rises", {"say by how much", "income rises by at least 1"});
  EXPECT_NO_THROW((void)schema_with("if income rises then age rises"));
}

TEST(Implication, MoreThanSixAreRefused) {
  std::string text(schema_head);
  for (int k = 0; k < 6; ++k)
    text += "  - if age rises then income rises by at least " + std::to_string(k + 1) + "\n";
  EXPECT_EQ(parse_schema(text, "s.yaml").implications.size(), 6U);
  expect_input_error(
      [&] { return parse_schema(text + "  - if age rises then income stays\n", "s.yaml"); },
      {"more than 6", "doubles"});
}

}  // namespace
}  // namespace ellice
