#pragma once

#include <vector>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"

namespace ellice {

/// The rows' weights scaled to a mean of 1, so that (1/n)·Σ vᵢφᵢ = Σ wᵢφᵢ/Σ wᵢ; none where they
/// have none. Throws Error{argument} unless they are positive, finite and as many as the rows.
[[nodiscard]] Vector mean_one_weights(const LabelledRows& rows);

/// Steps δ = middle + Rᵀu with ‖u‖ ≤ radius, which the step 0 is one of: they change the score of x̃
/// by middleᵀx̃ ± radius·‖Rx̃‖.
struct StepEllipsoid {
  Vector middle = {};
  Matrix root = {};  // R
  double radius = 0;
};

/// The training objective of a head θ = [w; b] on fixed features,
///
///   L(θ) = (1/n) Σᵢ φ(θᵀx̃ᵢ, yᵢ) + (l2/2)·‖θ‖²,   x̃ = [x; 1]
///
/// (theory.md, Definition 1), with its gradient and Hessian
///
///   H(θ) = (1/n) Σᵢ φ″(θᵀx̃ᵢ)·x̃ᵢx̃ᵢᵀ + l2·I,
///
/// or with weights of rows and columns, Σᵢ wᵢφᵢ/Σᵢ wᵢ + (l2/2)·Σⱼ dⱼθⱼ² (Result 55).
///
/// The Rashomon ellipsoid is built from H, and training minimises L with it: one place for both.
/// Rows are taken in chunks that depend on their number only and added up in order, so that the
/// result is the same for any number of threads.
class Objective {
 public:
  /// Keeps a reference to the features, one row per example, without the constant 1.
  Objective(const LabelledRows& rows, LossKind kind, const Penalty& penalty, int threads = 1);
  Objective(const RowMatrix& features, const std::vector<int>& labels, LossKind kind,
            const Penalty& penalty, int threads = 1)
      : Objective({.features = &features, .labels = &labels}, kind, penalty, threads) {}

  [[nodiscard]] Index parameters() const { return features_->cols() + 1; }
  [[nodiscard]] double loss(VectorArg theta) const;   // mean loss, without the penalty
  [[nodiscard]] double value(VectorArg theta) const;  // L(θ)
  /// L(θ) and its gradient.
  double gradient(VectorArg theta, Vector& gradient) const;
  /// L(θ), its gradient and its Hessian in one pass over the rows.
  double derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const;
  [[nodiscard]] Matrix hessian(VectorArg theta) const;
  /// B with L(θ+δ) ≤ L(θ) + ∇L(θ)ᵀδ + ½δᵀBδ for every step δ of the ellipsoid (theory.md,
  /// Result 73).
  [[nodiscard]] Matrix majorant(VectorArg theta, const StepEllipsoid& steps) const;

 private:
  struct Chunk;
  enum class Wanted { loss, gradient, hessian, derivatives };
  void evaluate(Chunk& chunk, VectorArg theta, Wanted wanted) const;
  void bend_above(Chunk& chunk, VectorArg theta, const StepEllipsoid& steps) const;
  [[nodiscard]] std::vector<Chunk> evaluate_all(VectorArg theta, Wanted wanted) const;
  double sum_gradients(const std::vector<Chunk>& chunks, VectorArg theta, Vector& gradient) const;
  [[nodiscard]] Matrix sum_hessians(const std::vector<Chunk>& chunks) const;

  const RowMatrix* features_;
  Vector signs_;    // 2y − 1
  Vector weights_;  // of mean 1, or none
  LossKind kind_;
  Vector penalty_;  // its diagonal
  int threads_;
};

}  // namespace ellice
