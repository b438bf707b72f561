#pragma once

// What SecularSolver knows about the instances it works on, for its own source files only.

#include "solver/lanes.hpp"
#include "solver/secular.hpp"

namespace ellice {

static_assert(SecularSolver::width == lanes::width);

struct SecularSolver::Group {
  int live = 0;
  lanes::Lanes c, kappa_squared;
  lanes::Lanes c0, q0;                  // aᵀe0 + c and Σπe0² + κ²
  lanes::Lanes n0, r0, v0, a0, p1, p2;  // sums of the starting point
  lanes::Mask moves;                    // lanes for which a secular equation has to be solved
  lanes::Mask infeasible;               // lanes without a solution
  lanes::Lanes nu = {}, s = {};         // the root: e = (e0 + νs·a)/(1 + νπ)
  lanes::Lanes iterations = {};
  lanes::Lanes margin, multiplier, distance_squared, lower_bound, residual, nudge, rounding;
};

}  // namespace ellice
