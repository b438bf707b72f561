#pragma once

#include <Eigen/Cholesky>
#include <memory>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/model/objective.hpp"
#include "ellice/solver/cholesky.hpp"

namespace ellice {

/// The worst model of a true set at a point, between two proved bounds:
/// lower_bound ≤ min θᵀx̃ ≤ attained.
struct TrueWorst {
  Vector model = {};       // of the set: its objective does not exceed the level
  double attained = 0;     // model·x̃
  double lower_bound = 0;  // no model of the set scores lower (theory.md, Result 21)
  Vector stationary = {};  // where the dual was evaluated: `model` before it was made feasible
  double multiplier = 0;  // τ: the objective's gradient there is −τ·x̃, up to what δ accounts for
  int iterations = 0;
  /// The factor of the objective's Hessian that the search ended with: that of a model nearby,
  /// which saves the next search most of its work.
  std::shared_ptr<const Eigen::LLT<Matrix>> curvature = {};
};

/// {θ : L(θ) ≤ L̂ + ε}: every head θ = [w; b] whose training objective on given rows is within ε of
/// the optimum, not its second-order picture (theory.md, Definition 4). L̂ is the objective of the
/// given minimiser; were that a little above the true minimum, the set would be a little larger
/// than it claims to be. Cheap to copy, and const: threads may share it.
class TrueSet {
 public:
  /// Of features without the constant 1. Throws Error{argument} unless ε is above the rounding of
  /// the objective, and unless `minimiser` is one: ½gᵀH⁻¹g ≤ ε/100.
  TrueSet(RowMatrix features, std::vector<int> labels, LossKind kind, Penalty penalty,
          Vector minimiser, double epsilon, int threads = 1);

  [[nodiscard]] const Vector& center() const { return rows_->minimiser; }
  [[nodiscard]] const Matrix& hessian() const { return rows_->hessian; }  // at the centre
  [[nodiscard]] const CholeskyFactor& factor() const { return rows_->factor; }
  [[nodiscard]] double optimum() const { return rows_->optimum; }  // L̂
  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] double level() const { return rows_->optimum + epsilon_; }
  [[nodiscard]] double objective(VectorArg theta) const { return rows_->objective.value(theta); }
  /// H(θ), of the objective at any model.
  [[nodiscard]] Matrix hessian_at(VectorArg theta) const { return rows_->objective.hessian(theta); }
  /// As small as ε may be: above the rounding of L and what the minimiser misses of the minimum.
  [[nodiscard]] double smallest_epsilon() const { return rows_->smallest_epsilon(); }
  /// The same rows and optimum with another ε.
  [[nodiscard]] TrueSet with_epsilon(double epsilon) const;

  /// By Newton's method on the optimality conditions in (θ, τ), from the ellipsoid's answer or from
  /// that at a point nearby. Both bounds hold wherever it stops.
  [[nodiscard]] TrueWorst worst(VectorArg x_tilde, const TrueWorst* start = nullptr) const;

  /// The smallest ε at which some model scores x̃ no higher than t: min L(θ) − L̂ over θᵀx̃ = t, from
  /// below; 0 where the minimiser does so already. The worst model at a point nearby saves work.
  [[nodiscard]] double robustness_radius(VectorArg x_tilde, double threshold,
                                         const Vector* nearby = nullptr) const;

 private:
  struct Rows {
    Rows(RowMatrix given, std::vector<int> given_labels, LossKind given_kind, Penalty given_penalty,
         Vector given_minimiser, int threads);
    RowMatrix features;
    LossKind kind;
    Penalty penalty;
    Objective objective;
    Vector minimiser;
    double optimum = 0;
    double decrement = 0;  // ½gᵀH⁻¹g at the minimiser
    Matrix hessian;
    CholeskyFactor factor;
    [[nodiscard]] double rounding_epsilon() const;
    [[nodiscard]] double smallest_epsilon() const;
    /// Whether δ follows from the gradient alone, so that no Hessian need be that of the model.
    [[nodiscard]] bool bounds_by_residual() const;
  };
  TrueSet(std::shared_ptr<const Rows> rows, double epsilon);

  /// A point (θ, τ) of Newton's method, with what is known of it.
  struct Iterate;
  template <typename Rule>
  [[nodiscard]] Iterate newton(const Vector& x, Iterate at, const Rule& rule) const;

  [[nodiscard]] double rounding() const;  // of the objective
  /// δ ≥ F(θ) − min F for F = L + τ·θᵀx̃ with gradient r and Hessian H at θ.
  [[nodiscard]] double suboptimality(const Iterate& at) const;
  [[nodiscard]] double largest_score_step(const Vector& step) const;

  std::shared_ptr<const Rows> rows_;
  double epsilon_;
};

/// The true set of a model's head on the rows that it was fitted on, its hidden layers fixed.
/// Throws Error{argument} for a head that is not at its optimum, Error{input} where the rows are
/// not the model's: as many as it was fitted on, and with the same loss, objective and Hessian to
/// 1e-9.
[[nodiscard]] TrueSet true_set(const Model& model, const StoredRows& rows, double epsilon);

/// The checks of true_set() that do not depend on ε: number of rows, loss and objective.
void require_rows_of(const Model& model, const StoredRows& rows);
/// The Hessian of the model's objective on the rows is that in its file, to 1e-9.
void require_curvature_of(const Model& model, Matrix on_rows);

}  // namespace ellice
