#pragma once

// The nearest point of a box that every model of the true set accepts.

#include <optional>

#include "ellice/rashomon/true_set.hpp"
#include "ellice/recourse/feasible_set.hpp"
#include "ellice/solver/box_projection.hpp"

namespace ellice {

/// Of min cost(x) over the points of a box with θᵀx̃ ≥ t for one model θ: what it costs at least, or
/// ∞ where no point of the box reaches t. The best of the bounds of Result 6 over their multiplier.
[[nodiscard]] double half_space_bound(VectorArg theta, double threshold, VectorArg query,
                                      const Box& box, const SeparableCost& cost);

/// max θᵀx̃ over a box.
[[nodiscard]] double linear_maximum(VectorArg theta, const Box& box);

/// What a search in one box found.
struct TrueSearchResult {
  bool found = false;
  Vector point = {};  // robust, if found; else the most robust one that was met
  TrueWorst worst = {};
  double objective = 0;    // of the point
  double lower_bound = 0;  // no robust point of the box costs less; ∞ if there is none
  /// Where lower_bound is ∞: a model of the set that accepts no point of the box.
  std::optional<Vector> proof = {};
  /// Cutting planes that the end of the search took; 0 where the corrected ellipsoids settled.
  int cuts = 0;
};

/// Solves a sequence of problems with ellipsoids: around the present point the worst score of the
/// true set is replaced by that of an ellipsoid with the same value, gradient and extent
/// (theory.md, Result 22). Where they do not settle, plain cutting planes take over, if every
/// column has a square in its cost (Result 34). Const; threads may share it.
class TrueSearch {
 public:
  /// A point counts as robust from `margin` times the terms of its score above the threshold.
  TrueSearch(const TrueSet& set, SeparableCost cost, double threshold, double margin);

  [[nodiscard]] const TrueSet& set() const { return set_; }
  [[nodiscard]] TrueSearchResult nearest(VectorArg query, const Box& box) const;
  /// The same by cutting planes alone.
  [[nodiscard]] TrueSearchResult nearest_by_cuts(VectorArg query, const Box& box) const;
  /// Whether some point of the box is robust, as far as it can be found; stops at the first.
  [[nodiscard]] bool is_reachable(const Box& box) const;
  /// Whether a model of the set was found that accepts no point of the box.
  [[nodiscard]] bool is_unreachable(const Box& box) const;
  /// The largest ε up to which a point of the box is robust, as far as it can be found.
  [[nodiscard]] double largest_epsilon(const Box& box) const;

  /// Lower bound of the worst score less what a robust point must have.
  [[nodiscard]] double excess(VectorArg point, const TrueWorst& worst) const;

 private:
  enum class Goal { nearest, any };
  [[nodiscard]] TrueSearchResult search(VectorArg query, const Box& box, Goal goal) const;
  /// The models that were met, one per column, and what corrected ellipsoids made of them.
  void finish_by_cuts(VectorArg query, const Box& box, Matrix& models,
                      TrueSearchResult& best) const;
  /// The ellipsoid that stands in for the true set around a point: with the curvature of its
  /// centre, or with that of the worst score there, which costs a pass over the rows.
  struct StandIn {
    bool is_exact = false;
    double boost = 1;  // on its extent
  };
  [[nodiscard]] BoxProjection step(VectorArg query, const Box& box, const Vector& point,
                                   const TrueWorst& worst, double multiplier,
                                   const StandIn& stand_in) const;
  [[nodiscard]] Vector first_point(VectorArg query, const Box& box, double& multiplier) const;

  TrueSet set_;
  BoxFactor ellipsoid_;
  SeparableCost cost_;
  double threshold_;
  double margin_;
};

}  // namespace ellice
