#pragma once

#include <vector>

#include "ellice/core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"

namespace ellice {

/// What is added to the mean loss: (l2/2)·Σⱼ dⱼ·θⱼ², the bias included unless penalize_bias is
/// false, and Σⱼ lⱼ·|θⱼ| without the bias.
struct Penalty {
  double l2 = 1e-3;
  bool penalize_bias = true;
  Vector factors = {};  // dⱼ ≥ 0 of each column, of linear models; none: all 1. The bias has 1
  /// lⱼ ≥ 0 of each column, of linear models with one score and a free bias; none: all 0. What is
  /// smooth leaves them out (Objective); HeadObjective knows them.
  Vector l1 = {};

  /// l2·d of the parameters [w; b] of each output, one after the other; 0 for a free bias. Throws
  /// Error{argument} unless l2 ≥ 0 and there is a factor ≥ 0 for each column, or none at all.
  [[nodiscard]] Vector diagonal(Index columns, Index outputs = 1) const;
};

/// Encoded rows and their labels (0 or 1, or a class index for the softmax loss); what they point
/// to must outlive the view.
struct LabelledRows {
  const RowMatrix* features = nullptr;
  const std::vector<int>* labels = nullptr;
  Index classes = 2;                // of the softmax loss: outputs of a network that is fitted
  const Vector* weights = nullptr;  // wᵢ > 0 of each row; null or empty: all 1
};

/// The rows' weights scaled to a mean of 1, so that (1/n)·Σ vᵢφᵢ = Σ wᵢφᵢ/Σ wᵢ; none where they
/// have none. Throws Error{argument} unless they are positive, finite and as many as the rows.
[[nodiscard]] Vector mean_one_weights(const LabelledRows& rows);

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

 private:
  struct Chunk;
  enum class Wanted { loss, gradient, hessian, derivatives };
  void evaluate(Chunk& chunk, VectorArg theta, Wanted wanted) const;
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
