#pragma once

// The nearest point of a box that satisfies smooth, not necessarily concave constraints, found
// locally.

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// A hyperplane distance + normalᵀp = 0 of steps p, distance ≥ 0, at which constraint `row` has a
/// kink: beyond it, it falls short of its linearisation by weight·(−distance − normalᵀp).
struct Kink {
  Index row = 0;
  double weight = 0;
  double distance = 0;
  Vector normal = {};
};

/// g_k(x) ≥ 0 for k = 1 … count(). Keeps its storage; one thread works with it.
class SmoothConstraints {
 public:
  virtual ~SmoothConstraints() = default;
  [[nodiscard]] virtual Index count() const { return 1; }
  /// g_k(x), one entry each; `values` has that size.
  virtual void values(VectorArg x, Vector& values) = 0;
  /// The gradients as well, one column each.
  virtual void gradients(VectorArg x, Vector& values, Matrix& gradients) = 0;
  /// RᵀR = Σ μ_k·C_k at the point of the last gradients(), C_k ⪰ 0 standing for −∇²g_k; false where
  /// there is none worth having. As a root, since that has no more rows than a network has units.
  [[nodiscard]] virtual bool curvature_root(const Vector& /*multipliers*/, Matrix& /*root*/) {
    return false;
  }
  /// Adds the names of what may be kinks and is crossed by a step from the point of the last
  /// gradients(), to first order.
  virtual void crossed_kinks(VectorArg /*step*/, std::vector<Index>& /*names*/) {}
  /// The kink of a name, to first order at that point; false where nothing falls short beyond it.
  [[nodiscard]] virtual bool find_kink(Index /*name*/, Kink& /*kink*/) { return false; }
};

/// min ½(x−q)ᵀW(x−q) subject to g(x) ≥ 0 and lower ≤ x ≤ upper.
struct NearestPoint {
  Vector query = {};  // q; may lie outside the box
  Vector lower = {};  // −∞ allowed; lower = upper holds a coordinate
  Vector upper = {};
  Vector weights = {};  // W's diagonal, positive
};

struct SequentialQuadraticOptions {
  int max_iterations = 25;
  int bisections = 6;
  int trials = 7;
  double shrink = 0.35;
  double radius = 2;
  double max_radius = 8;
  double max_curvature = 100;
  double tolerance = 1e-6;
  bool first_feasible = false;

  static void fields(auto& self, auto&& visit) {
    visit("max_iterations", self.max_iterations, at_least(1), "quadratic steps per start");
    visit("bisections", self.bisections, at_least(0), "halvings of the way from a feasible start");
    visit("trials", self.trials, at_least(1), "step lengths tried per quadratic step");
    visit("shrink", self.shrink, between(0.01, 0.99), "factor from one step length to the next");
    visit("radius", self.radius, greater_than(0), "longest step at first, in units of the cost");
    visit("max_radius", self.max_radius, greater_than(0), "longest step ever");
    visit("max_curvature", self.max_curvature, at_least(0),
          "largest multiplier with which a constraint's curvature enters a step");
    visit("tolerance", self.tolerance, greater_than(0),
          "relative length of a step at which to stop");
    visit("first_feasible", self.first_feasible, any_value(), "stop at the first feasible point");
  }
  bool operator==(const SequentialQuadraticOptions&) const = default;
};

/// How a solve ended; the best point stays in the solver.
struct SequentialQuadraticResult {
  bool found = false;    // some point that was evaluated is feasible
  double objective = 0;  // of the best of them
  double residual = 0;   // length of the last quadratic step: 0 at a point that is locally optimal
  bool given_up = false;
  int iterations = 0;
  int evaluations = 0;
};

/// Sequential quadratic programming with an exact penalty, a bound on the step, and restoration
/// along the constraint's gradient. Once steps have become short they know the kinks that they come
/// to (theory.md, Result 75), and end there. Local: where constraints are not concave the answer
/// depends on the start. Every feasible point that is evaluated counts, the nearest of them is the
/// answer, and it is feasible as evaluated, whatever else happens. Storage is made once; no
/// iteration allocates unless it meets kinks.
class SequentialQuadratic {
 public:
  /// `problem` must outlive the solver. Throws Error{argument} for sizes that do not match, an
  /// empty box, weights that are not positive.
  SequentialQuadratic(const NearestPoint& problem, Index constraints,
                      const SequentialQuadraticOptions& options = {});

  ~SequentialQuadratic();
  SequentialQuadratic(const SequentialQuadratic&) = delete;
  SequentialQuadratic& operator=(const SequentialQuadratic&) = delete;

  /// Where points that cost more than `cutoff` are of no use: given up once its steps are so short
  /// that several more of them do not get there. `ends` are where other solves ended: given up
  /// where it is about to end there, too, without a kink on the way (theory.md, Result 77). Only
  /// for constraints that are concave wherever crossed_kinks() names none.
  SequentialQuadraticResult solve(SmoothConstraints& constraints, VectorArg start,
                                  double cutoff = std::numeric_limits<double>::infinity(),
                                  std::span<const Vector> ends = {});
  /// The best feasible point of the last solve, if it found one.
  [[nodiscard]] const Vector& point() const;

 private:
  class Search;

  std::unique_ptr<Search> search_;
};

}  // namespace ellice
