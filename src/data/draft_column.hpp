#pragma once

// What one pass over a column tells the draft of a schema, in memory that does not grow with the
// rows.

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ellice/data/csv_format.hpp"

namespace ellice {

/// How the cells of a table are read: which mean nothing, and how numbers are spelled.
class CellReader {
 public:
  /// The format must outlive it.
  CellReader(const CsvFormat& format, const std::vector<std::string>& missing_values);

  /// Whether numbers are spelled as this program writes them.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  [[nodiscard]] bool is_missing(std::string_view cell) const;
  [[nodiscard]] bool read_number(std::string_view cell, const std::vector<std::string>& symbols,
                                 double& value) const;
  [[nodiscard]] const std::vector<std::string>& symbols_of(const std::string& column) const;

 private:
  const CsvFormat* format_;
  bool is_plain_;
  std::unordered_set<std::string> missing_;
};

struct ColumnSummary {
  static constexpr std::size_t most_values = 1000;  // distinct texts remembered
  /// Grids that numbers may lie on, the coarsest first.
  static constexpr std::array<double, 13> grids = {1e6, 5e5, 1e5, 5e4, 1e4, 5e3, 1e3,
                                                   500, 100, 50,  10,  5,   0.5};

  std::size_t rows = 0;
  std::size_t empty = 0;
  std::size_t numbers = 0;
  bool whole = true;         // every number is a whole number
  bool more_values = false;  // than `values` holds
  bool counts_up = true;     // each cell is the whole number after the one before
  std::size_t rises = 0;     // numbers that are above the one before
  std::unordered_map<std::string, std::size_t> values = {};  // rows of each
  std::string text = {};                                     // the first cell that is no number
  double least = 0;
  double greatest = 0;
  double last = 0;
  std::size_t nonzero = 0;                             // numbers
  std::array<std::size_t, grids.size()> on_grid = {};  // of them
  std::size_t dates = 0;                               // cells that look like one
  std::size_t leading_zeros = 0;  // digits only, more than one, of which the first is 0
  std::size_t digits_only = 0;
  std::size_t shortest = std::string::npos;  // cell
  std::size_t longest = 0;
  std::size_t words = 0;  // in all cells

  void add(std::string_view cell, const CellReader& reader,
           const std::vector<std::string>& symbols);

  [[nodiscard]] std::size_t filled() const { return rows - empty; }
  [[nodiscard]] bool is_number() const { return numbers == filled(); }
  [[nodiscard]] std::vector<std::string> sorted_values() const;
  /// Distinct values, for each row that has one; 1 where more than are remembered.
  [[nodiscard]] double distinct_share() const;

 private:
  void add_number(double value);
  void add_text(std::string_view cell);
};

}  // namespace ellice
