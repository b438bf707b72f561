#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ellice {

/// A number with its spread over the folds; nothing where it is undefined.
struct Measured {
  std::optional<double> mean = {};
  double spread = 0;
};

/// A table of the study: what was measured beside what the paper printed, in four forms.
struct ResultTable {
  enum class Better { neither, higher, lower };

  struct Column {
    std::string group = {};  // a heading over neighbouring columns of the same group
    std::string name = {};
    Better better = Better::neither;
    int decimals = 3;
  };
  struct Cell {
    Measured ours = {};
    Measured paper = {};    // nothing: the paper has no such number
    std::string note = {};  // in place of a number
  };
  struct Row {
    std::vector<std::string> labels = {};  // as many as `labels`
    std::vector<Cell> cells = {};          // as many as `columns`
  };

  std::string name = {};     // of its files: lower case, digits, hyphens
  std::string caption = {};  // one sentence
  std::vector<std::string> labels = {};
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};

  /// Whether the measured mean is at least as good as the paper's, where both are known and one of
  /// them can be better.
  [[nodiscard]] std::optional<bool> is_as_good(const Row& row, std::size_t column) const;
};

[[nodiscard]] std::string to_text(const ResultTable& table);
[[nodiscard]] std::string to_csv(const ResultTable& table);
[[nodiscard]] std::string to_latex(const ResultTable& table);
[[nodiscard]] std::string to_html(const ResultTable& table);

}  // namespace ellice
