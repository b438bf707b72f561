#pragma once

#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/network.hpp"
#include "ellice/model/objective.hpp"

namespace ellice {

/// Encoded rows and their labels (0 or 1); the rows must outlive the view.
struct LabelledRows {
  const RowMatrix* features = nullptr;
  const std::vector<int>* labels = nullptr;
};

/// The training objective of a whole network,
///
///   L(θ) = (1/n) Σᵢ φ(f(xᵢ; θ), yᵢ) + (l2/2)·‖θ‖²,
///
/// θ the weights and biases of all layers (the biases only if the penalty says so; theory.md,
/// Definition 3). For a network without hidden layers it is Objective. Keeps its storage, so that
/// no call allocates after the first; each thread has its own. Single-threaded: many networks are
/// evaluated side by side instead.
class NetworkObjective {
 public:
  NetworkObjective(LabelledRows rows, LossKind kind, Penalty penalty);

  [[nodiscard]] double loss(const Network& network);   // mean, without the penalty
  [[nodiscard]] double value(const Network& network);  // L(θ)
  /// L(θ) and its gradient in the order of parameter_vector().
  double gradient(const Network& network, Vector& gradient);
  /// The same for some of the rows (a mini-batch), whose mean replaces that over all.
  double gradient(const Network& network, const std::vector<Index>& batch, Vector& gradient);

 private:
  double forward(const Network& network, RowMatrixArg rows, VectorArg signs);
  double backward(const Network& network, RowMatrixArg rows, Vector& gradient);
  [[nodiscard]] double penalty(const Network& network) const;

  const RowMatrix* rows_;
  Vector signs_;  // 2y − 1
  LossKind kind_;
  Penalty penalty_;
  std::vector<RowMatrix> activations_;  // a_1 … a_{L−1}, then the logits
  std::vector<RowMatrix> adjoints_;
  LossBatch batch_loss_;
  RowMatrix batch_rows_;
  Vector batch_signs_;
};

}  // namespace ellice
