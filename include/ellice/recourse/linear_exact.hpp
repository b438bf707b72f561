#pragma once

#include <memory>
#include <vector>

#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/linear_cones.hpp"
#include "ellice/recourse/mixed_exact.hpp"
#include "ellice/solver/cone_projection.hpp"

namespace ellice {

/// The nearest certified point for a linear model, proved. For the cost l2 a whole block of queries
/// is first projected without its ranges (two matrix products around scalar solves); where the
/// answer leaves a query's box, and for the other costs, the box is solved by Newton's method.
/// Whole numbers, levels, categories, grids, rules, limits of changes and several models are left
/// to MixedExact. The answer is checked and certified like any other.
///
/// Statuses: optimal when the certified gap is at most 1e-9; certified with its gap otherwise,
/// where the search ended early or numbers were rounded for display; infeasible when even the
/// relaxation without grids and with categories in parts is, with the proof; not_found with a
/// message when only the discrete values or limits rule everything out, since that is proved by
/// exhausting the search, which no file can show.
class LinearExact final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for what this method does not do.
  explicit LinearExact(const Problem& problem, const ExactOptions& options = {});

  /// Up to `plans` answers per query, in the order of the queries, plans counted from 0.
  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  struct Solution;
  [[nodiscard]] std::vector<Recourse> answer(const Query& query, const FeasibleSet& feasible,
                                             const ConeProjection* free) const;
  /// The nearest answer where nothing is discrete.
  void answer_numbers(Recourse& result, const FeasibleSet& feasible,
                      const ConeProjection* free) const;
  /// On very fine grids the tree ends early, while rounding the continuous optimum is nearly
  /// optimal: the cheaper of both, with the tree's bound.
  void prefer_rounded(Recourse& result, Recourse candidate, const FeasibleSet& feasible) const;
  void answer_mixed(Recourse& result, const FeasibleSet& feasible) const;
  void add_plans(std::vector<Recourse>& plans, const Query& query,
                 const FeasibleSet& feasible) const;
  /// One answer per further number of changes, as long as that makes it cheaper.
  void add_trade_off(std::vector<Recourse>& plans, const Query& query, const FeasibleSet& feasible,
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
  /// The only cone, where there is one.
  [[nodiscard]] const RashomonEllipsoid& set() const { return cones_.sets.front(); }
  [[nodiscard]] const BoxFactor& factor() const { return cones_.factors.front(); }
  void explain_no_answer(Recourse& result, const FeasibleSet& feasible) const;

  const Problem* problem_;
  ExactOptions options_;
  Assembler assembler_;
  LinearCones cones_;
  MixedExact mixed_;
  std::vector<bool> searched_;        // columns that some query may move
  std::unique_ptr<ConeFactor> cone_;  // for cost l2, where something may move
  SeparableCost cost_;
};

/// The last-layer set of a problem with a linear model, likewise.
[[nodiscard]] RashomonEllipsoid linear_set(const Problem& problem);

/// The cost in the form that the solver minimises; l_mix is minimised through its square.
[[nodiscard]] SeparableCost separable_cost(const Cost& cost, const Encoder& encoder);

}  // namespace ellice
