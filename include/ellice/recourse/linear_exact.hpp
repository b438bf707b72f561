#pragma once

#include <memory>
#include <vector>

#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/solver/box_projection.hpp"
#include "ellice/solver/cone_projection.hpp"

namespace ellice {

/// The nearest certified point for a linear model, proved. For the cost l2 a whole block of queries
/// is first projected without its ranges (two matrix products around scalar solves); where the
/// answer leaves a query's box, and for the other costs, the box is solved by Newton's method. Then
/// the answer is rounded onto the grids, checked and certified like any other.
///
/// Statuses: optimal when nothing was held back and the certified gap is at most 1e-9; certified
/// with its gap otherwise, the lower bound being that of the relaxation in which held features and
/// grids are free; infeasible when even the relaxation is, with the proof; not_found when only the
/// held problem is infeasible.
class LinearExact final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for what this method does not do.
  explicit LinearExact(const Problem& problem);

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  struct Solution;
  [[nodiscard]] Recourse answer(const Query& query, const FeasibleSet& feasible,
                                const ConeProjection* free) const;
  [[nodiscard]] Solution solve(const FeasibleSet& feasible, const ConeProjection* free) const;
  [[nodiscard]] double lower_bound(const FeasibleSet& feasible, const Solution& searched) const;
  /// Makes the solution a row: lifted above rounding, on the grids, checked and certified.
  [[nodiscard]] bool complete(Recourse& result, const FeasibleSet& feasible,
                              const Solution& solution) const;
  [[nodiscard]] Vector lift(const Solution& solution, const Vector& query, double margin) const;
  /// What rounding errors of g are relative to, as in a certificate.
  [[nodiscard]] double scale(VectorArg point) const;
  [[nodiscard]] BoxProblem box_problem(const FeasibleSet& feasible, const Box& box) const;
  void explain_no_answer(Recourse& result, const FeasibleSet& feasible) const;

  const Problem* problem_;
  Assembler assembler_;
  RashomonEllipsoid set_;
  BoxFactor box_;
  std::vector<bool> searched_;        // columns that some query may move
  std::unique_ptr<ConeFactor> cone_;  // for cost l2, where something may move
  SeparableCost cost_;
};

/// The set of models of a problem with a linear one. Throws Error{argument} for a network and for a
/// set other than last-layer, saying which method to use.
[[nodiscard]] RashomonEllipsoid linear_set(const Problem& problem);

/// The cost in the form that the solver minimises; l_mix is minimised through its square.
[[nodiscard]] SeparableCost separable_cost(const Cost& cost, const Encoder& encoder);

}  // namespace ellice
