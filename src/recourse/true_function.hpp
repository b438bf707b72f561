#pragma once

// The worst score of a true set as a function of a network's input.

#include <optional>
#include <vector>

#include "ellice/model/network_pass.hpp"
#include "ellice/rashomon/contest.hpp"
#include "ellice/rashomon/true_set.hpp"
#include "ellice/rashomon/true_softmax.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"

namespace ellice {

/// g(x) = min aᵀθ over the true set, with a = h̃(x) or one for each rival, in the form that searches
/// understand: f − κ·s with κ = √(2ε) and s = (f − g)/κ, which depends on ε (theory.md, Result 33).
/// g is the proved lower bound. Every worst model starts from the one before; each thread has its
/// own.
class TrueFunction : public RobustFunction {
 public:
  TrueFunction(const Network& network, double epsilon);

  [[nodiscard]] double kappa() const { return kappa_; }
  /// s at a point as a multiple of the ellipsoid's, for the member with the least g.
  [[nodiscard]] virtual double extent(VectorArg x) = 0;
  /// The worst model at a point, where a certificate may begin; null where there are many.
  [[nodiscard]] virtual const TrueWorst* start_at(VectorArg x) = 0;
  /// The largest ε at which the set accepts a point, from below.
  [[nodiscard]] virtual double robustness_radius(VectorArg x, double threshold) = 0;
  [[nodiscard]] virtual double smallest_epsilon() const = 0;

 protected:
  /// f(x) of a network with one output; leaves h̃ in features_.
  double forward(VectorArg x);
  /// (τ/κ)·Jᵀ(M − Mh̃h̃ᵀM/(h̃ᵀMh̃))J for M = WᵀW, W the whitened columns of h̃, bias included, and
  /// J the Jacobian of the features.
  void curvature(const Matrix& whitened, double multiplier, Matrix& hessian);

  NetworkPass pass_;
  double kappa_;
  Vector features_;  // h̃

 private:
  Matrix jacobian_;
};

/// Of a network with one logit.
class TrueLogit final : public TrueFunction {
 public:
  /// Both must outlive this.
  TrueLogit(const Network& network, const TrueSet& set);

  [[nodiscard]] RobustScore value(Index member, VectorArg x) override;
  RobustScore gradient(Index member, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override;
  [[nodiscard]] bool spread_hessian(Index member, Matrix& hessian) override;
  [[nodiscard]] double extent(VectorArg x) override;
  [[nodiscard]] const TrueWorst* start_at(VectorArg x) override;
  [[nodiscard]] double robustness_radius(VectorArg x, double threshold) override;
  [[nodiscard]] double smallest_epsilon() const override { return set_->smallest_epsilon(); }

 private:
  const TrueSet* set_;
  std::optional<TrueWorst> worst_;
};

/// Of the margins of a class over its rivals, one member for each.
class TrueMargins final : public TrueFunction {
 public:
  /// All must outlive this.
  TrueMargins(const Network& network, const TrueSoftmax& set, const Contest& contest);

  [[nodiscard]] Index members() const override { return static_cast<Index>(worst_.size()); }
  [[nodiscard]] RobustScore value(Index member, VectorArg x) override;
  RobustScore gradient(Index member, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override;
  [[nodiscard]] bool spread_hessian(Index member, Matrix& hessian) override;
  [[nodiscard]] double extent(VectorArg x) override;
  [[nodiscard]] const TrueWorst* start_at(VectorArg /*x*/) override { return nullptr; }
  [[nodiscard]] double robustness_radius(VectorArg x, double threshold) override;
  [[nodiscard]] double smallest_epsilon() const override { return set_->smallest_epsilon(); }

 private:
  [[nodiscard]] Index rival(Index member) const {
    return contest_->rivals[static_cast<std::size_t>(member)];
  }
  /// θ_y − θ_r.
  [[nodiscard]] Vector pair_of(const Matrix& heads, Index member) const {
    return heads.col(contest_->winner) - heads.col(rival(member));
  }

  const TrueSoftmax* set_;
  const Contest* contest_;
  std::vector<TrueMargin> worst_;  // by member, at the last point; without heads before the first
};

}  // namespace ellice
