#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "request/problem.hpp"
#include "search/linear_question.hpp"
#include "solver/cone_projection.hpp"

namespace ellice {

/// The cost in the form that the solver minimises; l_mix is minimised through its square.
[[nodiscard]] SeparableCost separable_cost(const Cost& cost, const Encoder& encoder);

/// What the answers of one thread share, one after the other, so that each allocates less.
struct NumberScratch {
  BoxProblem box = {};
  std::unique_ptr<RobustOracle> oracle = {};  // of ellipsoids, which remember nothing
};

/// The nearest row of one query where nothing is discrete, nothing is counted and the question has
/// one part: boxes, solved to their optimum. Threads may share it.
class NumberSearch {
 public:
  /// All must outlive it.
  NumberSearch(const Problem& problem, const Assembler& assembler, const LinearQuestion& question);

  /// Rows without their ranges, all at once; nothing where the cost or the set does not allow it.
  [[nodiscard]] std::optional<ConeBatch> project_rows(const RowMatrix& points) const;

  enum class Outcome {
    answered,
    none,     // no box has a robust point, as far as it was found
    refused,  // what was found did not pass as a row: see the message
  };
  /// `free`: the projection without ranges, where it was made.
  [[nodiscard]] Outcome answer(Answer& result, const FeasibleSet& feasible,
                               const ConeProjection* free, NumberScratch& scratch) const;

 private:
  struct Solution;
  class Guide;
  [[nodiscard]] Solution solve(const FeasibleSet& feasible, const ConeProjection* free,
                               NumberScratch& scratch) const;
  [[nodiscard]] Solution solve_box(const FeasibleSet& feasible, const Box& box,
                                   const ConeProjection* free, double epsilon,
                                   NumberScratch& scratch) const;
  /// `scale` of g at the point that was found.
  [[nodiscard]] double lower_bound(const FeasibleSet& feasible, const Solution& searched,
                                   double scale, NumberScratch& scratch) const;
  /// Makes the solution, `found` there by the oracle, a row: lifted above rounding, on the grids,
  /// checked and certified.
  [[nodiscard]] bool complete(Answer& result, const FeasibleSet& feasible, const Solution& solution,
                              RobustOracle& oracle, const Support& found,
                              NumberScratch& scratch) const;
  [[nodiscard]] Vector lift(RobustOracle& oracle, const Solution& solution, const Support& found,
                            const Vector& query, double margin) const;

  const Problem* problem_;
  const Assembler* assembler_;
  const LinearQuestion* question_;
  Vector weights_;  // of the columns
  SeparableCost cost_;
  std::unique_ptr<ConeFactor> cone_;  // for one ellipsoid and squares, where something may move
};

}  // namespace ellice
