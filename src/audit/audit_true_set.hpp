#pragma once

// What the audit asks of {θ : L(θ) ≤ L̂ + ε} beyond one point, with the verifier's own objective.

#include <optional>
#include <vector>

#include "audit/audit_bounds.hpp"
#include "audit/audit_region.hpp"
#include "certificate/plain_true_set.hpp"
#include "ellice/model/model.hpp"

namespace ellice::audit {

class TrueModels : public PlainTrueSet {
 public:
  /// Throws Error{input} where the rows are not those of the model, Error{argument} where the
  /// objective, or its minimum, is not known well enough for so small an ε.
  TrueModels(const Model& model, const StoredRows& rows, double epsilon);

  /// As least_cost() of ellipsoids, for one logit and a region without rules; `start` is a point
  /// to begin with.
  [[nodiscard]] CostBounds least_cost(const CostQuestion& question, const Vector& start) const;

  /// An ellipsoid inside the set, at this ε, that touches its border at a worst model (theory.md,
  /// Result 73): what its models prove, models of the set do. Nothing for many classes.
  [[nodiscard]] std::optional<Cone> cone_inside(const LongVector& model, double epsilon) const;

  /// As find_reach() of ellipsoids, for one logit.
  [[nodiscard]] Reach find_reach(double threshold, const Region& region, double near) const;
  /// For several classes: the scores cᵀθ are those of c = B·x̃, one B for each rival. Proves no
  /// bound from above where a side is infinite.
  [[nodiscard]] Reach find_reach(const std::vector<LongMatrix>& lifts, double threshold,
                                 const Region& region, double near) const;

  /// The ellipsoid, of this ε, at whose border the set's own is to second order, at the worst model
  /// of c = B·x̃ (theory.md, Result 30).
  [[nodiscard]] Cone cone_at(const LongVector& model, const LongVector& c, const LongMatrix& lift,
                             double epsilon) const;

 private:
  class ContestSearch;
};

}  // namespace ellice::audit
