#pragma once

// Worst heads of true sets whose objective has corners, Σ lⱼ|θⱼ| (theory.md, Result 58).

#include "model/head_objective.hpp"
#include "solver/worst_head.hpp"

namespace ellice {

/// {θ : L(θ) ≤ L(θ̂) + ε} for all ε.
struct CorneredSet {
  const HeadObjective* objective = nullptr;
  const Vector* minimiser = nullptr;
  double optimum = 0;
  double rounding = 0;              // of a difference of objectives
  const Matrix* hessian = nullptr;  // at the minimiser
};

/// As TrueSet::worst(); the last entry of a, that of the intercept, is not 0.
[[nodiscard]] WorstHead cornered_worst(const CorneredSet& set, const Vector& a, double epsilon,
                                       const WorstHead* nearby);

/// As TrueSet::radius().
[[nodiscard]] double cornered_radius(const CorneredSet& set, const Vector& a, double threshold,
                                     const Vector* nearby);

/// The Hessian of the border at a worst head: entries at 0 stay there while the head moves.
[[nodiscard]] Matrix cornered_curvature(const CorneredSet& set, const Vector& head);

}  // namespace ellice
