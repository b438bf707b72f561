#pragma once

// What names and values of columns suggest, by a table of words that is data (draft_words.inc).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ellice {

/// One entry of the table that fitted: what it suggests, and why.
struct WordMatch {
  std::string_view action = {};
  std::string_view meaning = {};
  std::string_view word = {};  // that was found
};

/// A sign beside numbers and the unit that it means.
struct NumberSign {
  std::string sign = {};
  std::string unit = {};
};

/// The first entry whose words occur in the name, of those with one of these actions.
[[nodiscard]] std::optional<WordMatch> match_name(std::string_view name,
                                                  const std::vector<std::string_view>& actions);

/// The first entry «values …» such that every value has one of its words; `action` is what follows.
[[nodiscard]] std::optional<WordMatch> match_values(const std::vector<std::string>& values);

/// The values in the order of a ladder on which each has its own rung, with the ladder's name;
/// nothing where there is none.
struct LadderMatch {
  std::vector<std::string> levels = {};
  std::string_view meaning = {};
};
[[nodiscard]] std::optional<LadderMatch> match_ladder(const std::vector<std::string>& values);

/// Whether the text means that nothing is known: in any column, or in one of numbers.
enum class MissingMark { none, among_numbers, everywhere };
[[nodiscard]] MissingMark missing_mark(std::string_view cell);

/// The sign, longest first, at either end of a text; nothing where there is none.
[[nodiscard]] const NumberSign* find_sign(std::string_view cell);

/// «_marital_status_»: small letters without accents, split where a new word begins.
[[nodiscard]] std::string split_name(std::string_view name);

}  // namespace ellice
