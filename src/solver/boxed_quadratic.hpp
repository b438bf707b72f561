#pragma once

#include "ellice/core/types.hpp"

namespace ellice {

/// min ½pᵀBp + rᵀp subject to c + Gᵀp ≥ 0 and lower ≤ p ≤ upper, for B ≻ 0 and a handful of rows c,
/// approximately: coordinates that leave the box are fixed at its bound and freed again at most
/// once where the sign of their multiplier asks for it. Where no p satisfies the rows, p goes as
/// far as the box lets it. Owns its storage: solve() does not allocate.
class BoxedQuadratic {
 public:
  BoxedQuadratic(Index variables, Index rows);

  // The problem, filled in by the caller.
  Matrix hessian;           // B; only its diagonal is read where it is diagonal
  bool is_diagonal = true;  // B is
  Vector linear;            // r
  Vector constants;         // c
  Matrix normals;           // G, one column per row of the problem
  Vector lower, upper;      // contain 0

  void solve();

  [[nodiscard]] const Vector& step() const { return step_; }
  [[nodiscard]] const Vector& multipliers() const { return multipliers_; }

 private:
  void factor();
  void solve_free(Eigen::Ref<Vector> right) const;
  void ascend_dual();
  [[nodiscard]] bool fix_leavers();
  [[nodiscard]] bool free_wrongly_fixed();

  Vector step_, fixed_step_, multipliers_, slack_, reduced_;
  Matrix factor_, responses_, dual_;
  Eigen::Array<bool, Eigen::Dynamic, 1> is_free_, was_freed_;
};

}  // namespace ellice
