#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"

namespace ellice {

/// The loss φ(f, y) of a score f for a label y in {0, 1}.
enum class LossKind {
  logistic,  // −y·log σ(f) − (1−y)·log(1−σ(f))
  squared,   // ½(f − (2y−1))²: regression on ±1, so that the decision threshold stays 0
};

template <>
struct EnumNames<LossKind> {
  static constexpr std::array<std::string_view, 2> names = {"logistic", "squared"};
};

/// σ(f) = 1/(1+e^{−f}), without overflow.
[[nodiscard]] inline double sigmoid(double f) {
  const double e = std::exp(-std::abs(f));
  return f >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/// φ and its first two derivatives in f for a batch of scores. Keeps its storage between calls:
/// only a batch longer than all before it allocates.
class LossBatch {
 public:
  /// `signs` holds 2y − 1. Nothing overflows or cancels, whatever the size of the scores.
  void evaluate(LossKind kind, VectorArg scores, VectorArg signs);
  /// The second derivative alone.
  void evaluate_curvature(LossKind kind, VectorArg scores);

  using Values = Eigen::VectorBlock<const Vector>;
  [[nodiscard]] Values value() const { return value_.head(size_); }
  [[nodiscard]] Values slope() const { return slope_.head(size_); }
  [[nodiscard]] Values curvature() const { return curvature_.head(size_); }

 private:
  void resize(Index size);

  Index size_ = 0;
  Vector value_, slope_, curvature_, decay_;
};

}  // namespace ellice
