#pragma once

// What retraining does to an answer, predicted: the model's logit at a row varies from one training
// sample to the next, and a robust answer keeps a margin (theory.md, Result 33 and Result 35).

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

/// On which rows a model is trained again.
struct Retraining {
  /// That many rows of the same population, independent of the old ones; nothing for as many rows
  /// drawn from the old ones.
  std::optional<Index> fresh_rows = {};

  /// κ: the variance of a retrained logit around the model's own, in units of x̃ᵀVx̃. 1 for the
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

/// The probability Φ(√(2nε/(κσ²))) that a row with this robustness radius is accepted by the
/// retrained model if the model holds, rows are many and nothing is selected: where a search for ε
/// begins, and what is known without rows. σ² = 1 for the logistic loss, the mean squared residual
/// for the squared loss.
[[nodiscard]] double predicted_survival(const Model& model, double epsilon,
                                        const Retraining& retraining);

/// The inverse: ε = κσ²z²/(2n) with Φ(z) = survival; 0 where survival ≤ 1/2. Throws Error{argument}
/// unless 0 < survival < 1.
[[nodiscard]] double survival_epsilon(const Model& model, double survival,
                                      const Retraining& retraining);

/// Two numbers, the smaller first.
struct Interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] double width() const { return high - low; }
  bool operator==(const Interval&) const = default;
};

/// What refitted models showed beyond the sandwich, where rows are few for the parameters.
struct RefitCorrection {
  double shift = 0;  // of the logit
  double scale = 1;  // on its standard deviation
  bool operator==(const RefitCorrection&) const = default;
};

/// The probability that a retrained model accepts one answer: a mean over models.
struct Survival {
  double mean = 0;
  std::optional<RefitCorrection> refits = {};  // rows drawn again
  /// Fresh rows: the fall of the logit by the selection effect (Result 35), how sure the mean is,
  /// and where single training samples put this answer's own probability, nine of ten.
  std::optional<double> shift = {};
  std::optional<Interval> interval = {};
  std::optional<Interval> spread = {};
};

/// By how much a selection effect lowers the logit, for each estimate of the error.
using SelectionShifts = std::array<double, Sampling::estimates>;

/// How far retraining moves the scores of a linear model: V = H⁻¹BH⁻¹/n, the covariance of its
/// parameters from one training sample to the next, B the second moments of the slopes of its rows.
/// Copies share what is computed when it is first asked for.
class RetrainedHead {
 public:
  /// Why none can be made: nothing is known of the rows. Empty where one can.
  [[nodiscard]] static std::string missing(const Model& model, const StoredRows* rows);

  /// `model` and `rows` (those of the model; may be null) must outlive this. Throws Error{argument}
  /// for a network and where missing() says why.
  explicit RetrainedHead(const Model& model, const StoredRows* rows = nullptr);

  /// Of a row that scores `margin` above the threshold, under as many rows drawn from the old ones.
  /// Nothing where that takes refits and there are no rows for them.
  [[nodiscard]] std::optional<Survival> drawn_again(VectorArg x_tilde, double margin) const;
  /// Under that many fresh rows. Nothing where the model explains so little that the effect of
  /// selecting people cannot be told.
  [[nodiscard]] std::optional<Survival> fresh(VectorArg x_tilde, double margin,
                                              const SelectionShifts& shifts, Index rows) const;
  /// β(f₀ − f̄): what the logit of the person himself says about the model's error.
  [[nodiscard]] SelectionShifts person_shift(double logit) const;

  /// √(x̃ᵀVx̃).
  [[nodiscard]] double deviation(VectorArg x_tilde, Sampling::Estimate estimate) const;
  [[nodiscard]] const Matrix& covariance(Sampling::Estimate estimate) const;
  [[nodiscard]] const Matrix& inverse_hessian() const;
  /// F with FFᵀ = V of the middle estimate, and for each estimate the G with GFᵀ = V: a draw Fg
  /// with Gg beside it serves all three.
  struct Draws {
    Matrix factor = {};
    std::array<Matrix, Sampling::estimates> twins = {};
  };
  [[nodiscard]] const Draws& draws() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ellice
