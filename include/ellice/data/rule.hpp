#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ellice/core/fields.hpp"

namespace ellice {

/// A linear rule between number features in original units, Σ coefficientⱼ·xⱼ (relation) bound, as
/// «debt <= 0.4 * income» writes it. Binds the counterfactual, never the query or the data.
struct Rule {
  enum class Relation { at_most, at_least, equal };

  std::string text = {};                                   // as written
  std::vector<std::pair<std::string, double>> terms = {};  // feature, coefficient; no feature twice
  Relation relation = Relation::at_most;
  double bound = 0;

  bool operator==(const Rule&) const = default;
};

/// Parses «a * x + y - 3 <= 2 * z»: sums of numbers, features and number * feature (or feature *
/// number) on both sides of <=, >= or ==. A feature whose name is not a plain identifier is written
/// in back quotes. Throws Error{input} naming the text and the place; does not know which features
/// exist.
[[nodiscard]] Rule parse_rule(std::string_view text);

/// What a feature of a counterfactual does, compared with the query's own value.
struct Move {
  enum class Kind {
    rises,    // above the query's value, by at least `by`
    falls,    // below it
    changes,  // any other value
    stays,    // the query's value
    becomes,  // the level; as a condition, of a query with another one
  };
  Kind kind = Kind::changes;
  std::string feature = {};
  double by = 0;
  std::string level = {};  // as written: the name of a level, or a number

  bool operator==(const Move&) const = default;
};
template <>
struct EnumNames<Move::Kind> {
  static constexpr std::array<std::string_view, 5> names = {"rises", "falls", "changes", "stays",
                                                            "becomes"};
};

/// «if education rises then age rises by at least 2»: binds the counterfactual wherever the
/// condition is true of it.
struct Implication {
  std::string text = {};  // as written
  Move condition = {};    // rises, falls, changes, becomes
  Move consequence = {};  // rises, falls, stays, becomes

  bool operator==(const Implication&) const = default;
};

/// Each implication doubles the cases that a search must look at.
inline constexpr std::size_t most_implications = 6;

/// Whether a constraint's text is meant as an implication: it begins with the word «if».
[[nodiscard]] bool is_implication(std::string_view text);

/// Parses «if F rises|falls|changes|becomes LEVEL then F rises|falls [by at least N]|stays|becomes
/// LEVEL». Names that are not plain identifiers stand in back quotes or double quotes. Throws
/// Error{input} naming the text and the place; does not know which features exist.
[[nodiscard]] Implication parse_implication(std::string_view text);

}  // namespace ellice
