#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ellice/core/types.hpp"
#include "solver/box_projection.hpp"
#include "solver/robust_logit.hpp"
#include "solver/worst_head.hpp"

namespace ellice {

/// What the worst model of a set makes of a point x: an affine function that lies on or above
/// g everywhere and touches it at x, up to value − proved.
struct Support {
  Vector x = {};
  double value = 0;   // attained at x by a model of the set
  double proved = 0;  // g(x) is not less
  double scale = 0;   // Σ|θᵢx̃ᵢ| + penalty: what rounding errors of g are relative to
  Vector model = {};  // [w; b] in the coordinates of x
  std::shared_ptr<const WorstHead> worst = {};  // sets that are searched: the model as a head

  [[nodiscard]] auto gradient() const { return model.head(x.size()); }
};

/// Concave functions g_k of x, each the worst score over a convex set of models (theory.md,
/// Result 31): by value, supergradient and proved bound, and with a cone that equals it or stands
/// in for it. May remember where it was asked last: each thread has its own.
class RobustOracle {
 public:
  virtual ~RobustOracle() = default;
  [[nodiscard]] virtual Index parts() const = 0;
  /// `share`: of the penalty, by which the bounds may differ where that is less work.
  [[nodiscard]] virtual Support at(Index part, VectorArg x, double share = 0) = 0;
  /// Whether every g_k is the robust logit of its cone.
  [[nodiscard]] virtual bool is_conic() const = 0;
  /// g_k itself, or its second-order picture, at the oracle's ε.
  [[nodiscard]] virtual const BoxFactor& cone(Index part) const = 0;
  [[nodiscard]] virtual double epsilon() const = 0;
  /// A cone with the value, gradient and curvature of g_k at the point of a support, which was the
  /// last to be asked for (theory.md, Result 30). It costs more than corrected_cone(), which serves
  /// where it is not known.
  [[nodiscard]] virtual BoxFactor curved_cone(const Support& at, Index part, double boost) const;
  /// A cone that is nowhere less than g_k and equals it at the point of a support (theory.md,
  /// Result 73), at the oracle's ε; none where no such is known.
  [[nodiscard]] virtual std::optional<BoxFactor> outer_cone(const Support& /*at*/,
                                                            Index /*part*/) const {
    return {};
  }
};

/// A cone with the value and the gradient of g_k at the point of a support and the shape of the
/// oracle's own (theory.md, Result 29), at the oracle's ε; its extent times `boost`.
[[nodiscard]] BoxFactor corrected_cone(const RobustOracle& oracle, const Support& at, Index part,
                                       double boost);

/// The cone of H⁻¹ (`inverse`) that touches g_k there, its centre's score lying `extent` times
/// √(x̃ᵀH⁻¹x̃) above that of the worst model.
[[nodiscard]] BoxFactor touching_cone(const Matrix& inverse, const Support& at, double extent,
                                      double epsilon);

/// Robust logits of ellipsoids.
class ConicOracle final : public RobustOracle {
 public:
  /// The factors must outlive it.
  ConicOracle(const std::vector<BoxFactor>& factors, double epsilon);
  ConicOracle(const BoxFactor& factor, double epsilon);

  [[nodiscard]] Index parts() const override { return static_cast<Index>(factors_.size()); }
  [[nodiscard]] Support at(Index part, VectorArg x, double share = 0) override;
  [[nodiscard]] bool is_conic() const override { return true; }
  [[nodiscard]] const BoxFactor& cone(Index part) const override {
    return *factors_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] double epsilon() const override { return epsilon_; }

 private:
  std::vector<const BoxFactor*> factors_;
  std::vector<RobustLogit> logits_;
  double epsilon_;
  RobustLogit::State state_;
};

}  // namespace ellice
