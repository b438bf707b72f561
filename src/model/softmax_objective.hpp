#pragma once

#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "model/objective.hpp"

namespace ellice {

/// The training objective of a head with K outputs on fixed features,
///
///   L(θ) = (1/n) Σᵢ (log Σ_k e^{θ_kᵀx̃ᵢ} − θ_{yᵢ}ᵀx̃ᵢ) + (l2/2)·‖θ‖²,   x̃ = [x; 1],
///
/// θ = [θ₁; …; θ_K], θ_k = [w_k; b_k] (theory.md, Definition 5), with the blocks
///
///   H_jk(θ) = (1/n) Σᵢ p_ij(δ_jk − p_ik)·x̃ᵢx̃ᵢᵀ + l2·δ_jk·I
///
/// of its Hessian; with weights of rows and columns as in Objective. As there the result is the
/// same for any number of threads.
class SoftmaxObjective {
 public:
  /// Keeps references to the features, one row per example, without the constant 1, and to the
  /// labels, class indices from 0.
  SoftmaxObjective(const LabelledRows& rows, Index classes, const Penalty& penalty,
                   int threads = 1);
  SoftmaxObjective(const RowMatrix& features, const std::vector<int>& labels, Index classes,
                   const Penalty& penalty, int threads = 1)
      : SoftmaxObjective({.features = &features, .labels = &labels}, classes, penalty, threads) {}

  [[nodiscard]] Index classes() const { return classes_; }
  [[nodiscard]] Index parameters() const { return classes_ * (features_->cols() + 1); }
  [[nodiscard]] double loss(VectorArg theta) const;   // mean loss, without the penalty
  [[nodiscard]] double value(VectorArg theta) const;  // L(θ)
  /// L(θ) and its gradient.
  double gradient(VectorArg theta, Vector& gradient) const;
  /// L(θ), its gradient and its Hessian in one pass over the rows.
  double derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const;
  [[nodiscard]] Matrix hessian(VectorArg theta) const;

 private:
  struct Chunk;
  enum class Wanted { loss, gradient, derivatives };
  void evaluate(Chunk& chunk, VectorArg theta, Wanted wanted) const;
  [[nodiscard]] std::vector<Chunk> evaluate_all(VectorArg theta, Wanted wanted) const;
  double sum_gradients(const std::vector<Chunk>& chunks, VectorArg theta, Vector& gradient) const;

  const RowMatrix* features_;
  const std::vector<int>* labels_;
  Vector weights_;  // of mean 1, or none
  Index classes_;
  Vector penalty_;  // its diagonal
  int threads_;
};

/// H + (11ᵀ/K) ⊗ I. Adding one vector to the parameters of every class changes no comparison of
/// classes, so that the objective has no curvature of its own in these directions; the term gives
/// them some and leaves all that is asked of H⁻¹ as it is (theory.md, Result 37). H itself for one
/// output.
[[nodiscard]] Matrix with_gauge(Matrix hessian, Index outputs);

/// What rounding left out of with_gauge(hessian, outputs), entry by entry: both add up to a matrix
/// of which Result 37 holds exactly. Empty for one output, where nothing is added.
[[nodiscard]] Matrix gauge_rest(MatrixArg hessian, Index outputs);

}  // namespace ellice
