#include "study/result_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ellice {
namespace {

using Better = ResultTable::Better;

ResultTable table() {
  return {.name = "tab-one",
          .caption = "Robustness & length, 10 % of the objective.",
          .labels = {"data", "method"},
          .columns = {{.group = "Retrain", .name = "R", .better = Better::higher},
                      {.group = "Retrain", .name = "L2", .better = Better::lower, .decimals = 2},
                      {.group = "AWP", .name = "R", .better = Better::higher}},
          .rows = {{.labels = {"German", "T:Rex, one"},
                    .cells = {{.ours = {.mean = 0.9876, .spread = 0.01}, .paper = {.mean = 0.97}},
                              {.ours = {.mean = 2.5}, .paper = {.mean = 2.4}},
                              {.note = "not run"}}},
                   {.labels = {"German", "ElliCE"},
                    .cells = {{.ours = {.mean = 0.9502}, .paper = {.mean = 0.9504}},
                              {.ours = {}, .paper = {.mean = 1}},
                              {.ours = {.mean = 1}}}}}};
}

TEST(ResultTable, JudgesOnlyWhereBothNumbersAreKnown) {
  const ResultTable t = table();
  EXPECT_EQ(t.is_as_good(t.rows[0], 0), true);
  EXPECT_EQ(t.is_as_good(t.rows[0], 1), false);
  EXPECT_EQ(t.is_as_good(t.rows[0], 2), std::nullopt);
  EXPECT_EQ(t.is_as_good(t.rows[1], 0), true) << "they print alike";
  EXPECT_EQ(t.is_as_good(t.rows[1], 1), std::nullopt);
}

TEST(ResultTable, TextLinesUpAndMarksWhatIsAsGood) {
  const std::string text = to_text(table());
  EXPECT_NE(text.find("0.988 ± 0.010*"), std::string::npos) << text;
  EXPECT_NE(text.find("2.50 "), std::string::npos) << text;
  EXPECT_EQ(text.find("2.50*"), std::string::npos) << text;
  EXPECT_NE(text.find("not run"), std::string::npos) << text;
  EXPECT_NE(text.find("---"), std::string::npos) << text;
}

TEST(ResultTable, CsvHoldsFullPrecisionAndOneLinePerCell) {
  const std::string csv = to_csv(table());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_NE(csv.find("German,\"T:Rex, one\",Retrain,R,0.9876,0.01,0.97,0,\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("German,ElliCE,Retrain,L2,,,1,0,\n"), std::string::npos) << csv;
}

TEST(ResultTable, LatexAndHtmlEscapeWhatWouldBreakThem) {
  const std::string latex = to_latex(table());
  EXPECT_NE(latex.find("\\textbf{0.988 $\\pm$ 0.010} {\\scriptsize (0.970)}"), std::string::npos)
      << latex;
  EXPECT_NE(latex.find("\\multicolumn{2}{c}{Retrain}"), std::string::npos) << latex;
  // Every row has as many columns as the table.
  const std::string body = latex.substr(latex.find("\\midrule"));
  EXPECT_EQ(std::count(body.begin(), body.end(), '&'), 2 * 4);
  const std::string html = to_html(table());
  EXPECT_NE(html.find("Robustness &amp; length"), std::string::npos) << html;
  EXPECT_NE(html.find("<td class=\"good\">0.988"), std::string::npos) << html;
  EXPECT_NE(html.find("<td class=\"less\">2.50"), std::string::npos) << html;
}

}  // namespace
}  // namespace ellice
