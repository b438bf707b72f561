#pragma once

#include <Eigen/Cholesky>
#include <string>
#include <variant>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"
#include "model/objective.hpp"
#include "model/softmax_objective.hpp"
#include "solver/newton.hpp"

namespace ellice {

/// The objective of a head on fixed features, with one output or with one per class: what training
/// minimises, and what the true set of near-optimal heads is about. Parameters θ = [θ₁; …; θ_K],
/// θₖ = [wₖ; bₖ]. With an l1 penalty it has corners: values are those of all of L, gradients and
/// Hessians those of the rest (theory.md, Result 58).
class HeadObjective {
 public:
  /// Keeps references to features and labels.
  HeadObjective(const LabelledRows& rows, LossKind kind, Index outputs, const Penalty& penalty,
                int threads = 1);
  HeadObjective(const RowMatrix& features, const std::vector<int>& labels, LossKind kind,
                Index outputs, const Penalty& penalty, int threads = 1)
      : HeadObjective({.features = &features, .labels = &labels}, kind, outputs, penalty, threads) {
  }

  [[nodiscard]] Index outputs() const { return outputs_; }
  /// lⱼ of each parameter, that of the bias being 0; none without an l1 penalty.
  [[nodiscard]] const Vector& corners() const { return corners_; }
  [[nodiscard]] Index parameters() const;
  [[nodiscard]] double loss(VectorArg theta) const;   // mean loss, without the penalty
  [[nodiscard]] double value(VectorArg theta) const;  // L(θ)
  /// L(θ) and its gradient.
  double gradient(VectorArg theta, Vector& gradient) const;
  /// L(θ), its gradient and its Hessian, the latter without the gauge term.
  double derivatives(VectorArg theta, Vector& gradient, Matrix& hessian) const;
  /// H(θ) with the gauge term of several outputs (see with_gauge): positive definite wherever L has
  /// one minimiser up to what all classes have in common.
  [[nodiscard]] Matrix hessian(VectorArg theta) const;
  /// B with L(θ+δ) ≤ L(θ) + ∇L(θ)ᵀδ + ½δᵀBδ for every step δ of the ellipsoid (theory.md,
  /// Result 73), L without its corners; of one output.
  [[nodiscard]] Matrix majorant(VectorArg theta, const StepEllipsoid& steps) const;
  /// The minimiser. Throws Error{input} when the classes can be separated and l2 = 0, as there is
  /// none, Error{input} when Newton stops short of its tolerance. `source` names the data.
  [[nodiscard]] NewtonResult minimize(const NewtonOptions& options,
                                      const std::string& source) const;

  /// The largest size of a score that parameters θ give to a row.
  [[nodiscard]] double largest_score(VectorArg theta) const;
  /// Whether suboptimality() follows from the residual alone, so that the Hessian may be that of
  /// another θ.
  [[nodiscard]] bool bounds_by_residual() const;
  /// δ ≥ F(θ) − min F for F = L + cᵀθ with gradient r and Hessian H (with the gauge term) at θ,
  /// where c adds up to 0 over the classes (theory.md, Result 28 and Result 32); ∞ where nothing is
  /// known.
  [[nodiscard]] double suboptimality(VectorArg theta, const Vector& residual,
                                     const Eigen::LLT<Matrix>& hessian) const;
  /// The same with corners, for F on {L ≤ level}: `slopes` and H, which may be missing, are those
  /// of F without its corners at θ, that of the bias being 0 (Result 58).
  [[nodiscard]] double cornered_suboptimality(VectorArg theta, const Vector& slopes,
                                              const Matrix* hessian, double level) const;
  /// What rounding may do to a difference L(θ) − L(θ̂) of models near θ̂: a score of p terms is
  /// wrong by p units of their sizes at most, the loss by that times its slope, and a sum by its
  /// depth; twice that, since models nearby may have larger scores.
  [[nodiscard]] double rounding(VectorArg theta) const;

 private:
  [[nodiscard]] double corner_penalty(VectorArg theta) const {
    return corners_.size() == 0 ? 0 : corners_.dot(theta.cwiseAbs());
  }
  /// Every row gets its own class, strictly.
  [[nodiscard]] bool separates(VectorArg theta) const;
  /// max over rows and pairs of classes of aᵀH⁻¹a for the difference aᵀθ of their scores; of the
  /// score itself for one output.
  [[nodiscard]] double largest_reach(const Eigen::LLT<Matrix>& hessian) const;

  const RowMatrix* features_;
  const std::vector<int>* labels_;
  Vector weights_;  // of mean 1, or none
  LossKind kind_;
  Index outputs_;
  Penalty penalty_;
  Vector corners_;
  std::variant<Objective, SoftmaxObjective> objective_;
};

/// Replaces the head by the minimiser of its objective on the features of the (encoded) rows, to a
/// gradient of 1e-10, the hidden layers fixed. Throws as train does where there is none.
NewtonResult refit_head(Network& network, const LabelledRows& rows, LossKind kind,
                        const Penalty& penalty);

}  // namespace ellice
