#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// The loss φ(f, y) of a score f for a label y in {0, 1}; of one score for each class with softmax.
enum class LossKind {
  logistic,  // −y·log σ(f) − (1−y)·log(1−σ(f))
  squared,   // ½(f − (2y−1))²: regression on ±1, so that the decision threshold stays 0
  softmax,   // log Σ_k e^{f_k} − f_y, y in {0, …, K−1}
};

template <>
struct EnumNames<LossKind> {
  static constexpr std::array<std::string_view, 3> names = {"logistic", "squared", "softmax"};
};

/// σ(f) = 1/(1+e^{−f}), without overflow.
[[nodiscard]] inline double sigmoid(double f) {
  const double e = std::exp(-std::abs(f));
  return f >= 0 ? 1 / (1 + e) : e / (1 + e);
}

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

}  // namespace ellice
