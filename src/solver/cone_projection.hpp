#pragma once

#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// What one factorisation serves: the ellipsoid's shape and centre, the cost and what may move.
///
/// With x̃ = [x; 1] the robust logit of the ellipsoid {θ′ : ½(θ′−θ)ᵀH(θ′−θ) ≤ ε} is
///
///   g(x) = min θ′ᵀx̃ = θᵀx̃ − √(2ε·x̃ᵀH⁻¹x̃)                          (theory.md, Result 1),
///
/// a concave function, so {x : g(x) ≥ t} is convex: a second-order cone cut by an affine space.
/// Target class 0 asks for max θ′ᵀx̃ ≤ t, which is g ≥ −t for −θ: the caller negates θ and t.
struct ConeProblem {
  Vector theta = {};               // [w; b], length d+1
  Matrix hessian = {};             // H, symmetric and positive definite, (d+1)×(d+1)
  Vector weights = {};             // D > 0, length d; empty: all one
  std::vector<bool> movable = {};  // length d; empty: every coordinate may move
};

/// The level asked for; a new one costs O(d), not a factorisation.
struct ConeTarget {
  double epsilon = 0;    // ε ≥ 0
  double threshold = 0;  // t
  /// The point returned satisfies g ≥ t + margin·scale, where scale = Σ|aᵢeᵢ| + |c| + s sums the
  /// sizes of the terms of g: rounding cannot push it out of the set.
  double margin = 1e-14;
};

enum class ConeStatus {
  already_feasible,  // the query itself: nothing moves
  optimal,           // the nearest point, up to relative_gap
  infeasible,        // proved: sup g < t, or = t and not attained, over everything that may move
  inexact,           // the data are too ill-conditioned for a gap below 1e-6; see the fields
};

/// One answer without its point. Lengths are in the cost's norm ‖v‖² = Σ Dᵢvᵢ².
struct ConeSummary {
  ConeStatus status = ConeStatus::inexact;
  int iterations = 0;           // Newton steps of the secular equation
  double distance_squared = 0;  // ‖x − x0‖² of the point returned
  /// Proved by the half-space that supports {g ≥ t} at the solution (theory.md, Result 5): no
  /// point with g ≥ t is nearer than this. Infinite if infeasible.
  double lower_bound_squared = 0;
  double relative_gap = 0;  // 1 − √(lower_bound_squared / distance_squared); 0 if nothing moves
  double multiplier = 0;    // μ ≥ 0 with D(x − x0) = μ∇g(x) on what may move
  double margin = 0;        // g(x) − t at the point returned; infeasible: sup g − t ≤ 0
  /// max{‖D(x−x0) − μ∇g‖/‖x−x0‖, |g−t|/scale} before the nudge.
  double kkt_residual = 0;
  double nudge = 0;  // length of the last step along ±∇g, after which g ≥ t holds in floating point
};

/// If infeasible, the point at which g is largest (the query itself where the supremum is not
/// attained).
struct ConeProjection {
  Vector point = {};
  ConeSummary summary = {};
};

struct ConeBatch {
  RowMatrix points = {};
  std::vector<ConeSummary> summaries = {};
};

/// Solves, exactly and for any query, ε and t,
///
///   min Σᵢ Dᵢ(xᵢ − x0ᵢ)²   subject to   g(x) ≥ t,   only movable coordinates differ from x0,
///
/// from one eigendecomposition. In its basis the problem reads (theory.md, Result 2)
///
///   min ‖e − e0‖²   subject to   aᵀe + c ≥ √(Σ πᵢeᵢ² + κ²),
///
/// and its solution is the root of one smooth equation in one unknown (Result 4). A batch is two
/// matrix products around these scalar solves.
class ConeFactor {
 public:
  explicit ConeFactor(const ConeProblem& problem);

  [[nodiscard]] Index dimension() const { return dimension_; }
  [[nodiscard]] Index movable_count() const { return a_.size(); }

  /// ε below which every query has a solution for every t: the level at which the ellipsoid first
  /// holds a model that ignores all that may move (theory.md, Result 3).
  [[nodiscard]] double max_epsilon() const { return max_epsilon_; }

  /// The supremum of the ε for which this query has a solution; ≥ max_epsilon() (Result 3). It is
  /// attained if it exceeds max_epsilon().
  [[nodiscard]] double max_epsilon(VectorArg query, double threshold) const;

  [[nodiscard]] ConeProjection project(VectorArg query, const ConeTarget& target) const;

  /// One query per row. Row i of the answer depends on the queries and i only, not on the threads.
  [[nodiscard]] ConeBatch project_rows(RowMatrixArg queries, const ConeTarget& target,
                                       const Execution& execution = {}) const;

  /// The same into storage of the caller. No heap allocation per row.
  void project_rows_into(RowMatrixArg queries, const ConeTarget& target,
                         Eigen::Ref<RowMatrix> points, std::span<ConeSummary> summaries,
                         const Execution& execution = {}) const;

  /// Rows that are worked on together; rows of different blocks do not share a matrix product.
  [[nodiscard]] Index block_rows() const;

 private:
  void factorise(const ConeProblem& problem, const std::vector<Index>& movable,
                 const std::vector<Index>& fixed);

  Index dimension_ = 0;
  bool has_fixed_ = false;  // then c and κ differ between queries and have rows in into_
  double max_epsilon_ = 0;
  Vector a_;                  // V′D^(−1/2)w
  Vector pi_;                 // 1/σ: πᵢ = 2ε·pi_ᵢ
  double profile_ = 0;        // c + t where nothing is fixed
  double kappa_squared_ = 0;  // κ²/2ε where nothing is fixed
  Matrix into_;               // d × rows: query → e0 and, with fixed columns, c + t and L⁻¹r
  Vector into_offset_;        // the same for the constant 1
  Matrix out_;                // d × m: e − e0 → x − x0
};

}  // namespace ellice
