#pragma once

// What retraining does to an answer, predicted: the base model's logit at a fixed row varies from
// one training sample to the next, and a robust answer keeps a margin (theory.md, Result 33).

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

class CholeskyFactor;

/// On which rows a model is trained again.
struct Retraining {
  /// That many rows of the same population, independent of the old ones; nothing for as many rows
  /// drawn from the old ones.
  std::optional<Index> fresh_rows = {};

  /// κ: the variance of a retrained logit around the model's own, in units of x̃ᵀH⁻¹x̃/n. 1 for the
  /// same rows drawn again; 1 + n/n′ for fresh ones, which bring their own error beside the
  /// model's.
  [[nodiscard]] double factor(Index rows) const;
  /// As it is written: same, fresh:500.
  [[nodiscard]] std::string text() const;
  bool operator==(const Retraining&) const = default;
};

/// «same» or «fresh:N». Throws Error{argument} saying what is understood.
[[nodiscard]] Retraining parse_retraining(std::string_view text);

/// Why survival is not predicted for this set of this model, or nothing if it is: the prediction is
/// for the last-layer set with the objective's own H.
[[nodiscard]] std::string no_survival_reason(const Model& model, const SetChoice& set);

/// The probability Φ(√(2nε/(κσ²))), at least, that a row with this robustness radius is accepted by
/// the retrained model; see RetrainedHead for a given row. σ² = 1 for the logistic loss, whose
/// curvature is the variance of its slope; the mean squared residual for the squared loss, where it
/// is not.
[[nodiscard]] double predicted_survival(const Model& model, double epsilon,
                                        const Retraining& retraining);

/// How far retraining moves the scores of a linear model: V = σ²·H⁻¹H₀H⁻¹/n, the covariance of its
/// parameters from one training sample to the next, H₀ = H without the penalty. It knows what a
/// penalty takes from the variance in each direction, which the rule above does not: H⁻¹ ⪰ nV/σ²
/// (theory.md, Result 33).
class RetrainedHead {
 public:
  /// Throws Error{argument} for a network.
  explicit RetrainedHead(const Model& model);

  /// √(κ·x̃ᵀVx̃): the standard deviation of a retrained model's score of x̃.
  [[nodiscard]] double deviation(VectorArg x_tilde, const Retraining& retraining) const;
  /// P(θ′ᵀx̃ ≥ t) for a row that scores `margin` above t, less the selection effect (Result 35).
  [[nodiscard]] double survival(VectorArg x_tilde, double margin, double shift,
                                const Retraining& retraining) const;
  /// F with V = FFᵀ.
  [[nodiscard]] Matrix covariance_factor() const;

 private:
  std::shared_ptr<const CholeskyFactor> factor_;
  Matrix hessian_;
  Vector penalty_;  // diagonal of H − H₀
  double noise_ = 1;
  Index rows_ = 1;
};

/// The inverse: ε = κσ²z²/(2n) with Φ(z) = survival; 0 where survival ≤ 1/2. Throws Error{argument}
/// unless 0 < survival < 1.
[[nodiscard]] double survival_epsilon(const Model& model, double survival,
                                      const Retraining& retraining);

}  // namespace ellice
