#pragma once

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "solver/sequential_quadratic.hpp"

namespace ellice {

struct AugmentedDescentOptions {
  int rounds = 4;
  int steps = 25;
  double step = 0.08;
  double penalty = 2;

  static void fields(auto& self, auto&& visit) {
    visit("rounds", self.rounds, at_least(1), "updates of the multipliers");
    visit("steps", self.steps, at_least(1), "steps per round");
    visit("step", self.step, greater_than(0), "Adam's learning rate, halved with each round");
    visit("penalty", self.penalty, greater_than(0), "weight of the squared shortfall at first");
  }
  bool operator==(const AugmentedDescentOptions&) const = default;
};

/// A rough answer, for a better search to start from: Adam on the augmented Lagrangian
/// ½(x−q)ᵀW(x−q) + Σ max(0, λ_k − ρ·g_k(x))²/(2ρ), every step projected onto the box, λ and ρ
/// raised after each round. Its small blind steps cross kinks and valleys that a quadratic step
/// ends in. Need not be feasible.
[[nodiscard]] Vector augmented_descent(SmoothConstraints& constraints, const NearestPoint& problem,
                                       VectorArg start,
                                       const AugmentedDescentOptions& options = {});

}  // namespace ellice
