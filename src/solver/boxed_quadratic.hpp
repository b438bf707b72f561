#pragma once

#include <vector>

#include "ellice/core/types.hpp"
#include "solver/row_multipliers.hpp"

namespace ellice {

/// min ½pᵀBp + rᵀp subject to c + Gᵀp ≥ 0 and lower ≤ p ≤ upper, for B ≻ 0 and a handful of rows c,
/// some of which may be kinks of others (theory.md, Result 75), approximately: coordinates that
/// leave the box are fixed at its bound and freed again at most once where the sign of their
/// multiplier asks for it. Where no p satisfies the rows, p goes as far as the box lets it. Owns
/// its storage: solve() does not allocate where the root has as many rows as the last one.
class BoxedQuadratic {
 public:
  BoxedQuadratic(Index variables, Index rows);

  // The problem, filled in by the caller. B = D + RᵀR, which a root of few rows makes cheap to
  // solve with, however many variables there are.
  Vector diagonal;      // D, positive
  Matrix root;          // R; without rows B is D
  Vector linear;        // r
  Vector constants;     // c
  Matrix normals;       // G, one column per row of the problem
  Vector lower, upper;  // contain 0

  /// No kinks, as at first.
  void clear_kinks();
  /// Appends a constant to c and a column to G, which the caller fills in, for the row of a kink.
  void add_kink(const KinkRow& kink, double distance);

  /// Coordinates that the last solve fixed, and that now stand at a bound, can begin there.
  void solve(bool knows_bounds = false);
  /// The same problem with kinks that were added since: begins where the last solve ended.
  void solve_again();

  [[nodiscard]] const Vector& step() const { return step_; }
  /// Of the rows, then of the kinks.
  [[nodiscard]] const Vector& multipliers() const { return multipliers_; }

 private:
  /// result ← r + Bp.
  void slope(const Vector& p, Vector& result);
  void factor();
  /// solved_ ← B⁻¹ of the free coordinates times what it holds.
  void solve_free();
  /// Fixes and frees coordinates until all is well.
  void settle();
  void find_multipliers();
  [[nodiscard]] bool fix_leavers();
  [[nodiscard]] bool free_wrongly_fixed();
  /// Whether systems have a row for each row of R rather than for each free coordinate.
  [[nodiscard]] bool is_narrow() const { return root.rows() < free_count_; }

  Vector step_, fixed_step_, multipliers_, slack_, reduced_, image_;
  std::vector<Index> free_;  // the first free_count_ are the free coordinates
  Index free_count_ = 0;
  Matrix whole_;      // B, where systems are not narrow
  Matrix scaled_;     // R·D^{−½} of the free coordinates, in its first columns
  Matrix factor_;     // of B, or of I + R·D⁻¹·Rᵀ, in its corner
  Matrix solved_;     // by free coordinate: right-hand sides, then solutions
  Matrix narrow_;     // R·D⁻¹ times right-hand sides
  Matrix responses_;  // B⁻¹G
  Matrix dual_;
  Index rows_;  // that are no kinks
  std::vector<KinkRow> kinks_;
  RowMultipliers row_multipliers_;
  bool has_whole_ = false;
  Eigen::Array<bool, Eigen::Dynamic, 1> is_free_, was_freed_;
};

}  // namespace ellice
