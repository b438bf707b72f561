#include "report/figure.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <vector>

namespace ellice {
namespace {

Figure::Panel panel(std::vector<Figure::Series> series) {
  return {.title = "German",
          .x = {.label = "ε", .low = 0, .high = 1},
          .y = {.label = "robustness", .low = 0, .high = 1},
          .series = std::move(series)};
}

/// The points of the joined lines, in pixels.
std::vector<std::vector<std::pair<double, double>>> lines(const std::string& svg) {
  std::vector<std::vector<std::pair<double, double>>> result;
  const std::regex path(
      "<path d=\"(M[-0-9. L]+)\" fill=\"none\" stroke=\"#[0-9a-f]+\" "
      "stroke-width=\"1.6\"/>");
  const std::regex point("[ML]([-0-9.]+) ([-0-9.]+)");
  for (std::sregex_iterator p(svg.begin(), svg.end(), path), end; p != end; ++p) {
    const std::string text = (*p)[1];
    result.emplace_back();
    for (std::sregex_iterator q(text.begin(), text.end(), point); q != end; ++q)
      result.back().emplace_back(std::stod((*q)[1]), std::stod((*q)[2]));
  }
  return result;
}

TEST(Figure, PointsLieWhereTheirNumbersSay) {
  const auto drawn = lines(
      to_svg({.panels = {panel({{.name = "a", .points = {{.x = 0, .y = 0}, {.x = 0.5, .y = 1}}},
                                {.name = "b", .points = {{.x = 1, .y = 0.25}}}})}}));
  ASSERT_EQ(drawn.size(), 2U);
  const auto [x0, y0] = drawn[0][0];
  const auto [x_half, y_top] = drawn[0][1];
  const auto [x1, y_quarter] = drawn[1][0];
  EXPECT_NEAR(x_half, (x0 + x1) / 2, 0.11);  // tenths of a pixel are written
  EXPECT_NEAR(y_quarter, y0 + 0.25 * (y_top - y0), 0.11);
  EXPECT_LT(y_top, y0);
}

TEST(Figure, LogarithmicAxesLeaveOutWhatTheyCannotShow) {
  Figure::Panel logarithmic = panel(
      {{.name = "a",
        .points = {{.x = 1, .y = 1}, {.x = 10, .y = 2}, {.x = 100, .y = 3}, {.x = 0, .y = 4}}}});
  logarithmic.x = {.label = "rows", .logarithmic = true};
  logarithmic.y = {.label = "ms"};
  const auto drawn = lines(to_svg({.panels = {logarithmic}}));
  ASSERT_EQ(drawn.size(), 1U);
  ASSERT_EQ(drawn[0].size(), 3U);
  EXPECT_NEAR(drawn[0][1].first, (drawn[0][0].first + drawn[0][2].first) / 2, 0.11);
}

TEST(Figure, ASeriesKeepsItsColourFromPanelToPanel) {
  const std::string svg =
      to_svg({.columns = 2,
              .panels = {panel({{.name = "a", .points = {{.x = 0, .y = 0}}},
                                {.name = "b", .points = {{.x = 0, .y = 0.5}}}}),
                         panel({{.name = "b", .points = {{.x = 0, .y = 0.5}}}})}});
  const std::regex stroke("<path d=\"M[-0-9. L]+\" fill=\"none\" stroke=\"(#[0-9a-f]+)\"");
  std::vector<std::string> colours;
  for (std::sregex_iterator p(svg.begin(), svg.end(), stroke), end; p != end; ++p)
    colours.push_back((*p)[1]);
  ASSERT_EQ(colours.size(), 3U);
  EXPECT_NE(colours[0], colours[1]);
  EXPECT_EQ(colours[1], colours[2]);
}

TEST(Figure, NamesAreEscapedAndEmptyPanelsSaySo) {
  const std::string svg =
      to_svg({.title = "R & L2", .panels = {panel({{.name = "<T:Rex>", .points = {}}})}});
  EXPECT_NE(svg.find("R &amp; L2"), std::string::npos);
  EXPECT_NE(svg.find("&lt;T:Rex&gt;"), std::string::npos);
  EXPECT_NE(svg.find("no data"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Figure, NamesStandInPlaceOfNumbersAndLongOnesLoseWhatAllBeginWith) {
  Figure::Panel named = panel({{.name = "a", .points = {{.x = 0, .y = 0.5}, {.x = 1, .y = 0.7}}}});
  named.x = {.names = {"Attribute4_A40", "Attribute4_A41"}};
  std::string svg = to_svg({.panels = {named}});
  EXPECT_NE(svg.find(">A40<title>Attribute4_A40</title>"), std::string::npos);
  EXPECT_NE(svg.find(">A41<title>Attribute4_A41</title>"), std::string::npos);
  EXPECT_TRUE(lines(svg).empty());  // names have no order, and nothing between them
  named.x.names = {"own", "a very long name", "order"};
  svg = to_svg({.panels = {named}});
  EXPECT_NE(svg.find(">own<title>"), std::string::npos);
  EXPECT_NE(svg.find(">a very l…<title>"), std::string::npos);
}

TEST(Figure, ABandGoesAroundItsLine) {
  Figure::Panel one = panel({{.name = "a",
                              .points = {{.x = 0, .y = 0.5, .error = 0.5}, {.x = 1, .y = 0.5}},
                              .is_band = true}});
  const std::string svg = to_svg({.panels = {one}});
  ASSERT_EQ(lines(svg).size(), 1U);
  const auto [x0, y0] = lines(svg)[0][0];
  const std::regex band(
      "<path d=\"M([-0-9.]+) ([-0-9.]+)L[-0-9. ]+L[-0-9. ]+L([-0-9.]+) ([-0-9.]+)z");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(svg, found, band));
  EXPECT_NEAR(std::stod(found[1]), x0, 0.11);
  EXPECT_NEAR(std::stod(found[3]), x0, 0.11);
  EXPECT_NEAR(std::stod(found[2]) + std::stod(found[4]), 2 * y0, 0.21);
  EXPECT_LT(std::stod(found[2]), y0);
  EXPECT_EQ(svg.find("<circle", svg.find("German")), std::string::npos);  // no marks in the panel
}

}  // namespace
}  // namespace ellice
