#include "data/csv_detection.hpp"

#include <gtest/gtest.h>

#include "core/number_text.hpp"
#include "core/random.hpp"

namespace ellice {
namespace {

Detection detect(std::string_view text, const FormatHints& hints = {}) {
  return detect_format(text, hints, "t.csv");
}

struct Case {
  std::string text;
  CsvFormat format;
  std::vector<std::string> missing = {};
};

TEST(DetectFormat, KnowsHowBanksWrite) {
  const std::vector<Case> cases = {
      {"a,b\n1,2\n", {}},
      {"a\n1\n2\n", {}},
      {"a,b\n1.5,x;y\n2.5,z;w\n", {}},
      {"a;b\n1,5;x\n2,25;y\n", {.separator = ';', .decimal = ','}},
      {"a;b\n1.5;x\n2.25;y\n", {.separator = ';'}},
      {"a\tb\n1\t2\n", {.separator = '\t'}},
      {"a|b\n1|2\n", {.separator = '|'}},
      {"a;b\n1.234,50;2\n12,25;3\n", {.separator = ';', .decimal = ',', .thousands = '.'}},
      {"a,b\n\"1,234.5\",2\n\"12,345\",3\n", {.thousands = ','}},
      {"a;b\n1'234.50;2\n9.25;3\n", {.separator = ';', .thousands = '\''}},
      {"a;b\n1 234,50;2\n9,25;3\n", {.separator = ';', .decimal = ',', .thousands = ' '}},
      {"a;b\n\"x;y\";1,5\n\"z\nw\";2,5\n", {.separator = ';', .decimal = ','}},
      {"a,b\n5 %,x\n12.5%,y\n", {.symbols = {{"a", {"%"}}}}},
      {"a,b\n€ 5,x\n12.5 EUR,y\n", {.symbols = {{"a", {"EUR", "€"}}}}},
      {"gr\xF6\xDF"
       "e,b\n1,2\n",
       {.encoding = Encoding::latin1}},
      {"gr\xC3\xB6\xC3\x9F"
       "e,b\n1,2\n",
       {}},
      {"\xEF\xBB\xBF"
       "a;b\n1;2\n",
       {.separator = ';'}},
      {"a,b\n1,NA\nNA,2\n?,3\n", {}, {"?", "NA"}},
      {"a,b\n1,-\n-,2\n", {}, {"-"}},
      {"a,b\nx,1\nNA,2\n", {}, {"NA"}},        // no value of any category is called so
      {"a,b\nx,1\nnone,2\n", {}, {}},          // but this may be one
      {"a,b\nx,none\nnone,2\nz,3\n", {}, {}},  // and then is no mark elsewhere either
      {"a,b\nx,-\n-,2\nz,3\n", {}, {"-"}},     // a dash is no level that anybody means
      {"a,b\nx,1\n-,2\n", {}, {}},             // unless no number is missing
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.text);
    const Detection found = detect(row.text);
    EXPECT_EQ(found.format, row.format);
    EXPECT_EQ(found.missing_values, row.missing);
  }
}

TEST(DetectFormat, SaysWhatCouldBeReadInTwoWays) {
  const auto doubts = [](std::string_view text) { return detect(text).doubts.size(); };
  EXPECT_EQ(doubts("a;b\n1,5;2\n"), 0U);
  EXPECT_EQ(doubts("a;b\n1,234;2\n2,345;3\n"), 1U);
  EXPECT_EQ(doubts("a,b\n\"1,234\",2\n"), 1U);
  EXPECT_EQ(doubts("a;b\n1.234;2\n"), 1U);
  EXPECT_EQ(doubts("a,b\n1.234,2\n"), 0U);  // plain
  EXPECT_EQ(doubts("a,b\n5 %,1\n0.3,2\n"), 1U);
  EXPECT_EQ(doubts("a,b\n5 €,1\n7 $,2\n"), 1U);
  EXPECT_TRUE(detect("a,b\n5 €,1\n7 $,2\n").format.symbols.empty());
  EXPECT_EQ(doubts("a,b\nx,none\nnone,2\nz,3\n"), 1U);
  EXPECT_EQ(detect("a;b\n1,234;2\n", {.decimal = ','}).doubts.size(), 0U);
}

TEST(DetectFormat, TakesWhatWasSaid) {
  const Detection found = detect("a;b,c\n1,5;NA\n", {.separator = ',',
                                                     .decimal = '.',
                                                     .thousands = '\0',
                                                     .encoding = Encoding::latin1,
                                                     .missing_values = std::vector<std::string>{}});
  EXPECT_EQ(found.format, (CsvFormat{.encoding = Encoding::latin1}));
  EXPECT_TRUE(found.missing_values.empty());
  EXPECT_EQ(detect("a;b\n1,234;5\n", {.thousands = ','}).format,
            (CsvFormat{.separator = ';', .thousands = ','}));
}

TEST(DetectFormat, LivesWithTextsThatAreNoTables) {
  for (const std::string_view text : {"", "\n", "\"", "a,\"", "a,b\n\"", "a,a\n", "1,2\n3,4\n",
                                      "a,b\n1\n1,2,3\n", "\xFF\xFE", ",\n"}) {
    EXPECT_NO_THROW((void)detect(text)) << text;
  }
  EXPECT_NO_THROW((void)detect(std::string_view("a,b\n\0,1\n", 8)));
}

/// A plain table of numbers and words, as any tool writes it.
std::string plain_table(Random& random) {
  const std::size_t columns = 1 + random.below(6);
  std::vector<std::uint64_t> kinds;
  std::string text;
  for (std::size_t j = 0; j < columns; ++j) {
    kinds.push_back(random.below(4));
    text += (j > 0 ? "," : "") + std::string("column ") + static_cast<char>('a' + j);
  }
  const std::vector<std::string> words = {"own",      "rent; flat", "1st", "a|b",
                                          "\"x, y\"", "none",       "ä"};
  const std::uint64_t rows = 1 + random.below(30);
  for (std::uint64_t i = 0; i < rows; ++i) {
    text += '\n';
    for (std::size_t j = 0; j < columns; ++j) {
      if (j > 0) text += ',';
      const double value = 1000 * random.normal();
      if (kinds[j] == 0) text += number_text(value);
      if (kinds[j] == 1) text += number_text(std::nearbyint(value));
      if (kinds[j] == 2) text += number_text(std::nearbyint(1000 * value) / 1000);
      if (kinds[j] == 3) text += words[random.below(words.size())];
    }
  }
  return text + '\n';
}

TEST(DetectFormat, NeverMistakesAPlainFile) {
  Random random(3);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    Random stream = random.split(round);
    const std::string text = plain_table(stream);
    ASSERT_TRUE(detect(text).format.is_plain()) << text;
    ASSERT_TRUE(detect(text).missing_values.empty()) << text;
  }
}

}  // namespace
}  // namespace ellice
