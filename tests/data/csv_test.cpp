#include "ellice/data/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "core/random.hpp"
#include "core/sha256.hpp"
#include "data/csv_scanner.hpp"
#include "ellice/core/error.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

using Row = std::vector<std::string>;

struct ScannedTable {
  std::vector<Row> rows = {};           // the header first
  std::vector<std::size_t> lines = {};  // on which each begins
};

/// Bytes of a text in pieces of at most `piece`.
CsvScanner::Read pieces_of(std::string text, std::size_t piece) {
  return
      [text = std::move(text), piece, at = std::size_t{0}](char* into, std::size_t size) mutable {
        const std::size_t count = std::min({size, piece, text.size() - at});
        std::memcpy(into, text.data() + at, count);
        at += count;
        return count;
      };
}

ScannedTable scan(const std::string& text, std::size_t buffer_size, std::size_t piece) {
  CsvScanner scanner("table.csv", pieces_of(text, piece), buffer_size);
  ScannedTable result{{scanner.header()}, {1}};
  std::span<const std::string_view> cells;
  while (scanner.next(cells)) {
    result.rows.emplace_back(cells.begin(), cells.end());
    result.lines.push_back(scanner.line());
  }
  return result;
}

std::string error_of(const std::string& text) {
  try {
    (void)scan(text, 64, 7);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    return error.what();
  }
  return "no error";
}

/// The grammar one character at a time; knows nothing of errors. Trailing empty lines are dropped.
ScannedTable oracle(const std::string& text) {
  enum class At { cell_start, plain, quoted, quote_in_quoted };
  ScannedTable table;
  Row row;
  std::string cell;
  At at = At::cell_start;
  std::size_t line = 1;
  std::size_t row_line = 1;
  std::size_t last_with_content = 0;
  bool content = false;
  const auto end_row = [&] {
    if (at == At::plain && cell.ends_with('\r')) cell.pop_back();
    content = content || !cell.empty() || !row.empty();
    row.push_back(cell);
    table.rows.push_back(row);
    table.lines.push_back(row_line);
    if (content) last_with_content = table.rows.size();
    row.clear();
    cell.clear();
    content = false;
    at = At::cell_start;
    row_line = ++line;
  };
  for (const char c : text) {
    if (at == At::quoted) {
      if (c == '\n') ++line;
      if (c == '"') {
        at = At::quote_in_quoted;
      } else {
        cell += c;
      }
    } else if (at == At::quote_in_quoted && c == '"') {
      cell += c;
      at = At::quoted;
    } else if (at == At::quote_in_quoted && c == '\r') {
      continue;
    } else if (c == ',') {
      row.push_back(cell);
      cell.clear();
      at = At::cell_start;
    } else if (c == '\n') {
      end_row();
    } else if (c == '"' && at == At::cell_start) {
      at = At::quoted;
      content = true;
    } else {
      cell += c;
      at = At::plain;
    }
  }
  if (at != At::cell_start || !row.empty()) end_row();
  table.rows.resize(last_with_content);
  table.lines.resize(last_with_content);
  return table;
}

std::string random_cell(Random& random) {
  static const std::vector<std::string> characters = {"a",  "b",  "7",  "-", ".", " ", ",",
                                                      "\"", "\n", "\r", "é", "+", "#"};
  std::string result;
  const std::uint64_t length = random.below(4) == 0 ? random.below(60) : random.below(7);
  for (std::uint64_t i = 0; i < length; ++i) result += characters[random.below(characters.size())];
  return result;
}

/// A cell as some writer would put it: quoted where it must be, and at random where it need not.
std::string written(const std::string& cell, Random& random) {
  const bool must = cell.find_first_of("\",\n\r") != std::string::npos;
  if (!must && random.below(3) != 0) return cell;
  std::string result = "\"";
  for (const char c : cell) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

struct Generated {
  std::string text = {};
  std::vector<Row> rows = {};
};

Generated random_table(Random random) {
  Generated result;
  const std::uint64_t columns = 1 + random.below(5);
  const std::uint64_t rows = random.below(12);
  const std::string line_end = random.below(2) == 0 ? "\n" : "\r\n";
  if (random.below(4) == 0) result.text = "\xef\xbb\xbf";
  for (std::uint64_t i = 0; i <= rows; ++i) {
    Row row;
    for (std::uint64_t j = 0; j < columns; ++j) {
      row.push_back(i == 0 ? "column" + std::to_string(j) : random_cell(random));
      result.text += (j == 0 ? "" : ",") + written(row.back(), random);
    }
    result.rows.push_back(row);
    if (i < rows || random.below(2) == 0) result.text += line_end;
  }
  if (result.text.ends_with('\n')) {
    for (std::uint64_t k = random.below(3); k > 0; --k) result.text += line_end;
  }
  return result;
}

TEST(CsvScanner, AgreesWithAStateMachineOnRandomTablesAndBuffers) {
  int rows = 0;
  for (const std::uint64_t seed : testing_support::seeds(0, 5000)) {
    SCOPED_TRACE(seed);
    Random random = Random(11).split(seed);
    const Generated generated = random_table(random.split(1));
    const std::string body =
        generated.text.starts_with("\xef\xbb\xbf") ? generated.text.substr(3) : generated.text;
    const ScannedTable expected = oracle(body);
    const std::size_t buffer = 4 + random.below(80);
    const std::size_t piece = 1 + random.below(90);
    const ScannedTable found = scan(generated.text, buffer, piece);
    ASSERT_EQ(found.rows, expected.rows) << "seed " << seed << ":\n" << generated.text;
    ASSERT_EQ(found.lines, expected.lines) << "seed " << seed << ":\n" << generated.text;
    // And with what was written, except that a last empty line of one column cannot be told from
    // none.
    if (generated.rows.front().size() > 1) {
      ASSERT_EQ(found.rows, generated.rows) << "seed " << seed;
    }
    rows += static_cast<int>(found.rows.size());
  }
  EXPECT_GT(rows, 20000);
}

TEST(CsvScanner, GivesTheSameRowsForEveryBufferSize) {
  const std::string text =
      "\xef\xbb\xbfname,\"a "
      "\"\"b\"\"\",c\r\n1,\"x,\r\n\"\"y\"\"\",\r\n\"\",-2.5,\"\xc3\xa9\"\r\n,,\"\"\"\"\r\n\r\n";
  const ScannedTable expected{{{"name", "a \"b\"", "c"},
                               {"1", "x,\r\n\"y\"", ""},
                               {"", "-2.5", "\xc3\xa9"},
                               {"", "", "\""}},
                              {1, 2, 4, 5}};
  for (std::size_t buffer = 4; buffer < 100; ++buffer) {
    for (std::size_t piece = 1; piece < 20; ++piece) {
      const ScannedTable found = scan(text, buffer, piece);
      ASSERT_EQ(found.rows, expected.rows) << buffer << ", " << piece;
      ASSERT_EQ(found.lines, expected.lines) << buffer << ", " << piece;
    }
  }
}

TEST(CsvScanner, TakesAnEmptyLineOfAOneColumnTableAsAnEmptyCell) {
  const ScannedTable found = scan("x\n1\n\n\n2\n\"\"\n\n", 8, 3);
  EXPECT_EQ(found.rows, (std::vector<Row>{{"x"}, {"1"}, {""}, {""}, {"2"}, {""}}));
  EXPECT_EQ(found.lines, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6}));
}

TEST(CsvScanner, AcceptsColumnsThatAreCountedAndOneWithoutAName) {
  EXPECT_EQ(scan(",0,1,2\n7,1,1,1\n", 64, 64).rows.front(), (Row{"", "0", "1", "2"}));
  EXPECT_EQ(scan("1,2\n7,1\n", 64, 64).rows.front(), (Row{"1", "2"}));
}

TEST(CsvScanner, NamesTheLineOfARaggedRow) {
  EXPECT_EQ(error_of("a,b,c\n1,2,3\n1,\"x\n\",3\n1,2\n"),
            "table.csv: line 5: found 2 cells, expected 3 as in the header");
  EXPECT_EQ(error_of("a,b\n1,2,3"),
            "table.csv: line 2: found 3 cells, expected 2 as in the header; quote cells that hold "
            "a comma");
  EXPECT_EQ(error_of("a,b\n1,2\n\n\n3,4\n"),
            "table.csv: line 3: the line is empty, expected 2 cells");
}

TEST(CsvScanner, GoesOnBehindRowsThatCannotBeUsed) {
  const std::string text = "a,b\n1,2\n3\n4,5\n\n\n6,7,8\n\"9\nx\",\xff\n10,11\n\n";
  for (const std::size_t buffer_size : {std::size_t{4}, std::size_t{64}}) {
    CsvScanner scanner("table.csv", pieces_of(text, 3), buffer_size);
    std::vector<std::string> seen;  // first cells, and the lines of what is refused
    std::span<const std::string_view> cells;
    while (true) {
      try {
        if (!scanner.next(cells)) break;
        seen.emplace_back(cells[0]);
      } catch (const RowError& error) {
        const std::string message = error.what();
        seen.push_back(message.substr(0, message.find(':', message.find("line"))));
      }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"1", "table.csv: line 3", "4", "table.csv: line 5",
                                              "table.csv: line 6", "table.csv: line 7",
                                              "table.csv: line 9", "10"}));
  }
}

TEST(CsvScanner, NamesTheLineWhereAnUnclosedQuoteOpens) {
  EXPECT_EQ(error_of("a,b\n1,2\n\"3\n\",\"4\n5,6\n7,8\n"),
            "table.csv: line 4: column 2: the quote that opens here is never closed");
  EXPECT_EQ(error_of("a,b\n1,\""),
            "table.csv: line 2: column 2: the quote that opens here is never closed");
}

TEST(CsvScanner, RefusesMisplacedQuotes) {
  EXPECT_EQ(error_of("a,b\n1,\"2\"3\n"),
            "table.csv: line 2: column 2 goes on after its closing quote");
  EXPECT_EQ(error_of("a,b\n\"1\"\r,2\n"),
            "table.csv: line 2: column 1 goes on after its closing quote");
  EXPECT_EQ(error_of("a,b\n1,5\"\n"),
            "table.csv: line 2: column 2 holds a quote inside a cell that is not quoted; quote the "
            "cell and "
            "double the quotes in it");
}

TEST(CsvScanner, RefusesWhatIsNotText) {
  const std::string nul = std::string("a,b\n1,") + '\0' + "2\n";
  EXPECT_EQ(error_of(nul),
            "table.csv: line 2: column 2 holds a NUL byte; is this a text file? save spreadsheets "
            "as CSV");
  const std::string quoted_nul = std::string("a,b\n1,\"") + '\0' + "2\"\n";
  EXPECT_EQ(error_of(quoted_nul),
            "table.csv: line 2: column 2 holds a NUL byte; is this a text file? save spreadsheets "
            "as CSV");
  EXPECT_EQ(error_of("\xff\xfe"
                     "a"),
            "table.csv: the text is UTF-16; save the file as UTF-8");
  EXPECT_EQ(error_of("\xfe\xff"
                     "a"),
            "table.csv: the text is UTF-16; save the file as UTF-8");
  for (const char* ascii : {"a,b\n1,2\n", "\n", "7\n"}) {
    for (const bool is_big : {false, true}) {  // which byte of two is the zero
      std::string wide;
      for (const char c : std::string(ascii))
        wide += is_big ? std::string{'\0', c} : std::string{c, '\0'};
      EXPECT_EQ(error_of(wide), "table.csv: the text is UTF-16; save the file as UTF-8");
    }
  }
  EXPECT_EQ(error_of("a,b\r1,2\r"),
            "table.csv: line 1: the name of column 2 holds a carriage return; line ends must be LF "
            "or CRLF");
  EXPECT_EQ(error_of("a\n" + std::string(CsvScanner::longest_row, 'x') + "x\n"),
            "table.csv: line 2: the line does not end within 64 MiB; is this a CSV file?");
  EXPECT_EQ(error_of("a\n\"\n\n" + std::string(CsvScanner::longest_row, 'x') + "x\n"),
            "table.csv: line 2: the quote that opens on line 2 is not closed within 64 MiB; is "
            "this a CSV file?");
}

TEST(CsvScanner, NamesTheLineAndColumnOfTextThatIsNotUtf8) {
  const auto message = [](int line, int column, const char* byte) {
    return fmt::format(
        "table.csv: line {}: column {} holds the byte 0x{}, which is not UTF-8 here; save the file "
        "as UTF-8, or say format: {{encoding: latin1}} in the schema",
        line, column, byte);
  };
  EXPECT_EQ(error_of("a,caf\xE9\n1,2\n"), message(1, 2, "E9"));
  EXPECT_EQ(error_of("a,b,c\n1,2,3\n1,M\xFCnchen,3\n"), message(3, 2, "FC"));
  EXPECT_EQ(error_of("a,b\n\"x\ny\",\"é \"\"\n\xC3\"\n"), message(4, 2, "C3"));
  EXPECT_EQ(error_of("a,b\n1,\x80"), message(2, 2, "80"));
  EXPECT_EQ(error_of("naïve,b\nMünchen,\"東京\"\n"), "no error");
}

TEST(CsvScanner, RefusesAHeaderThatCannotBeUsed) {
  EXPECT_EQ(error_of(""), "table.csv: the file is empty; expected a header line");
  EXPECT_EQ(error_of("\n\r\n"),
            "table.csv: the file holds only empty lines; expected a header line");
  EXPECT_EQ(error_of("\na,b\n"),
            "table.csv: line 1: the line is empty, expected the names of the columns");
  EXPECT_EQ(error_of("a,b,c,b\n"),
            "table.csv: line 1: the column name \"b\" appears twice (columns 2 and 4); rename one");
  EXPECT_EQ(error_of(",b,,d\n"),
            "table.csv: line 1: column 3 has no name (only the first column may lack one)");
  EXPECT_EQ(error_of("\"\"\n1\n"), "table.csv: line 1: the only column has no name");
  EXPECT_EQ(error_of("5.1,3.5,0\n4.9,3,1\n"),
            "table.csv: line 1: the header holds only numbers (\"5.1\", ...): the file seems to "
            "have no header; "
            "put a line with the names of the columns first");
  EXPECT_EQ(error_of("a;b;c\n1;2;3\n"),
            "table.csv: line 1: the header is one column, \"a;b;c\": is the file separated by ';'? "
            "it is read as separated by a comma; `ellice schema` finds out and writes it into the "
            "schema (format: {separator: \";\"})");
  EXPECT_NE(error_of("a\tb\n1\t2\n").find("separated by a tab?"), std::string::npos);
}

TEST(CsvScanner, ReadsEverySeparatorAsItReadsCommas) {
  Random random(5);
  const std::vector<std::string> pieces = {"a",  "12", "-",  "\"\"", ",", ";",
                                           "\t", "|",  "\n", "é",    " "};
  for (std::uint64_t round = 0; round < 1500; ++round) {
    Random stream = random.split(round);
    const char separator = separators[stream.below(separators.size())];
    const std::size_t columns = 2 + stream.below(4);
    std::vector<Row> rows;
    std::string text;
    for (std::uint64_t i = 0; i < 1 + stream.below(6); ++i) {
      Row row;
      for (std::size_t j = 0; j < columns; ++j) {
        std::string cell = i == 0 ? "n" + std::to_string(j) : "";
        for (std::uint64_t k = stream.below(12); k > 0; --k)
          cell += pieces[stream.below(pieces.size())];
        if (j > 0) text += separator;
        text += '"' + cell + '"';
        for (std::size_t at = 0; (at = cell.find("\"\"", at)) != std::string::npos; ++at)
          cell.erase(at, 1);
        row.push_back(cell);
      }
      text += stream.below(2) == 0 ? "\n" : "\r\n";
      rows.push_back(row);
    }
    CsvScanner scanner("t", pieces_of(text, 1 + stream.below(9)), 4 + stream.below(60), separator);
    ASSERT_EQ(scanner.header(), rows.front());
    std::span<const std::string_view> cells;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      ASSERT_TRUE(scanner.next(cells)) << text;
      ASSERT_EQ(Row(cells.begin(), cells.end()), rows[i]) << text;
    }
    ASSERT_FALSE(scanner.next(cells));
  }
  CsvScanner plain("t", pieces_of("a;b\n1,5;x-y\n;\n", 3), 8, ';');
  std::span<const std::string_view> cells;
  ASSERT_TRUE(plain.next(cells));
  EXPECT_EQ(Row(cells.begin(), cells.end()), (Row{"1,5", "x-y"}));
  ASSERT_TRUE(plain.next(cells));
  EXPECT_EQ(Row(cells.begin(), cells.end()), (Row{"", ""}));
}

class CsvFile : public testing::Test {
 protected:
  CsvFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ellice-csv-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~CsvFile() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text) {
    const std::string path = folder_ / "table.csv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(CsvFile, IsReadWithItsHashAndSize) {
  const std::string text = "a,b\n1,2\n\n";
  CsvReader reader(file(text));
  EXPECT_EQ(reader.header(), (Row{"a", "b"}));
  EXPECT_EQ(reader.bytes_total(), text.size());
  std::span<const std::string_view> cells;
  ASSERT_TRUE(reader.next(cells));
  EXPECT_EQ(reader.line(), 2U);
  EXPECT_EQ(cells[1], "2");
  EXPECT_FALSE(reader.next(cells));
  EXPECT_FALSE(reader.next(cells));
  EXPECT_EQ(reader.bytes_read(), text.size());
  // printf 'a,b\n1,2\n\n' | sha256sum
  EXPECT_EQ(reader.sha256(), "5115a0af4b0973bd9d6070dcd3ed4b90b2e61adbe3d6073d511a691056ab3d4f");
  EXPECT_EQ(reader.sha256(), reader.sha256());
}

TEST_F(CsvFile, LargerThanTheBufferKeepsEveryRow) {
  const std::size_t rows = 200000;
  std::string text = "i,square\n";
  for (std::size_t i = 0; i < rows; ++i)
    text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
  ASSERT_GT(text.size(), 4 * CsvScanner::default_buffer_size);
  CsvReader reader(file(text));
  std::span<const std::string_view> cells;
  std::size_t count = 0;
  for (; reader.next(cells); ++count) {
    if (count == 0) {
      EXPECT_THROW((void)reader.sha256(), Error);  // not all was hashed yet
    }
    ASSERT_EQ(reader.line(), count + 2);
    ASSERT_EQ(cells[0], std::to_string(count));
    ASSERT_EQ(cells[1], std::to_string(count * count));
  }
  EXPECT_EQ(count, rows);
  EXPECT_EQ(reader.sha256(), sha256_hex(text));
}

TEST_F(CsvFile, InLatin1IsReadAsUtf8AndHashedAsItIs) {
  std::string text =
      "stra\xDF"
      "e;preis\n";
  const std::size_t rows = 60000;  // more than a buffer, so that letters fall on its ends
  for (std::size_t i = 0; i < rows; ++i) text += std::string(i % 7, 'x') + "\xFC;5 \x80\n";
  const CsvFormat format{.separator = ';', .encoding = Encoding::latin1};
  const auto check = [&](CsvReader&& reader) {
    EXPECT_EQ(reader.header(), (Row{"straße", "preis"}));
    std::span<const std::string_view> cells;
    std::size_t count = 0;
    for (; reader.next(cells); ++count) {
      ASSERT_EQ(cells[0], std::string(count % 7, 'x') + "ü");
      ASSERT_EQ(cells[1], "5 €");
    }
    EXPECT_EQ(count, rows);
    EXPECT_EQ(reader.sha256(), sha256_hex(text));
    EXPECT_EQ(reader.bytes_read(), text.size());
    EXPECT_EQ(reader.format(), format);
  };
  check(CsvReader(file(text), format));
  check(CsvReader(file(text), [&](std::string_view start) {
    EXPECT_EQ(start, text);
    return format;
  }));
}

TEST_F(CsvFile, ThatCannotBeReadIsNamed) {
  const auto message = [](const std::string& path) -> std::string {
    try {
      const CsvReader reader(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      return error.what();
    }
    return "no error";
  };
  const std::string absent = folder_ / "absent.csv";
  EXPECT_EQ(message(absent),
            "cannot read " + absent +
                ": No such file or directory; give a file that is there and may be read");
  EXPECT_EQ(message(folder_), "cannot read " + folder_.string() +
                                  ": Is a directory; give a file that is there and may be read");
}

TEST(ParseNumber, TakesFiniteDecimalNumbers) {
  const auto number = [](std::string_view cell) -> std::optional<double> {
    double value = 0;
    if (!parse_number(cell, value)) return std::nullopt;
    return value;
  };
  EXPECT_EQ(number("12"), 12);
  EXPECT_EQ(number(" \t+1.5e3\t "), 1500);
  EXPECT_EQ(number("-.5"), -0.5);
  EXPECT_EQ(number("1."), 1);
  EXPECT_EQ(number("1e-400"), 0);
  EXPECT_EQ(number("4.9e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(number("1.7976931348623157e308"), std::numeric_limits<double>::max());
  for (const std::string_view bad :
       {"",    " ",   "+",   "-",    ".",        "e5",   "1,5",   "1 2",
        "nan", "NaN", "inf", "-inf", "infinity", "0x10", "1e999", "-1e999",
        "12a", "+-1", "-+1", "--1",  "1e",       "\n1",  "1\r"}) {
    EXPECT_EQ(number(bad), std::nullopt) << bad;
  }
}

TEST(ParseNumber, RoundsAsTheCLibraryDoes) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    char text[64];
    const double value = std::ldexp(random.normal(), static_cast<int>(random.below(200)) - 100);
    std::snprintf(text, sizeof text, "%.*g", 1 + static_cast<int>(random.below(20)), value);
    double found = 0;
    ASSERT_TRUE(parse_number(text, found)) << text;
    ASSERT_EQ(found, std::strtod(text, nullptr)) << text;
  }
}

TEST(CsvCell, IsReadBackAsItself) {
  EXPECT_EQ(csv_cell("plain text"), "plain text");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("5\" pipe"), "\"5\"\" pipe\"");
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    const Row row = {random_cell(random), random_cell(random)};
    const ScannedTable found =
        scan("a,b\n" + csv_cell(row[0]) + "," + csv_cell(row[1]) + "\n", 16, 16);
    ASSERT_EQ(found.rows.back(), row);
  }
}

}  // namespace
}  // namespace ellice
