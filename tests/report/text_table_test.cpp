#include "report/text_table.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ellice/core/error.hpp"

namespace ellice {
namespace {

TEST(TextTable, LinesUpByCharactersNotBytes) {
  using enum TextTable::Align;
  TextTable table({left, right});
  table.header({"name", "θ̂"});
  table.row({"größe", "1.5"});
  table.row({"x", "10"});
  EXPECT_EQ(table.text(),
            "name     θ̂\n"
            "─────  ───\n"
            "größe  1.5\n"
            "x       10\n");
}

TEST(TextTable, RefusesARowOfAnotherWidth) {
  TextTable table({TextTable::Align::left});
  EXPECT_THROW(table.row({"a", "b"}), Error);
}

TEST(Wrapped, BreaksAtBlanksButNotInsideNumbers) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("lower debt from 35 700 to 8 100 EUR", 16),
            (Lines{"lower debt from", "35 700 to 8 100", "EUR"}));
  EXPECT_EQ(wrapped("größer als zwölf", 10), (Lines{"größer als", "zwölf"}));
  EXPECT_EQ(wrapped("unbreakable word", 4), (Lines{"unbreakable", "word"}));
  EXPECT_EQ(wrapped("", 4), Lines{""});
}

TEST(RoundedBeside, HasTheDigitsThatTellItFromAnother) {
  EXPECT_EQ(rounded_beside(0.123456, 0), "0.1235");
  EXPECT_EQ(rounded_beside(1.0000123, 1), "1.00001");
  EXPECT_EQ(rounded_beside(1, 1.0000123), "1");
  EXPECT_EQ(rounded_beside(2, 2), "2");
}

TEST(DisplayWidth, CountsCodePointsWithoutCombiningMarks) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("ä→█"), 3U);
  EXPECT_EQ(display_width("x̃"), 1U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1 000");
  EXPECT_EQ(grouped(1234567), "1 234 567");
}

}  // namespace
}  // namespace ellice
