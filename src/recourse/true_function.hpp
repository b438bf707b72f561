#pragma once

// The worst score of a true set as a function of a network's input.

#include <optional>

#include "ellice/model/network_pass.hpp"
#include "ellice/rashomon/true_set.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"

namespace ellice {

/// g(x) = min θᵀh̃(x) over the true set in the form that searches understand: f − κ·s with
/// κ = √(2ε) and s = (f − g)/κ, which depends on ε (theory.md, Result 33). g is the proved lower
/// bound. Every worst model starts from the one before; each thread has its own.
class TrueFunction final : public RobustFunction {
 public:
  /// Both must outlive this.
  TrueFunction(const Network& network, const TrueSet& set);

  [[nodiscard]] RobustScore value(Index member, VectorArg x) override;
  RobustScore gradient(Index member, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override;
  [[nodiscard]] bool spread_hessian(Index member, Matrix& hessian) override;

  [[nodiscard]] double kappa() const { return kappa_; }
  /// The worst model at the last point, and its features.
  [[nodiscard]] const TrueWorst& worst() const { return *worst_; }
  [[nodiscard]] const Vector& features_and_one() const { return features_; }

 private:
  const TrueSet* set_;
  NetworkPass pass_;
  double kappa_;
  Vector features_;  // h̃
  std::optional<TrueWorst> worst_;
  Matrix jacobian_;
  Matrix image_;
};

}  // namespace ellice
