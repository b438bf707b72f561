#pragma once

#include <optional>
#include <vector>

#include "search/linear_question.hpp"
#include "search/row_reach.hpp"

namespace ellice {

/// Proofs that the relaxation of a set, without grids and with categories in parts, holds nothing
/// robust: those that a file can show (theory.md, Result 10 and Result 16).
class ProofSearch {
 public:
  /// All must outlive it.
  ProofSearch(const Problem& problem, const LinearQuestion& question, RowReach& reach)
      : problem_(&problem), question_(&question), reach_(&reach) {}

  /// That a branch has no answer, or nothing. What is found is told to the reach.
  [[nodiscard]] std::optional<InfeasibilityProof> find(const FeasibleSet& branch) const;
  /// The same by half-spaces that the reach has met before.
  [[nodiscard]] std::optional<InfeasibilityProof> known(const FeasibleSet& branch) const;
  /// One for each branch, by half-spaces that the reach has met before, or else a search; nothing
  /// where one of them has none.
  [[nodiscard]] std::vector<InfeasibilityProof> find_all(const FeasibleSet& feasible) const;

 private:
  [[nodiscard]] std::optional<ReachPlane> plane(const FeasibleSet& branch) const;
  [[nodiscard]] std::optional<InfeasibilityProof> written(const ReachPlane& plane,
                                                          const FeasibleSet& branch) const;

  const Problem* problem_;
  const LinearQuestion* question_;
  RowReach* reach_;
};

}  // namespace ellice
