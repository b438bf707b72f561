#pragma once

// What the models on the boundary of a last-layer set do to the accuracy on the training rows. The
// least accurate model of an ellipsoid cannot be found in general, so that the worst of a fixed
// sample stands for it: what is said here is said of that sample (theory.md, Result 34).

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

/// Shares of the training rows on the right side of the threshold.
struct BoundaryAccuracy {
  double base = 0;   // of the centre
  double mean = 0;   // over the sampled boundary models
  double worst = 0;  // seen among them
};

/// Rays θ(r) = c + r·L⁻ᵀu from the centre of a model's last-layer set, for a fixed sample of
/// directions u; θ(√(2ε)) is a boundary model. The same for every run and any number of threads.
class BoundaryModels {
 public:
  static constexpr Index default_count = 400;

  /// `model` must outlive this. Throws Error{input} for rows of other columns.
  BoundaryModels(const Model& model, const StoredRows& rows, double threshold,
                 Index count = default_count);

  [[nodiscard]] BoundaryAccuracy accuracy(double epsilon, const Execution& execution = {}) const;

  /// The largest ε up to which no sampled model loses more than this share of the rows; infinite if
  /// none ever does. Exact for the sample: along a ray every row changes sides at most once.
  [[nodiscard]] double largest_epsilon(double loss, const Execution& execution = {}) const;

 private:
  [[nodiscard]] double first_loss(Index ray, Index allowed) const;

  RowMatrix features_;  // with a last column of ones
  std::vector<int> labels_;
  double threshold_;
  Vector logits_;         // of the centre
  RowMatrix directions_;  // L⁻ᵀu, one per row
};

}  // namespace ellice
