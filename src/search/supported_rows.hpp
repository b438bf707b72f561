#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ellice/sets/variant.hpp"
#include "search/generator.hpp"
#include "solver/nearest.hpp"

namespace ellice {

/// Answers with the nearest of some training rows, Euclidean in model space: the last step of the
/// comparison methods that need training rows.
///
/// corrected: the row must meet the query's constraints; without one the status is not_found. A
/// query that meets the method's own rule is its own answer.
/// published: constraints are not looked at, and a query without an answer gets itself.
class SupportedRows {
 public:
  /// `rows` as in Dataset::raw; those of `chosen` may be answers. `problem` must outlive this.
  SupportedRows(const Problem& problem, RowMatrixArg rows, const std::vector<Index>& chosen,
                Variant variant);

  /// Of the chosen rows, only the `count` nearest are looked at, for the first that passes (indices
  /// of the rows as given).
  void look_at(Index count, std::vector<bool> passes);

  /// `is_enough` says of a point of model space whether it is what the method looks for; asked in
  /// the corrected variant only.
  [[nodiscard]] std::vector<Answer> answer(const std::vector<Query>& queries,
                                           const Execution& execution,
                                           const std::function<bool(const Vector&)>& is_enough,
                                           const std::function<std::string()>& why_nothing) const;

 private:
  [[nodiscard]] std::optional<Index> nearest(const FeasibleSet& feasible) const;

  const Problem* problem_;
  Variant variant_;
  Assembler assembler_;
  std::vector<Index> chosen_;
  RowMatrix raw_;
  std::optional<NearestRows> search_;  // none where no row was chosen
  Index looked_at_ = 0;                // 0: all
  std::vector<bool> passes_;
};

}  // namespace ellice
