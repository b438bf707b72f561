#pragma once

#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "sets/head_set.hpp"
#include "sets/paired_inverse.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

/// The set of models {θ : ½(θ−c)ᵀH(θ−c) ≤ ε} (theory.md, Definition 2): the second-order picture of
/// all heads θ = [w; b] whose training objective is within ε of the optimum c. Exactly that set for
/// the squared loss. ε = 0 is the single model c. Scores are θᵀx̃ with x̃ = [x; 1]: the bias counts
/// as a parameter, and its coordinate of x̃ never moves.
class Ellipsoid final : public HeadSet {
 public:
  /// Throws Error{argument} unless H is symmetric positive definite and 0 ≤ ε < ∞. Where H is a sum
  /// that no double holds, `rest` has what rounding left out of `hessian`: worst_extended() counts
  /// it.
  Ellipsoid(Vector center, Matrix hessian, double epsilon, Matrix rest = {});

  [[nodiscard]] Index parameters() const { return center_.size(); }
  [[nodiscard]] const Vector& center() const override { return center_; }
  [[nodiscard]] const Matrix& hessian() const override { return hessian_; }
  [[nodiscard]] const CholeskyFactor& factor() const { return factor_; }
  [[nodiscard]] double epsilon() const override { return epsilon_; }
  [[nodiscard]] bool is_ellipsoid() const override { return true; }

  [[nodiscard]] WorstHead worst(VectorArg a, const WorstHead* nearby = nullptr,
                                double share = 0) const override;
  /// To the last digits of double: by the inverse in twice the precision (theory.md, Result 54),
  /// or, of an H too large or too ill-conditioned for that, by a solve that is refined by residuals
  /// of that precision.
  [[nodiscard]] ExtendedWorst worst_extended(const LongVector& a,
                                             const WorstHead* nearby = nullptr) const override;
  [[nodiscard]] double radius(VectorArg a, double threshold,
                              const Vector* nearby = nullptr) const override;
  [[nodiscard]] Matrix curvature(const WorstHead& /*worst*/) const override { return hessian_; }
  [[nodiscard]] std::shared_ptr<const HeadSet> with_epsilon(double epsilon) const override;
  /// with_epsilon() as a value.
  [[nodiscard]] Ellipsoid at(double epsilon) const;

 private:
  /// Nothing where H does not allow it.
  [[nodiscard]] const PairedInverse* paired_inverse() const;
  [[nodiscard]] LongVector refined_solve(const LongVector& a) const;

  Vector center_;
  Matrix hessian_;
  Matrix rest_;  // H − hessian_; empty for 0
  CholeskyFactor factor_;
  double epsilon_;
  struct Inverse;  // found when it is first asked for, and shared by copies
  std::shared_ptr<Inverse> inverse_;
};

/// The last-layer set of a model; for a linear model these are all its parameters.
[[nodiscard]] Ellipsoid last_layer_set(const Model& model, double epsilon);

/// x̃ = [x; 1].
[[nodiscard]] Vector with_one(VectorArg x);

/// √(2ε·x̃ᵀH⁻¹x̃): how far the worst model's score lies below the centre's.
[[nodiscard]] double robustness_penalty(const Ellipsoid& set, VectorArg x_tilde);

/// min θᵀx̃ over the set = cᵀx̃ − √(2ε·x̃ᵀH⁻¹x̃) (theory.md, Theorem 1).
[[nodiscard]] double robust_logit(const Ellipsoid& set, VectorArg x_tilde);

/// The same for each row x (without the 1); identical for any number of threads.
[[nodiscard]] Vector robust_logits(const Ellipsoid& set, RowMatrixArg rows,
                                   const Execution& execution = {});

/// The model of the set that attains the minimum, c − √(2ε)·H⁻¹x̃/√(x̃ᵀH⁻¹x̃); c for x̃ = 0.
[[nodiscard]] Vector worst_model(const Ellipsoid& set, VectorArg x_tilde);

/// ½(θ−c)ᵀH(θ−c): what a model costs, to second order.
[[nodiscard]] double excess_objective(const Ellipsoid& set, VectorArg theta);

/// excess_objective(θ) ≤ ε.
[[nodiscard]] bool contains(const Ellipsoid& set, VectorArg theta);

/// The largest ε for which x̃ still gets a score ≥ t from every model of the set around the same
/// centre: (cᵀx̃ − t)²/(2·x̃ᵀH⁻¹x̃), or 0 where cᵀx̃ ≤ t (theory.md, Proposition 4).
[[nodiscard]] double robustness_radius(const Ellipsoid& set, VectorArg x_tilde, double threshold);

/// The level at which the set first contains a model that ignores every movable column: ½·wₘᵀSwₘ
/// with S the Schur complement of the fixed parameters (the other columns and the bias) in H. Below
/// it everyone has recourse, however far; above it only those for whom the fixed part suffices
/// (theory.md, Theorem 2). 0 when no column may move.
[[nodiscard]] double epsilon_limit(VectorArg center, MatrixArg hessian,
                                   const std::vector<bool>& movable);

}  // namespace ellice
