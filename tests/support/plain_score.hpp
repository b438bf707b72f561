#pragma once

// What sets of models make of a row, from the definitions alone.

#include "ellice/core/types.hpp"
#include "request/problem.hpp"

namespace ellice::problem_zoo {

/// The smallest score that any model of a set gives to a row (raw numbers), from the definitions:
/// of an ellipsoid by a dense inverse, for one logit or against every rival; of the true set by
/// minimising the objective along a path of multipliers.
class PlainScore {
 public:
  PlainScore(const Problem& problem);

  /// Without anybody else's opinion: the base model's own score.
  [[nodiscard]] double base(const Vector& row) const { return at(row, 0); }

  [[nodiscard]] double at(const Vector& row, double epsilon) const;

 private:
  [[nodiscard]] Vector lifted(const Vector& row) const;

  [[nodiscard]] double margin(const Vector& x, Index rival, double epsilon) const;

  /// L at θ; its gradient and Hessian where asked for.
  [[nodiscard]] double objective(const Vector& theta, Vector* gradient = nullptr,
                                 Matrix* hessian = nullptr) const;

  /// Along θ(τ) = argmin L(θ) + τ·θᵀx to where L has risen by ε; √(L − L̂) is nearly linear in τ.
  [[nodiscard]] double true_score(const Vector& whole, double epsilon) const;

  Matrix rows_;  // with a column of ones
  Eigen::ArrayXd labels_;
  const Problem* problem_;
  Matrix inverse_;
};

}  // namespace ellice::problem_zoo
