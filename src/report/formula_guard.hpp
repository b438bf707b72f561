#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ellice {

/// Whether a spreadsheet that opens a CSV file would take the cell for a formula: it begins with
/// one of = + - @, a tab or a carriage return, and is no plain number.
[[nodiscard]] bool is_formula(std::string_view cell);

/// The text behind an apostrophe that a guard has put before a formula; any other as it is.
[[nodiscard]] std::string_view without_guard(std::string_view cell);

/// Texts on their way into cells: counts those that are formulas, and disarms them on request by an
/// apostrophe before them, which spreadsheets take for "text".
class FormulaGuard {
 public:
  explicit FormulaGuard(bool disarms = false) : disarms_(disarms) {}

  /// The cell as a CSV file holds it.
  [[nodiscard]] std::string cell(std::string_view text);

  /// Counts in what another guard has found after this one.
  void add(const FormulaGuard& later) {
    if (found_ == 0) first_ = later.first_;
    found_ += later.found_;
  }

  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  bool disarms_;
  std::size_t found_ = 0;
  std::string first_;
};

}  // namespace ellice
