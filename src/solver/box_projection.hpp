#pragma once

#include <optional>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// cost(x) = Σᵢ ½Dᵢ(xᵢ − x0ᵢ)² + cᵢ|xᵢ − x0ᵢ| with D, c ≥ 0. An empty vector is zero; both empty is
/// D = 1.
struct SeparableCost {
  Vector quadratic = {};  // D: all positive or all zero
  Vector absolute = {};   // c; where D = 0, all positive
};

/// Where a search begins: near the answer to a similar problem, it ends after a few steps.
struct BoxStart {
  Vector point = {};  // may lie outside the box, best as the answer without it
  double multiplier = 0;
};

/// min cost(x) subject to lower ≤ x ≤ upper and g(x) ≥ threshold, g being the robust logit at ε.
struct BoxProblem {
  Vector query = {};  // x0; may lie outside the box
  Vector lower = {};  // −∞ allowed; lower = upper holds a coordinate
  Vector upper = {};
  SeparableCost cost = {};
  double epsilon = 0;
  double threshold = 0;
  /// The point returned satisfies g ≥ t + margin·(Σ|θᵢx̃ᵢ| + s), where the box allows it.
  double margin = 1e-14;
  std::optional<BoxStart> start = {};
};

enum class BoxStatus {
  already_feasible,  // the query lies in the box and satisfies g ≥ t
  optimal,           // feasible, and the gap is below 1e-6
  infeasible,        // proved: logit_bound < t
  inexact,           // neither: see margin and relative_gap
};

struct BoxProjection {
  BoxStatus status = BoxStatus::inexact;
  Vector point = {};       // infeasible: the point of the box with the largest g that was found
  double objective = 0;    // cost of the point
  double lower_bound = 0;  // no feasible point costs less (theory.md, Result 6); ∞ if infeasible
  double relative_gap = 0;
  double margin = 0;       // g(point) − t
  double multiplier = 0;   // μ ≥ 0 of g ≥ t
  double logit_bound = 0;  // infeasible: g ≤ logit_bound < t on the whole box (Result 7)
  double nudge = 0;        // length of the last step that makes g ≥ t hold in floating point
  int iterations = 0;
  int factorisations = 0;
};

struct BoxMaximum {
  Vector point = {};
  double logit = 0;        // g(point)
  double logit_bound = 0;  // g ≤ logit_bound on the whole box; ∞ where nothing is proved
  Vector model = {};  // of the ellipsoid, [w; b]: gives no point of the box more than logit_bound
  /// A direction that stays in the box for ever and along which g grows without bound, if one was
  /// found.
  std::optional<Vector> ray = {};
  int iterations = 0;
};

/// The largest ε for which {x in the box : g(x) ≥ t} is not empty.
struct BoxRadius {
  double epsilon = 0;      // attained at the point; 0 if not even the base model reaches t
  double upper_bound = 0;  // proved (theory.md, Result 8)
  Vector point = {};
  /// Infinite bounds were replaced by ±1e7: the supremum over the true box may be larger than
  /// upper_bound, by about one part in 1e7.
  bool truncated = false;
  int iterations = 0;
};

/// Exact recourse inside boxes for one model θ and curvature H, by Newton's method on the
/// optimality conditions with a globally convergent fallback (theory.md, Result 6 to Result 8). As
/// in cone_projection.hpp, target class 0 is −θ and −t. Holds H⁻¹; const, so threads may share it.
class BoxFactor {
 public:
  BoxFactor(VectorArg theta, MatrixArg hessian);
  /// The same from H⁻¹.
  [[nodiscard]] static BoxFactor of_inverse(Vector theta, Matrix inverse);

  [[nodiscard]] Index dimension() const { return theta_.size() - 1; }
  [[nodiscard]] const Vector& theta() const { return theta_; }
  [[nodiscard]] const Matrix& inverse() const { return inverse_; }  // H⁻¹

  /// The same robust logit as a function of some columns only, the others as in `point`.
  [[nodiscard]] BoxFactor restricted(const std::vector<Index>& columns, VectorArg point) const;

  [[nodiscard]] BoxProjection project(const BoxProblem& problem) const;

  /// max g over the box at ε. Stops early at a point with g ≥ `enough`.
  [[nodiscard]] BoxMaximum maximize(VectorArg lower, VectorArg upper, double epsilon,
                                    const std::optional<Vector>& start = {},
                                    std::optional<double> enough = {}) const;

  [[nodiscard]] BoxRadius max_epsilon(VectorArg lower, VectorArg upper, double threshold) const;

 private:
  BoxFactor() = default;

  Vector theta_;
  Matrix inverse_;
};

}  // namespace ellice
