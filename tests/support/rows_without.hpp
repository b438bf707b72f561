#pragma once

// Rows that some constraints leave, and the best of them, from the definitions alone: a second
// opinion on what searches say of rows that do not exist.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"
#include "request/problem.hpp"
#include "support/plain_score.hpp"

namespace ellice::problem_zoo {

/// The constraints of one person by name, each of which can be left out.
class PlainRows {
 public:
  PlainRows(const Problem& problem, std::size_t query_index, Vector query,
            std::optional<int> max_changes);

  [[nodiscard]] const Vector& query() const { return query_; }

  /// All names.
  [[nodiscard]] std::set<std::string> names() const;

  /// Whether a row is one under the named constraints alone.
  [[nodiscard]] bool allows(const Vector& row, const std::set<std::string>& kept) const;

  /// Values of a feature to try, its own first: all of them where they are finitely many, and some
  /// near, far and at the ends where they are not.
  [[nodiscard]] std::vector<double> candidates(std::size_t j,
                                               const std::set<std::string>& kept) const;

  /// Whether a feature is a number that may be anything between two of its values.
  [[nodiscard]] bool is_continuous(std::size_t j, const std::set<std::string>& kept) const;

  [[nodiscard]] bool allows_value(std::size_t j, double to,
                                  const std::set<std::string>& kept) const;

 private:
  using Named = std::pair<std::string, std::function<bool(double)>>;

  [[nodiscard]] std::string limit_name() const;

  [[nodiscard]] std::pair<double, double> training_range(std::size_t j) const;

  [[nodiscard]] std::vector<double> ends(std::size_t j) const;

  [[nodiscard]] std::vector<Named> of_feature(std::size_t j) const;

  const Problem* problem_;
  const Schema* schema_;
  std::size_t index_;
  Vector query_;
  std::optional<int> max_changes_;
};

/// The largest score at ε over the rows that are tried: all combinations of candidates, and from
/// the best ones along every number. An upper bound of nothing, but of what is finite the maximum.
struct Effort {
  std::size_t rows = 20000;  // combinations
  std::size_t starts = 4;    // from which numbers are moved
  double finest = 1e-6;      // step
};
struct PlainBest {
  double score = -std::numeric_limits<double>::infinity();
  Vector row = {};
};

PlainBest best_plain_row(const PlainRows& rows, const PlainScore& score, double epsilon,
                         const std::set<std::string>& kept, const Effort& effort);

}  // namespace ellice::problem_zoo
