#include "data/held_rows.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "support/seeds.hpp"

namespace ellice {
namespace {

/// What a source says from one row to the next: its cells or the error, and where that is.
struct Said {
  std::vector<std::string> cells = {};
  std::string error = {};
  bool ends_all = false;
  std::string place = {};
  bool operator==(const Said&) const = default;
};

/// Asks until there are no rows, or none can be read.
std::vector<Said> ask(RowSource& source) {
  std::vector<Said> all;
  std::span<const std::string_view> cells;
  while (true) {
    Said said;
    try {
      if (!source.next(cells)) return all;
      said.cells.assign(cells.begin(), cells.end());
    } catch (const RowError& error) {
      said.error = error.what();
    } catch (const Error& error) {
      said.error = error.what();
      said.ends_all = true;
    }
    said.place = source.place();
    all.push_back(std::move(said));
    if (all.back().ends_all) return all;
  }
}

class HeldRowsTest : public ::testing::Test {
 protected:
  HeldRowsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ellice-held-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~HeldRowsTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text) {
    const std::string path = folder_ / "table.csv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::filesystem::path folder_;
};

/// A table with quoted cells, cells over several lines, rows that are refused and, now and then, an
/// end in the midst of a cell.
std::string random_table(Random& random) {
  static const std::vector<std::string> cells = {"1",       "-2.5", "",         "ä",
                                                 "\"a,b\"", " x ",  "\"\"\"\"", "\"two\nlines\""};
  static const std::vector<std::string> refused = {"1,2", "\n", "1,2,3,4", "1,\xff,3"};
  std::string text = "a,b,c\n";
  const std::uint64_t rows = random.below(40);
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (random.below(10) == 0) {
      text += refused[random.below(refused.size())] + "\n";
      continue;
    }
    for (int j = 0; j < 3; ++j) text += (j == 0 ? "" : ",") + cells[random.below(cells.size())];
    text += "\n";
  }
  if (random.below(3) == 0) text += "1,2,\"3\n4,5,6\n";
  return text;
}

TEST_F(HeldRowsTest, SayWhatTheFileSaysHoweverTheyAreCut) {
  for (const std::uint64_t seed : testing_support::seeds(0, 200)) {
    Random random(seed);
    const std::string path = file(random_table(random));
    CsvReader whole(path);
    const std::vector<Said> expected = ask(whole);
    CsvReader source(path);
    HeldRows held(source);
    std::vector<Said> found;
    while (!held.are_last()) {
      held.take(source, 1 + random.below(20));
      EXPECT_EQ(held.name(), whole.name());
      EXPECT_EQ(held.header(), whole.header());
      const std::size_t before = found.size();
      for (Said& said : ask(held)) found.push_back(std::move(said));
      EXPECT_EQ(found.size() - before, held.rows()) << "seed " << seed;
    }
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST_F(HeldRowsTest, AreTheLastWhereTheFileHasNoMore) {
  CsvReader source(file("a\n1\n2\n3\n"));
  HeldRows held(source);
  held.take(source, 2);
  EXPECT_EQ(held.rows(), 2U);
  EXPECT_FALSE(held.are_last());
  held.take(source, 2);
  EXPECT_EQ(held.rows(), 1U);
  EXPECT_TRUE(held.are_last());
}

}  // namespace
}  // namespace ellice
