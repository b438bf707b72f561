#pragma once

#include <Eigen/Cholesky>
#include <memory>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/model/objective.hpp"
#include "ellice/rashomon/contest.hpp"

namespace ellice {

/// The worst head of a softmax model's true set for one class against a rival at a point, between
/// two proved bounds: lower_bound ≤ min (θ_c − θ_r)ᵀx̃ ≤ attained.
struct TrueMargin {
  Matrix heads = {};       // of the set; column k is θₖ = [wₖ; bₖ]
  double attained = 0;     // (θ_c − θ_r)ᵀx̃ of these
  double lower_bound = 0;  // no head of the set gives less (theory.md, Result 35)
  Matrix stationary = {};  // where the dual was evaluated: `heads` before they were made feasible
  double multiplier = 0;   // τ
  int iterations = 0;
};

/// {Θ : L(Θ) ≤ L̂ + ε} for the softmax objective of K classes,
///
///   L(Θ) = (1/n) Σᵢ [log Σₖ exp(θₖᵀx̃ᵢ) − θ_{yᵢ}ᵀx̃ᵢ] + (l2/2)·‖Θ‖²,
///
/// the bias row left out of ‖Θ‖ where it is not penalised. L̂ is the objective of the given
/// minimiser. For K = 2 and l2 it is the logistic TrueSet of θ₁ − θ₀ with l2/2. Const and cheap to
/// copy.
class TrueSoftmax {
 public:
  /// Of features without the constant 1; labels count from 0. Throws Error{argument} unless ε is
  /// above the rounding of the objective, and unless `minimiser` is one: ½gᵀH⁻¹g ≤ ε/100.
  TrueSoftmax(RowMatrix features, std::vector<int> labels, Penalty penalty, Matrix minimiser,
              double epsilon);

  [[nodiscard]] Index classes() const { return rows_->minimiser.cols(); }
  [[nodiscard]] const Matrix& center() const { return rows_->minimiser; }
  [[nodiscard]] double optimum() const { return rows_->optimum; }  // L̂
  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] double objective(MatrixArg heads) const;
  /// H(Θ), the parameters of one class after those of another, with (11ᵀ/K) ⊗ I beside its own:
  /// adding one vector to all classes changes no margin, and without a penalty no loss either.
  [[nodiscard]] Matrix hessian_at(const Matrix& heads) const;
  /// As small as ε may be: above the rounding of L and what the minimiser misses of the minimum.
  [[nodiscard]] double smallest_epsilon() const;
  /// The same rows and optimum with another ε.
  [[nodiscard]] TrueSoftmax with_epsilon(double epsilon) const;

  /// By Newton's method in (Θ, τ), from the ellipsoid's answer or from that at a point nearby. Both
  /// bounds hold wherever it stops.
  [[nodiscard]] TrueMargin worst(VectorArg x_tilde, Index wanted, Index rival,
                                 const TrueMargin* start = nullptr) const;
  /// s = √(cᵀH⁻¹c) at the minimiser: by the ellipsoid the margin falls by √(2ε)·s at most.
  [[nodiscard]] double ellipsoid_spread(VectorArg x_tilde, Index wanted, Index rival) const;
  /// The smallest ε at which some heads give the class no more than `threshold` over the rival,
  /// from below; 0 where the minimiser does so already.
  [[nodiscard]] double robustness_radius(VectorArg x_tilde, Index wanted, Index rival,
                                         double threshold) const;

 private:
  struct Rows {
    RowMatrix features;  // with the 1
    std::vector<int> labels;
    Penalty penalty;
    Matrix minimiser;
    double optimum = 0;
    double score_size = 0;              // mean sum of the sizes of a score's terms
    double decrement = 0;               // ½gᵀH⁻¹g at the minimiser
    Eigen::LLT<Matrix> curvature = {};  // H there
  };
  TrueSoftmax(std::shared_ptr<const Rows> rows, double epsilon);

  /// A point (Θ, τ) of Newton's method, with what is known of it.
  struct Iterate;
  template <typename Rule>
  [[nodiscard]] Iterate newton(const Vector& c, Iterate at, const Rule& rule) const;

  /// c = (e_wanted − e_rival) ⊗ x̃: the margin is cᵀΘ.
  [[nodiscard]] Vector margin_direction(VectorArg x_tilde, Index wanted, Index rival) const;
  [[nodiscard]] double rounding() const;  // of the objective
  /// What ε must be at least so that rounding is small against it.
  [[nodiscard]] double known_epsilon() const;
  /// L, its gradient and hessian_at().
  double derivatives(const Matrix& heads, Vector& gradient, Matrix& hessian) const;
  /// δ ≥ F(Θ) − min F for F = L + τ·cᵀΘ.
  [[nodiscard]] double suboptimality(const Iterate& at) const;

  std::shared_ptr<const Rows> rows_;
  double epsilon_;
};

/// The true set of a softmax model's heads on the rows that it was fitted on, its hidden layers
/// fixed. Throws Error{argument} for a model with one logit and for heads that are not at their
/// optimum, Error{input} where the rows are not the model's (see require_rows_of).
[[nodiscard]] TrueSoftmax true_softmax(const Model& model, const StoredRows& rows, double epsilon);

/// Over all rivals of a contest: the largest ε at which its winner leads each of them, from below.
[[nodiscard]] double robustness_radius(const TrueSoftmax& set, const Contest& contest,
                                       VectorArg x_tilde, double threshold);

}  // namespace ellice
