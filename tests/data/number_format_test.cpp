#include "data/number_format.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/number_text.hpp"
#include "core/random.hpp"

namespace ellice {
namespace {

using Symbols = std::vector<std::string>;

struct FormatCase {
  std::string cell;
  char decimal;
  char thousands;
  Symbols symbols;
  double expected;  // NaN: no number
};

TEST(FormattedNumber, TellsWhatADecimalMarkCouldBeInstead) {
  const double none = std::nan("");
  const std::vector<FormatCase> cases = {
      {"29.000", '.', '\0', {}, 29000},
      {"-29.500", '.', '\0', {}, -29500},
      {" 1.250 ", '.', ',', {}, 1250},
      {"29,000", ',', '\0', {}, 29000},
      {"EUR 12.500", '.', '\0', {"EUR"}, 12500},
      {"29000", '.', '\0', {}, none},
      {"2.5", '.', '\0', {}, none},
      {"29.0000", '.', '\0', {}, none},
      {"0.125", '.', '\0', {}, none},
      {"1234.567", '.', '\0', {}, none},
      {".125", '.', '\0', {}, none},
      {"29.000", ',', '.', {}, none},
      {"", '.', '\0', {}, none},
  };
  for (const FormatCase& row : cases) {
    SCOPED_TRACE(row.cell);
    const std::optional<double> found =
        read_as_groups(row.cell, {.decimal = row.decimal, .thousands = row.thousands}, row.symbols);
    EXPECT_EQ(found.has_value(), !std::isnan(row.expected));
    if (found) {
      EXPECT_EQ(*found, row.expected);
    }
  }
}

TEST(FormattedNumber, CouldHaveDecimalsWhereOneGroupOfThreeFollowsThePoint) {
  const double none = std::nan("");
  const std::vector<FormatCase> cases = {
      {"7.325", ',', '.', {}, 7.325},    {"-7.325 %", ',', '.', {"%"}, -7.325},
      {"0.125", ',', '.', {}, 0.125},    {"7,325", '.', ',', {}, 7.325},
      {"1.234.567", ',', '.', {}, none}, {"7.325,5", ',', '.', {}, none},
      {"7325", ',', '.', {}, none},      {"7 325", ',', ' ', {}, none},
      {"7'325", '.', '\'', {}, none},    {"7.325", '.', '\0', {}, none},
  };
  for (const FormatCase& row : cases) {
    SCOPED_TRACE(row.cell);
    const std::optional<double> found = read_as_decimals(
        row.cell, {.decimal = row.decimal, .thousands = row.thousands}, row.symbols);
    EXPECT_EQ(found.has_value(), !std::isnan(row.expected));
    if (found) {
      EXPECT_EQ(*found, row.expected);
    }
  }
}

TEST(FormattedNumber, ReadsTheSpellingThatWasSaidAndNoOther) {
  const double none = std::nan("");
  const std::vector<FormatCase> cases = {
      {"1234", ',', '.', {}, 1234},
      {"1.234", ',', '.', {}, 1234},
      {"1.234,5", ',', '.', {}, 1234.5},
      {"-12.345.678,25", ',', '.', {}, -12345678.25},
      {" 1,5 ", ',', '\0', {}, 1.5},
      {",5", ',', '\0', {}, 0.5},
      {"1,5E+03", ',', '\0', {}, 1500},
      {"1'234'567.5", '.', '\'', {}, 1234567.5},
      {"1’234", '.', '\'', {}, 1234},
      {"1 234,5", ',', ' ', {}, 1234.5},
      {"1\u00A0234\u202F567", ',', ' ', {}, 1234567},
      {"1,234.5", '.', ',', {}, 1234.5},
      {"12,5 %", ',', '\0', {"%"}, 12.5},
      {"12,5%", ',', '\0', {"%"}, 12.5},
      {"€ 1.200", ',', '.', {"€", "EUR"}, 1200},
      {"-€5", '.', '\0', {"€"}, -5},
      {"€ -5", '.', '\0', {"€"}, -5},
      {"- 5 EUR", '.', '\0', {"€", "EUR"}, -5},
      {"US$7", '.', '\0', {"$", "US$"}, 7},
      {"+5", ',', '.', {}, 5},
      // What other spellings would read.
      {"1.5", ',', '.', {}, none},
      {"1.5", ',', '\0', {}, none},
      {"1.2345", ',', '.', {}, none},
      {"1234.567", ',', '.', {}, none},
      {"1.23.456", ',', '.', {}, none},
      {".123", ',', '.', {}, none},
      {"1..234", ',', '.', {}, none},
      {"1.234.", ',', '.', {}, none},
      {"1,234,5", ',', '\0', {}, none},
      {"1,5,", ',', '\0', {}, none},
      {"1,5", '.', '\0', {}, none},
      {"1,5", '.', ',', {}, none},
      {"5 $", '.', '\0', {"€"}, none},
      {"5 €€", '.', '\0', {"€"}, none},
      {"€ 5 €", '.', '\0', {"€"}, none},
      {"--5", '.', '\0', {}, none},
      {"-€-5", '.', '\0', {"€"}, none},
      {"", ',', '.', {}, none},
      {"€", '.', '\0', {"€"}, none},
      {"-", '.', '\0', {}, none},
      {"nan", ',', '.', {}, none},
      {"inf", ',', '.', {}, none},
      {"0x10", ',', '.', {}, none},
      {"1 2", ',', '.', {}, none},
  };
  for (const FormatCase& row : cases) {
    SCOPED_TRACE(row.cell + " with " + row.decimal + " and " + row.thousands);
    double value = 0;
    const bool is_number = parse_formatted_number(
        row.cell, {.decimal = row.decimal, .thousands = row.thousands}, row.symbols, value);
    EXPECT_EQ(is_number, !std::isnan(row.expected));
    if (is_number) {
      EXPECT_EQ(value, row.expected);
    }
  }
}

/// Writes a number as an accountant would; shares nothing with the parser.
std::string spelled(double value, char decimal, const std::string& thousands) {
  std::string digits = number_text(std::abs(value));
  if (digits.find('e') != std::string::npos) return "";
  std::string fraction;
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    fraction = decimal + digits.substr(point + 1);
    digits.resize(point);
  }
  for (std::size_t place = digits.size(); place > 3 && !thousands.empty();) {
    place -= 3;
    digits.insert(place, thousands);
  }
  return (value < 0 ? "-" : "") + digits + fraction;
}

TEST(FormattedNumber, ReadsBackEveryNumberInEverySpelling) {
  Random random(7);
  std::size_t tried = 0;
  for (int round = 0; round < 20000; ++round) {
    const double size = std::pow(10.0, 12 * random.uniform() - 4);
    double value = size * random.normal();
    if (random.below(3) == 0) value = std::nearbyint(value);
    const char decimal = decimal_marks[random.below(2)];
    const std::vector<std::string> groups = {"", ".", ",", " ", "\u00A0", "\u202F", "'", "’"};
    std::string thousands = groups[random.below(groups.size())];
    if (thousands == std::string(1, decimal)) thousands.clear();
    std::string text = spelled(value, decimal, thousands);
    if (text.empty()) continue;
    Symbols symbols;
    if (random.below(2) == 0) {
      symbols = {"EUR", "€"};
      text = random.below(2) == 0 ? text + " €" : "EUR" + text;
    }
    const char mark = thousands.empty()                      ? '\0'
                      : thousands == "." || thousands == "," ? thousands.front()
                      : thousands == "'" || thousands == "’" ? '\''
                                                             : ' ';
    double read = 0;
    ASSERT_TRUE(
        parse_formatted_number(text, {.decimal = decimal, .thousands = mark}, symbols, read))
        << text;
    ASSERT_EQ(read, value) << text;
    ++tried;
  }
  EXPECT_GT(tried, 15000U);
}

}  // namespace
}  // namespace ellice
