#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace ellice
