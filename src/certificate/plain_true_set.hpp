#pragma once

#include <memory>

#include "certificate/plain_objective.hpp"

namespace ellice {

/// {θ : L(θ) ≤ L̂ + ε} as the verifier sees it: Newton's method on its own objective, and bounds
/// that hold wherever that stops (theory.md, Result 28).
class PlainTrueSet {
 public:
  using LongVector = PlainObjective::LongVector;
  using LongMatrix = PlainObjective::LongMatrix;

  PlainTrueSet(std::shared_ptr<const PlainObjective> objective, LongVector center);

  /// L(θ) − L̂.
  [[nodiscard]] long double excess(const LongVector& theta) const;

  /// The cheapest model with the score cᵀθ = t.
  struct Cheapest {
    LongVector model = {};
    long double excess = 0;  // its own
    long double proved = 0;  // no model with cᵀθ ≤ t has a smaller one
  };
  /// `start`, if any, is a model near it, as a file may state one: it saves work and decides
  /// nothing.
  [[nodiscard]] Cheapest cheapest(const LongVector& c, long double score,
                                  const LongVector* start = nullptr) const;

  /// The lowest score cᵀθ over the set.
  struct Worst {
    LongVector model = {};   // of the set
    long double proved = 0;  // no model of it scores less
  };
  [[nodiscard]] Worst worst(const LongVector& c, double epsilon,
                            const LongVector* start = nullptr) const;

  [[nodiscard]] const LongVector& center() const { return center_; }
  [[nodiscard]] const PlainObjective& objective() const { return *objective_; }
  /// Of H at the centre, with the gauge of many classes.
  [[nodiscard]] const LongMatrix& center_inverse() const { return center_inverse_; }

 protected:
  /// What L falls by for each unit of the score, at the cheapest model with that score.
  [[nodiscard]] long double multiplier(const LongVector& gradient, const LongVector& c) const;

 private:
  [[nodiscard]] LongMatrix inverse_curvature(const LongVector& at) const;
  /// cheapest() where the objective has corners (theory.md, Result 58). `curvature` is that of a
  /// model nearby, and afterwards of one that is nearer where that had to be found.
  [[nodiscard]] Cheapest cornered_cheapest(const LongVector& c, long double score,
                                           const LongVector& start, LongMatrix& curvature) const;

  std::shared_ptr<const PlainObjective> objective_;
  LongVector center_;
  LongMatrix center_curvature_;  // where the objective has corners
  LongMatrix center_inverse_;
};

}  // namespace ellice
