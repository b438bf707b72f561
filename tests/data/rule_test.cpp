#include "ellice/data/rule.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/number_text.hpp"
#include "core/random.hpp"
#include "ellice/core/json.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_input_error;
using Terms = std::vector<std::pair<std::string, double>>;

TEST(Rule, BringsFeaturesLeftAndNumbersRight) {
  const Rule rule = parse_rule("debt <= 0.4 * income");
  EXPECT_EQ(rule.text, "debt <= 0.4 * income");
  EXPECT_EQ(rule.terms, (Terms{{"debt", 1}, {"income", -0.4}}));
  EXPECT_EQ(rule.relation, Rule::Relation::at_most);
  EXPECT_EQ(rule.bound, 0);

  const Rule sum = parse_rule("2*a + b - 3 >= c");
  EXPECT_EQ(sum.terms, (Terms{{"a", 2}, {"b", 1}, {"c", -1}}));
  EXPECT_EQ(sum.relation, Rule::Relation::at_least);
  EXPECT_EQ(sum.bound, 3);

  const Rule equal = parse_rule("a == b");
  EXPECT_EQ(equal.terms, (Terms{{"a", 1}, {"b", -1}}));
  EXPECT_EQ(equal.relation, Rule::Relation::equal);
}

TEST(Rule, TakesSignsBlanksExponentsAndProductsOfNumbers) {
  EXPECT_EQ(parse_rule("-a<=-2").terms, (Terms{{"a", -1}}));
  EXPECT_EQ(parse_rule("-a<=-2").bound, -2);
  EXPECT_EQ(parse_rule("+a * 2 * 3 \t<= 1e2 - .5").terms, (Terms{{"a", 6}}));
  EXPECT_EQ(parse_rule("a <= 1e2 - .5").bound, 99.5);
  EXPECT_EQ(parse_rule("10 >= 2 * x_1").terms, (Terms{{"x_1", -2}}));
}

TEST(Rule, AddsUpAFeatureThatStandsSeveralTimes) {
  const Rule rule = parse_rule("a + b + 2 * a - b <= a + 1 - 4");
  EXPECT_EQ(rule.terms, (Terms{{"a", 2}}));
  EXPECT_EQ(rule.bound, -3);
}

TEST(Rule, TakesAnyNameInBackQuotes) {
  EXPECT_EQ(parse_rule("`total income (€)` >= 2 * `a * b`").terms,
            (Terms{{"total income (€)", 1}, {"a * b", -2}}));
}

// The oracle evaluates the written sums at a point; the rule must hold there exactly when they do.
TEST(Rule, AgreesWithTheSumsAsWrittenAtRandomPoints) {
  Random random(11);
  const std::vector<std::string> names = {"a", "b", "c", "d e"};
  for (int round = 0; round < 2000; ++round) {
    std::map<std::string, double> point;
    for (const std::string& name : names) point[name] = static_cast<double>(random.below(21)) - 10;
    std::string text;
    double sides[2] = {0, 0};
    bool has_feature = false;
    for (int side = 0; side < 2; ++side) {
      if (side == 1) text += " <= ";
      const std::uint64_t terms = 1 + random.below(4);
      for (std::uint64_t t = 0; t < terms; ++t) {
        const bool minus = random.below(2) == 1;
        if (t > 0 || minus) text += minus ? " - " : " + ";
        const double number = static_cast<double>(random.below(17)) / 4;
        const std::string& name = names[random.below(names.size())];
        const std::string written = name == "d e" ? "`d e`" : name;
        double value = 0;
        switch (random.below(4)) {
          case 0:
            text += number_text(number);
            value = number;
            break;
          case 1:
            text += written;
            value = point[name];
            has_feature = true;
            break;
          case 2:
            text += number_text(number) + "*" + written;
            value = number * point[name];
            has_feature = true;
            break;
          default:
            text += written + " * " + number_text(number);
            value = point[name] * number;
            has_feature = true;
        }
        sides[side] += minus ? -value : value;
      }
    }
    if (!has_feature) continue;
    Rule rule;
    try {
      rule = parse_rule(text);
    } catch (const Error&) {  // everything cancelled
      continue;
    }
    double left = 0;
    for (const auto& [name, coefficient] : rule.terms) left += coefficient * point[name];
    // All numbers are small multiples of 1/4: exact in double precision.
    EXPECT_EQ(left - rule.bound, sides[0] - sides[1]) << text;
  }
}

TEST(Rule, NamesTextAndPlaceOfAMistake) {
  const auto expect = [](const std::string& text, std::initializer_list<std::string_view> words) {
    expect_input_error([&] { return parse_rule(text); }, words);
    expect_input_error([&] { return parse_rule(text); }, {"rule \"" + text + "\""});
  };
  expect("debt <= 0.4 * * income", {"character 15", "found \"*\"", "a number or a feature"});
  expect("a * b <= 3", {"character 5", "found \"b\"", "linear"});
  expect("a * 2 * b <= 3", {"character 9", "linear"});
  expect("1 <= a <= 3", {"character 8", "one relation"});
  expect("a < 3", {"found \"<\"", "<=, >= or =="});
  expect("a = 3", {"found \"=\"", "<=, >= or =="});
  expect("a != 3", {"found \"!=\"", "<=, >= or =="});
  expect("a b <= 3", {"found \"b\""});
  expect("a <= 3 b", {"found \"b\"", "+, - or the end"});
  expect("a <=", {"found the end", "a number or a feature"});
  expect("<= 3", {"found \"<=\"", "a number or a feature"});
  expect("a + 3", {"found the end"});
  expect("", {"found the end"});
  expect("   ", {"found the end"});
  expect("(a + b) <= 3", {"found \"(a\""});
  expect("a / 2 <= 3", {"found \"/\""});
  expect("2 <= 3", {"no feature"});
  expect("a - a <= 3", {"no feature"});
  expect("`a <= 3", {"back quotes"});
  expect("`` <= 3", {"back quotes"});
  expect("größe <= 3", {"back quotes"});
  expect("a <= 1e999", {"finite number"});
  expect("a * 1e300 * 1e300 <= 1", {"overflow"});
}

}  // namespace
}  // namespace ellice
