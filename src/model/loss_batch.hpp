#pragma once

#include "ellice/model/loss.hpp"

namespace ellice {

/// φ and its first two derivatives in f for a batch of scores, of the losses of one score. Keeps
/// its storage between calls: only a batch longer than all before it allocates.
class LossBatch {
 public:
  /// `signs` holds 2y − 1. Nothing overflows or cancels, whatever the size of the scores.
  void evaluate(LossKind kind, VectorArg scores, VectorArg signs);
  /// The second derivative alone.
  void evaluate_curvature(LossKind kind, VectorArg scores);
  /// Multiplies what evaluate(), or evaluate_curvature(), found by one number for each score.
  void weigh(VectorArg weights);
  void weigh_curvature(VectorArg weights);

  using Values = Eigen::VectorBlock<const Vector>;
  [[nodiscard]] Values value() const { return value_.head(size_); }
  [[nodiscard]] Values slope() const { return slope_.head(size_); }
  [[nodiscard]] Values curvature() const { return curvature_.head(size_); }

 private:
  void resize(Index size);

  Index size_ = 0;
  Vector value_, slope_, curvature_, decay_;
};

/// c with φ(f+u) ≤ φ(f) + φ′(f)u + ½c·u² for all u of [low, high], which holds 0; as small as it
/// can be, but for rounding (theory.md, Result 73). Of the losses of one score.
[[nodiscard]] double bend_above(LossKind kind, double score, double low, double high);

/// The softmax loss of a batch of rows, one score per class in each. Keeps its storage between
/// calls.
class SoftmaxBatch {
 public:
  /// `labels` points to one class index per row, and `weights`, if any, to a number by which its
  /// loss and slope count. Nothing overflows, whatever the size of the scores.
  void evaluate(RowMatrixArg scores, const int* labels, const double* weights = nullptr);

  [[nodiscard]] double sum() const { return sum_; }  // of the losses
  /// ∂φ/∂f: p − e_y for each row, times its weight.
  [[nodiscard]] const RowMatrix& slope() const { return slope_; }
  /// p_k = e^{f_k}/Σ e^{f_j}.
  [[nodiscard]] const RowMatrix& probabilities() const { return probabilities_; }

 private:
  double sum_ = 0;
  RowMatrix slope_, probabilities_;
};

}  // namespace ellice
