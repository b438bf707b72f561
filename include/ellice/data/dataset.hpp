#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ellice/core/execution.hpp"
#include "ellice/core/types.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// Labelled rows in original units. raw(i, j) is the number of feature j in row i, or the index of
/// its level; labels[i] is 1 for the favourable class and 0 otherwise, or the index of the row's
/// class where the schema lists the target's classes.
struct Dataset {
  Schema schema = {};
  RowMatrix raw = {};  // rows x schema.features
  std::vector<int> labels = {};
  Vector weights = {};                     // of the rows, where there are any
  std::vector<std::string> classes = {};   // spelling of each class
  std::map<std::string, Value> fill = {};  // what empty cells became, by feature (median policy)
  std::map<std::string, std::size_t> dropped = {};  // reason -> rows left out while reading
  std::string source = {};                          // file, recipe or generator
  std::string sha256 = {};                          // of the bytes that were read

  [[nodiscard]] Index rows() const { return raw.rows(); }
};

/// Finds the schema's columns in a header by name and turns a row of text into raw numbers (see
/// Dataset::raw). Shared by training data and queries. A cell is a level when its text is the
/// level's, or when both are the same number ("1.0" and "1"), or by `merge_levels` the same but for
/// case and blanks. A cell of blanks only is an empty one, and so is one of `missing_values`.
/// Numbers are spelled as the source's format says, or taken as they are from a source that holds
/// them. Schema and source must outlive the parser.
class RowParser {
 public:
  enum class Columns {
    exact,    // target and dropped columns may be absent; any other unknown column is an error
    labelled  // the same, and the target must be there
  };
  /// `weights`, if not empty, names a column with a number > 0 for each row, which is no feature.
  RowParser(const Schema& schema, RowSource& source, Columns columns,
            const std::string& weights = {});

  /// Writes one raw value per feature; a missing cell becomes NaN where the policy allows it.
  /// Errors name file, line, column, the text found and what was expected.
  void parse(std::span<const std::string_view> cells, std::span<double> raw) const;
  /// The text of the target cell (labelled only).
  [[nodiscard]] std::string_view target(std::span<const std::string_view> cells) const;
  /// Of the row; 1 where no column has weights.
  [[nodiscard]] double weight(std::span<const std::string_view> cells) const;

 private:
  struct Column {
    std::size_t feature = 0;
    std::vector<std::size_t> cells = {};  // one, or the columns of a one-hot group
    std::unordered_map<std::string_view, std::size_t> levels = {};  // views into the schema
    std::unordered_map<double, std::size_t> numbers = {};           // levels that are numbers
    std::unordered_map<std::string, std::size_t> folded = {};       // levels that may be merged
    const std::vector<std::string>* symbols = nullptr;              // beside its numbers
    bool is_taken = false;                                          // from the source's numbers
  };
  [[nodiscard]] double parse_cell(const Feature& feature, const Column& column,
                                  std::span<const std::string_view> cells) const;
  [[nodiscard]] double parse_group(const Feature& feature, const Column& column,
                                   std::span<const std::string_view> cells) const;
  [[nodiscard]] double parse_number_cell(const Feature& feature, const Column& column,
                                         std::string_view cell) const;
  [[nodiscard]] double take_number(const Feature& feature, const Column& column,
                                   double value) const;
  /// Of a number that was read: empty by `missing_values`, or not whole where it must be?
  [[nodiscard]] double checked(const Feature& feature, const Column& column, double value,
                               std::string_view cell) const;
  [[nodiscard]] double parse_level(const Feature& feature, const Column& column,
                                   std::string_view cell) const;
  [[nodiscard]] double parse_empty(const Feature& feature, const Column& column,
                                   std::string_view name, std::string_view cell) const;
  [[nodiscard]] bool read_number(const Column& column, std::string_view cell, double& value) const;
  [[nodiscard]] bool is_missing(std::string_view cell) const;

  const Schema* schema_;
  const RowSource* source_;
  std::vector<Column> columns_;
  std::size_t target_ = 0;
  std::string weights_name_;
  Column weights_;
  bool is_plain_ = true;  // numbers as this program writes them
  std::unordered_set<std::string_view> missing_texts_;
  std::vector<double> missing_numbers_;
};

/// Which values of the target are classes.
enum class ClassValues {
  of_schema,  // those that the schema lists; else two, the favourable one and the rest
  all,        // those that the schema lists; else each value that occurs, in order
};

/// Reads all rows; fills empty cells by the schema's policy; needs rows of each class. The median
/// is the lower one, so that it is a value that occurs; the most frequent level is the first of
/// equals. Under MissingPolicy::level a categorical feature with empty cells gains the level
/// missing_level in the data set's schema. With more than two target values class 0 is "not
/// <favourable>"; a label that differs from the favourable one in case or blanks only is an error.
/// Classes that were found (ClassValues::all), by number or by text, stand in the data set's
/// schema. `weights`, if not empty, names the column with the weights of the rows, which stands
/// under `drop` in the data set's schema, so that it is no part of queries.
[[nodiscard]] Dataset read_dataset(CsvReader& source, const Schema& schema,
                                   const Progress& progress = {},
                                   ClassValues values = ClassValues::of_schema,
                                   const std::string& weights = {});
/// The same for rows that do not come from a file; `sha256` is left empty.
[[nodiscard]] Dataset read_dataset(RowSource& source, const Schema& schema,
                                   const Progress& progress = {},
                                   ClassValues values = ClassValues::of_schema,
                                   const std::string& weights = {});

/// The rows with these indices, in this order.
[[nodiscard]] Dataset select_rows(const Dataset& data, const std::vector<Index>& rows);

/// How the rows of a model were taken from its data, so that the same rows can be taken again.
struct Selection {
  std::string recipe = {};  // built-in data set, or empty
  bool balance = false;     // under-sample the larger classes
  double holdout = 0;       // share kept out of fitting
  std::uint64_t seed = 0;
  std::optional<double> validation = {};  // share that only decides when fitting stops

  static void fields(auto& self, auto&& visit) {
    visit("recipe", self.recipe, any_value(), "built-in data set that was used");
    visit("balance", self.balance, any_value(),
          "under-sample the larger classes to the size of the smallest");
    visit("holdout", self.holdout, from_to_below(0, 1),
          "share of the rows kept out of fitting, by class");
    visit("seed", self.seed, any_value(), "seed of every random choice");
    visit("validation", self.validation, from_to_below(0, 1),
          "share of the other rows, by class, that decides when a network's training stops; 0.2 "
          "for networks unless given, of no use to logistic models");
  }
  bool operator==(const Selection&) const = default;
};

struct SelectedRows {
  std::vector<Index> fit = {};
  std::vector<Index> holdout = {};
  std::vector<Index> validation = {};
  std::size_t dropped_by_balancing = 0;
};

/// Rows in the order of the file; balanced and split by streams of their own from the seed.
[[nodiscard]] SelectedRows apply_selection(const Dataset& data, const Selection& selection);

}  // namespace ellice
