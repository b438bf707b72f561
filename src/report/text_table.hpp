#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ellice {

/// Columns that line up in a terminal: text to the left, numbers to the right; widths are counted
/// in characters, not bytes; control characters of cells are shown as escapes.
class TextTable {
 public:
  enum class Align { left, right };

  explicit TextTable(std::vector<Align> columns);

  void header(std::vector<std::string> cells);
  void row(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
  bool has_header_ = false;
};

/// Columns on a terminal that a UTF-8 text takes (one per code point; combining marks take none).
[[nodiscard]] std::size_t display_width(std::string_view text);

/// Lines of at most so many columns, broken at blanks that do not stand between digits; a longer
/// word keeps its line. At least one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// A whole number with thin groups of three: 12 345.
[[nodiscard]] std::string grouped(std::size_t number);

/// A number for reading, with so many significant digits: 0.0123, 1.23e-07, 12300.
[[nodiscard]] std::string rounded(double value, int significant = 4);
/// The same with as many digits, four or more, as it takes to tell it from another number.
[[nodiscard]] std::string rounded_beside(double value, double other);

}  // namespace ellice
