#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ellice/rashomon/variant.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/solver/nearest.hpp"

namespace ellice {

/// Answers with the nearest of some training rows, Euclidean in model space: the last step of the
/// comparison methods that need training rows.
///
/// corrected: the row must meet the query's constraints; without one the status is not_found. A
/// query that is already certified is its own answer.
/// published: constraints are not looked at, and a query without an answer gets itself.
class SupportedRows {
 public:
  /// `rows` as in Dataset::raw; those of `chosen` may be answers. `problem` must outlive this.
  SupportedRows(const Problem& problem, RowMatrixArg rows, const std::vector<Index>& chosen,
                Variant variant);

  /// Of the chosen rows, only the `count` nearest are looked at, for the first that passes (indices
  /// of the rows as given).
  void look_at(Index count, std::vector<bool> passes);

  [[nodiscard]] std::vector<Recourse> answer(const std::vector<Query>& queries,
                                             const Execution& execution,
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

/// Fills in x0 itself, as the paper's runs did for everything that they did not find.
void return_query(const Assembler& assembler, Recourse& answer, const FeasibleSet& feasible);

/// The constraints of one query, with the problem's display steps for answers that are rounded.
enum class Rounding { as_displayed, none };
[[nodiscard]] FeasibleSet feasible_set(const Problem& problem, const Query& query,
                                       Rounding rounding);

/// Raw numbers of a point, brought into no range: a published answer. Features that did not move
/// keep the query's value; whole numbers and levels are the nearest.
[[nodiscard]] Vector decode_freely(const FeasibleSet& feasible, VectorArg z);

}  // namespace ellice
