#pragma once

// The cheapest point at which a class wins for every model of a softmax model's true set.

#include "ellice/rashomon/true_softmax.hpp"
#include "ellice/recourse/linear_cones.hpp"
#include "ellice/solver/branch_and_bound.hpp"

namespace ellice {

/// The true set of a softmax model, what is asked of it, and the ellipsoids of the winner against
/// each rival, which are its second-order picture.
struct TrueContest {
  TrueSoftmax set;
  Contest contest;
  LinearCones ellipsoids;
};

/// Of a problem about the true set. Throws like true_softmax().
[[nodiscard]] TrueContest make_true_contest(const Problem& problem);

/// solve_mixed() with the true set in place of the ellipsoids; the problem's ε is the set's. The
/// smallest of the worst margins is concave, and each worst head gives a half-space that holds all
/// solutions: these bound the nodes, as for one logit (theory.md, Result 34). Decided parts are
/// solved with ellipsoids corrected to the true set, one for each rival, and by cutting planes.
/// `cost` is that of the numbers, by column.
[[nodiscard]] MixedResult solve_true_contest(const TrueContest& contest, const SeparableCost& cost,
                                             const MixedProblem& problem);

}  // namespace ellice
