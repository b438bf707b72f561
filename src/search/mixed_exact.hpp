#pragma once

#include <limits>
#include <vector>

#include "request/problem.hpp"
#include "search/exact_search.hpp"
#include "search/linear_question.hpp"
#include "solver/branch_and_bound.hpp"

namespace ellice {

struct MixedLayout;

/// The nearest certified row of one query under a linear model when whole numbers, levels,
/// categories, grids, charges per change, a limit of changes, rules or several parts of a question
/// take part: found by branch and bound, with proof. Threads may share it.
class MixedExact {
 public:
  /// All must outlive it.
  MixedExact(const Problem& problem, const Assembler& assembler, const LinearQuestion& question,
             const ExactOptions& options);

  /// Whether a query needs this search: something discrete may change, changes are counted, there
  /// are rules or several parts.
  [[nodiscard]] bool is_needed(const FeasibleSet& feasible) const;

  /// Sets of features, each the changes of an earlier plan.
  using Plans = std::vector<std::vector<std::size_t>>;

  enum class Outcome {
    answered,
    impossible,  // proved by the search: no row passes
    blocked,     // the search ended, or what it found did not pass as a row; see the message
  };
  /// Fills in the nearest row that changes no earlier plan's whole set.
  [[nodiscard]] Outcome answer(Answer& result, const FeasibleSet& feasible,
                               const Plans& earlier) const;

 private:
  struct Found;
  [[nodiscard]] MixedProblem problem_for(const MixedLayout& layout, const FeasibleSet& feasible,
                                         const Plans& earlier, double margin) const;
  /// The best of the feasible set's branches.
  [[nodiscard]] Found search(const FeasibleSet& feasible, const Plans& earlier,
                             double margin) const;
  /// `feasible` is the branch with its display grids, `unrounded` without.
  [[nodiscard]] Found search_branch(const FeasibleSet& unrounded, const FeasibleSet& feasible,
                                    const Plans& earlier, double margin) const;
  [[nodiscard]] Found fewest(MixedProblem mixed) const;
  [[nodiscard]] MixedResult solve(const MixedProblem& mixed) const;
  /// At the ε that is less by what a solve loses: what it rules out holds (theory.md, Result 51).
  [[nodiscard]] Found search_surely(const FeasibleSet& feasible, const Plans& earlier,
                                    double margin) const;
  /// A search by which nothing is proved, for queries from which moves are too long to prove
  /// anything: they start, and end, near the training rows.
  [[nodiscard]] Found search_near(const FeasibleSet& feasible, const Plans& earlier) const;

  /// Where a limit ended the search before it had found anything, which near the largest ε it does:
  /// the answer that is not dearer than a row which was looked for by its robustness alone. `bound`
  /// is what the search has proved. False if there is no such row.
  [[nodiscard]] bool answer_below_robust_row(Answer& result, const FeasibleSet& feasible,
                                             const Plans& earlier, double bound) const;

  const Problem* problem_;
  const Assembler* assembler_;
  const LinearQuestion* question_;
  ExactOptions options_;
  bool starts_near_ = false;
  double cutoff_ = std::numeric_limits<double>::infinity();  // only rows that cost less count
};

}  // namespace ellice
