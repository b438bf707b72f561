#pragma once

// The robust logit and its derivatives, as the box solvers need them.

#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// g(x) = θᵀx̃ − s, s = √(x̃ᵀMx̃), M = 2εH⁻¹: ∇g = (θ − Mx̃/s)ₓ, −∇²g = (Mₓₓ − zzᵀ)/s, z = (Mx̃)ₓ/s.
class RobustLogit {
 public:
  /// Keeps references.
  RobustLogit(const Vector& theta, const Matrix& inverse, double epsilon)
      : theta_(theta), inverse_(inverse), two_epsilon_(2 * epsilon) {}

  struct State {
    Vector x;
    Vector gradient;
    Vector z;
    double s = 0;
    double inverse_s = 0;  // 0 where s = 0, that is, for ε = 0
    double value = 0;      // g(x)
    double scale = 0;      // Σ|θᵢx̃ᵢ| + s: what rounding errors of g are relative to
  };

  [[nodiscard]] Index dimension() const { return theta_.size() - 1; }
  [[nodiscard]] double two_epsilon() const { return two_epsilon_; }
  [[nodiscard]] const Matrix& inverse() const { return inverse_; }
  [[nodiscard]] const Vector& theta() const { return theta_; }

  void evaluate(State& state) const;  // everything from state.x

  /// A model of the ellipsoid and the largest score that it gives to a point of the box.
  struct Bound {
    double value = 0;
    Vector model = {};
  };
  /// max over the box of g(x̂) + ∇g(x̂)ᵀ(x − x̂) ≥ max g (theory.md, Result 7). Where an infinite
  /// bound makes this infinite, the worst model is corrected to ignore the coordinate.
  [[nodiscard]] Bound upper_bound(const State& state, VectorArg lower, VectorArg upper) const;

 private:
  const Vector& theta_;
  const Matrix& inverse_;
  double two_epsilon_;
};

/// The curvature of cost − μg on a set of free coordinates for ν = μ/s: exact, or that of a
/// quadratic which lies above the function everywhere and touches it at x, because
/// s ≤ (s²/s(x) + s(x))/2.
enum class CurvatureKind {
  exact,     // diag(d) + ν(M − zzᵀ)
  majorant,  // diag(d) + νM
};

/// Small ones are factored as LDLᵀ by loops in which entries run side by side, at a third of the
/// price of a general factorisation; large ones by Eigen.
class NewtonMatrix {
 public:
  explicit NewtonMatrix(Index dimension);

  /// False if rounding made the matrix indefinite.
  bool factorise(CurvatureKind curvature, const RobustLogit& logit, const RobustLogit::State& state,
                 double nu, VectorArg diagonal, const std::vector<Index>& free);
  /// Applies the inverse to a vector on the free coordinates.
  void solve(Eigen::Ref<Vector> vector);
  /// Of two vectors at once, for little more than one.
  void solve(Eigen::Ref<Vector> one, Eigen::Ref<Vector> other);

 private:
  [[nodiscard]] bool is_small() const { return size_ <= 128; }
  bool factorise_small();
  void solve_small(Eigen::Ref<Vector> vector);
  void solve_small(Eigen::Ref<Vector> one, Eigen::Ref<Vector> other);

  // Rows are padded to whole blocks, and what lies between diagonal and block is never read.
  Matrix storage_;         // columns of LD below the diagonal; of large ones Cholesky's L
  Matrix rows_;            // a row of L in each column, zeros behind its end
  Vector inverse_pivots_;  // of D
  Vector padded_, last_;   // of solve()
  Vector other_padded_, other_last_;
  Index size_ = 0;
};

}  // namespace ellice
