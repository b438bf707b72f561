#pragma once

// min cost(x) − μ·g(x) over a box: smooth up to the kinks of the cost, and convex.

#include <functional>

#include "solver/box_cost.hpp"
#include "solver/robust_logit.hpp"

namespace ellice {

/// Projected Newton method (Bertsekas 1982): Newton's direction on the coordinates that no bound or
/// kink holds, and a search along its projection onto the box, so that each step decreases the
/// function. The limit of its iterates is the minimiser. Where a full Newton step fails, a shorter
/// one competes with the minimiser of the majorant: in ill-conditioned directions g falls like a
/// modulus, from one side of which Newton's method would jump to the other for ever.
class ProjectedNewton {
 public:
  ProjectedNewton(const RobustLogit& logit, const BoxCost& cost);

  /// From state.x, which lies in the box, until done(state), the function no longer decreases or
  /// the steps run out. Returns the number of steps.
  int minimise(double multiplier, int max_steps, RobustLogit::State& state,
               const std::function<bool(const RobustLogit::State&)>& done);

  /// dg/dμ along the path of minimisers, and the path's direction dx/dμ.
  double path_derivative(double multiplier, const RobustLogit::State& state, Vector& direction);

  [[nodiscard]] int factorisations() const { return factorisations_; }

 private:
  [[nodiscard]] double value(double multiplier, const RobustLogit::State& state) const {
    return cost_.value(state.x) - multiplier * state.value;
  }
  void classify(double multiplier, const RobustLogit::State& state);
  bool newton_step(CurvatureKind curvature, double multiplier, int trials,
                   RobustLogit::State& state);
  bool step(double multiplier, int trials, RobustLogit::State& state);

  const RobustLogit& logit_;
  const BoxCost& cost_;
  NewtonMatrix matrix_;
  std::vector<Index> free_;
  Vector slope_, direction_, gathered_;
  Vector low_, high_;  // what each coordinate may reach in one step: the box, cut at the kink
  RobustLogit::State trial_, other_;
  bool stalled_ = false;  // the last step promised no more than rounding noise
  int factorisations_ = 0;
};

}  // namespace ellice
