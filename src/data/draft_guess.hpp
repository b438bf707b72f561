#pragma once

// What the draft of a schema makes of one column.

#include <optional>
#include <string>
#include <vector>

#include "data/draft.hpp"
#include "data/draft_column.hpp"

namespace ellice {

/// Why the column is no feature, or nothing.
[[nodiscard]] std::optional<std::string> reason_to_drop(const std::string& name,
                                                        const ColumnSummary& column);

/// Whether the column only tells rows from each other, by its name and its values.
[[nodiscard]] bool is_identifier(const std::string& name, const ColumnSummary& column);

/// The feature that the column is, and what was guessed about it.
class FeatureGuesser {
 public:
  FeatureGuesser(const ColumnSummary& column, const CellReader& reader, bool merge_levels,
                 std::vector<Guess>& guesses)
      : column_(&column), reader_(&reader), merges_(merge_levels), guesses_(&guesses) {}

  [[nodiscard]] Feature guess(const std::string& name);

 private:
  void guess_kind();
  [[nodiscard]] std::vector<std::string> levels_found();
  void guess_levels(std::vector<std::string> levels);
  void order_two(std::vector<std::string>& levels);
  void guess_unit();
  void guess_step();
  void limit_levels();
  void doubt_low_mark();
  void say(std::string what, std::string why, bool is_doubtful = false);

  const ColumnSummary* column_;
  const CellReader* reader_;
  bool merges_;
  std::vector<Guess>* guesses_;
  Feature feature_;
};

/// What may be done to a feature, by its name and its levels: sets immutable, is_protected,
/// direction and slow.
void guess_freedom(Feature& feature, std::vector<Guess>& guesses);

}  // namespace ellice
