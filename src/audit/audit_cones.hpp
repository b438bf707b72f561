#pragma once

// The ellipsoids of models that judge a point, in the arithmetic of the verifier: elimination in
// extended precision, no factor that an answer was found with.

#include <memory>
#include <vector>

#include "certificate/eliminated_hessian.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice::audit {

using LongVector = EliminatedHessian::LongVector;
using LongMatrix = EliminatedHessian::LongMatrix;

/// {φ : ½(φ−φ̂)ᵀH(φ−φ̂) ≤ ε}, seen through the scores φᵀBx̃ that its models give a point x̃ = [x; 1]:
/// with θ = Bᵀφ these are θᵀx̃. B is the identity for a model of its own, moves x̃ to the columns of
/// a member of an ensemble, and takes the difference of two classes' scores.
class Cone {
 public:
  Cone(std::shared_ptr<const EliminatedHessian> hessian, LongVector center, LongMatrix lift);

  /// θ̂ᵀx̃ and √(x̃ᵀSx̃), S = BᵀH⁻¹B: the worst score is logit − √(2ε)·spread (Theorem 1).
  struct Score {
    long double logit = 0;
    long double spread = 0;
    [[nodiscard]] double robust(double epsilon) const;
  };
  [[nodiscard]] Score score(const LongVector& x_tilde) const;
  /// The largest ε for which the score stays at t or above; 0 where it is not above it.
  [[nodiscard]] double radius(const LongVector& x_tilde, double threshold) const;
  /// The same where H⁻¹Bx̃ is at hand, as solve() gives it.
  [[nodiscard]] double radius(const LongVector& x_tilde, const LongVector& image,
                              double threshold) const;
  /// What it may be found to be in double precision, where a = Bx̃ is off by up to `lost`. With
  /// m = φ̂ᵀa − t and s = √(aᵀH⁻¹a) it is (m/s)²/2. Of m, |φ̂|ᵀlost and the rounding of its own sum
  /// go astray; of s, a norm, no more than the norm of what a is off by, √(lostᵀ|H⁻¹|lost); the
  /// solve takes its share of the whole (rounding()). Where m is a small difference, because ε is
  /// small, the first is what counts.
  struct Radii {
    double least = 0;
    double most = 0;
  };
  [[nodiscard]] Radii radii(const LongVector& x_tilde, double threshold,
                            const LongVector& lost) const;
  [[nodiscard]] const LongMatrix& lift() const { return lift_; }
  [[nodiscard]] LongVector solve(const LongVector& x_tilde) const;  // H⁻¹Bx̃
  [[nodiscard]] const LongMatrix& hessian() const { return hessian_->hessian(); }
  /// θ of the model that scores lowest.
  [[nodiscard]] LongVector worst(const LongVector& x_tilde, double epsilon) const;
  [[nodiscard]] LongVector worst(const LongVector& x_tilde, const LongVector& image,
                                 double epsilon) const;
  /// Makes what is otherwise made when first asked for, so that many threads may ask.
  void prepare() const { (void)spread(); }
  /// The least ½(φ−φ̂)ᵀH(φ−φ̂) of a model with Bᵀφ = θ.
  [[nodiscard]] long double excess(const LongVector& theta) const;

  /// What a solve with H in double precision may lose of a number, relatively: that grows with the
  /// condition of H.
  [[nodiscard]] double rounding() const;

  [[nodiscard]] const LongVector& center() const { return theta_; }  // θ̂
  [[nodiscard]] const LongMatrix& spread() const;                    // S
  /// R with RᵀR = S: the norm of Rx̃ loses half the digits that x̃ᵀSx̃ does.
  [[nodiscard]] Matrix root() const;

 private:
  [[nodiscard]] LongMatrix inverse() const;                          // of H
  [[nodiscard]] LongVector lifted(const LongVector& x_tilde) const;  // Bx̃
  [[nodiscard]] LongVector lowered(const LongVector& image) const;   // Bᵀ of it
  [[nodiscard]] Score score(const LongVector& a, const LongVector& image) const;

  std::shared_ptr<const EliminatedHessian> hessian_;
  LongVector center_;  // φ̂
  LongMatrix lift_;    // B
  bool is_own_;        // B is the identity
  LongVector theta_;
  mutable LongMatrix spread_;  // made when first asked for
  mutable std::shared_ptr<const EliminatedHessian> eliminated_spread_;
};

/// B of each rival: (e_w − e_r) ⊗ I, for the heads of all classes.
[[nodiscard]] std::vector<LongMatrix> lifts_of(const Model& model, const Contest& contest);

/// One for the last-layer set of a model with one logit, over the features of its head; one for
/// each model of an ensemble, over the first one's columns where all are linear and over its own
/// features otherwise; one for each rival of a contest.
[[nodiscard]] std::vector<Cone> cones_of(const Model& model, const SetChoice& set);

/// The smallest over the cones.
[[nodiscard]] double radius(const std::vector<Cone>& cones, const LongVector& x_tilde,
                            double threshold);
[[nodiscard]] double robust_logit(const std::vector<Cone>& cones, const LongVector& x_tilde,
                                  double epsilon);

/// What one of them may lose by a solve in double precision.
[[nodiscard]] double rounding(const std::vector<Cone>& cones);

/// [x; 1].
[[nodiscard]] LongVector extended(VectorArg x);

}  // namespace ellice::audit
