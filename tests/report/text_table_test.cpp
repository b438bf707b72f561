#include "report/text_table.hpp"

#include <gtest/gtest.h>

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
