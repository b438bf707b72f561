#include "report/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "report/markup.hpp"

namespace ellice::svg {
namespace {

using testing_support::markup_fault;

/// The numbers of an attribute, in the order in which they stand.
std::vector<double> numbers(const std::string& text, const std::string& attribute) {
  std::vector<double> found;
  const std::string key = " " + attribute + "=\"";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    found.push_back(std::stod(text.substr(at + key.size())));
  }
  return found;
}

TEST(Escape, LeavesNothingThatAPageCouldTakeForMarkup) {
  EXPECT_EQ(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape("ε\n\x01"), "ε\n\uFFFD");
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(3, 3, 5), std::vector<double>{3});
  EXPECT_FALSE(std::signbit(ticks(0, 1, 4).front()));
  for (const double high : {0.037, 1.2, 999.0, 4e6}) {
    const std::vector<double> found = ticks(0, high, 5);
    EXPECT_GE(found.size(), 3U);
    EXPECT_LE(found.size(), 9U);
    EXPECT_LE(found.back(), high * (1 + 1e-9));
  }
}

TEST(Dumbbell, PlacesItsDotsInProportion) {
  const std::string plot = dumbbell({.lower = 0, .upper = 100, .now = 25, .then = 75});
  EXPECT_EQ(markup_fault(plot), "");
  const std::vector<double> dots = numbers(plot, "cx");
  ASSERT_EQ(dots.size(), 2U);
  EXPECT_NEAR(dots[0], 3 + 94 * 0.25, 0.01);
  EXPECT_NEAR(dots[1], 3 + 94 * 0.75, 0.01);
}

TEST(Dumbbell, StaysInsideWhereValuesLeaveTheRange) {
  const std::string plot = dumbbell({.lower = 0, .upper = 1, .now = -3, .then = 9});
  for (const double x : numbers(plot, "cx")) {
    EXPECT_GE(x, 0);
    EXPECT_LE(x, 100);
  }
  const std::string point = dumbbell({.lower = 5, .upper = 5, .now = 5, .then = 5});
  for (const double x : numbers(point, "cx")) EXPECT_NEAR(x, 50, 0.01);
}

TEST(Bar, IsAsLongAsItsShare) {
  const std::vector<double> widths = numbers(bar({.share = 0.375, .tone = "fill"}), "width");
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_NEAR(widths[1], 37.5, 0.01);
}

TEST(StackedBar, FillsTheWidth) {
  const std::vector<double> widths = numbers(stacked_bar({{1}, {2}, {5}}, "t"), "width");
  ASSERT_EQ(widths.size(), 3U);
  EXPECT_NEAR(widths[0] + widths[1] + widths[2], 100, 0.02);
  EXPECT_NEAR(widths[2], 62.5, 0.01);
}

TEST(Histogram, CountsEveryValueOnce) {
  std::vector<double> values;
  for (int i = 0; i <= 200; ++i) values.push_back(0.013 * i);
  const std::string plot = histogram(values, "distance", "title");
  EXPECT_EQ(markup_fault(plot), "");
  int counted = 0;
  for (std::size_t at = plot.find("<title>"); at != std::string::npos;
       at = plot.find("<title>", at + 1)) {
    counted += std::stoi(plot.substr(plot.find(": ", at) + 2));
  }
  EXPECT_EQ(counted, 201);
  EXPECT_EQ(markup_fault(histogram({0, 0}, "distance", "title")), "");
  EXPECT_EQ(markup_fault(histogram({1e-9}, "distance", "title")), "");
}

TEST(LineChart, RisesWhereItsPointsRise) {
  const std::string plot = line_chart({.points = {{0, 1}, {0.01, 2}, {0.02, 4}},
                                       .marks = {{0.01, "asked <here>", "asked"}},
                                       .closed_from = 0.02});
  EXPECT_EQ(markup_fault(plot), "");
  EXPECT_NE(plot.find("asked &lt;here&gt;"), std::string::npos);
  const std::vector<double> x = numbers(plot, "cx"), y = numbers(plot, "cy");
  ASSERT_EQ(x.size(), 3U);
  EXPECT_NEAR(x[2] - x[1], x[1] - x[0], 0.02);
  EXPECT_NEAR(y[1] - y[2], 2 * (y[0] - y[1]), 0.2);  // down is larger in SVG
  EXPECT_EQ(markup_fault(line_chart({})), "");
}

}  // namespace
}  // namespace ellice::svg
