#pragma once

#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"
#include "model/loss_batch.hpp"
#include "model/objective.hpp"

namespace ellice {

/// The training objective of a whole network,
///
///   L(θ) = (1/n) Σᵢ φ(f(xᵢ; θ), yᵢ) + (l2/2)·‖θ‖²,
///
/// θ the weights and biases of all layers (the biases only if the penalty says so; theory.md,
/// Definition 3), with weights of rows as in Objective. For a network without hidden layers it is
/// Objective; only these have factors of columns in their penalty. Keeps its storage, so that
/// no call allocates after the first; each thread has its own. Single-threaded: many networks are
/// evaluated side by side instead.
class NetworkObjective {
 public:
  NetworkObjective(const LabelledRows& rows, LossKind kind, Penalty penalty);

  [[nodiscard]] double loss(const Network& network);   // mean, without the penalty
  [[nodiscard]] double value(const Network& network);  // L(θ)
  /// L(θ) and its gradient in the order of parameter_vector().
  double gradient(const Network& network, Vector& gradient);
  /// The same for some of the rows (a mini-batch), whose mean replaces that over all; weights are
  /// scaled over all rows, so that it has no bias.
  double gradient(const Network& network, const std::vector<Index>& batch, Vector& gradient);

 private:
  /// Σ φ over some rows (all of them if `batch` is null), and the gradient of their mean if wanted.
  double evaluate(const Network& network, const std::vector<Index>* batch, Vector* gradient);
  void prepare(const Network& network);
  /// Layer inputs and scores of the block whose encoded rows start at `first`.
  void forward(const Network& network, const double* first, Index rows);
  /// Σ φ of the block, whose rows are `first` … of the data or of the batch.
  double evaluate_losses(Index first, Index rows, bool is_batch);
  /// Adds the block's part to the gradient; `weight` is one row's share of the mean.
  void backward(const Network& network, Index rows, double weight, Vector& gradient);
  double add_penalty(const Network& network, Vector* gradient) const;
  double add_factored_penalty(const Layer& head, Vector* gradient) const;

  [[nodiscard]] bool is_softmax() const { return kind_ == LossKind::softmax; }

  const RowMatrix* rows_;
  const std::vector<int>* labels_;
  Vector signs_;    // 2y − 1, of the losses of one score
  Vector weights_;  // of mean 1, or none
  LossKind kind_;
  Penalty penalty_;
  // Rows go through the network in blocks that stay in the first-level cache; what follows holds
  // one block.
  std::vector<const double*> inputs_;   // a_0 … a_{L−1}
  std::vector<RowMatrix> activations_;  // a_1 … a_{L−1}
  std::vector<RowMatrix> adjoints_;     // of z_1 … z_{L−1}
  Vector scores_;
  RowMatrix class_scores_;
  LossBatch losses_;
  SoftmaxBatch class_losses_;
  RowMatrix batch_rows_;
  Vector batch_signs_;
  Vector batch_weights_;
  std::vector<int> batch_labels_;
};

}  // namespace ellice
