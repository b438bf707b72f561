#pragma once

// The training objective of a head, row by row in extended precision: the verifier's own way to it,
// which shares nothing with Objective and TrueSet.

#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"

namespace ellice {

class PlainObjective {
 public:
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

  PlainObjective(const Model& model, const StoredRows& rows);

  struct Value {
    long double objective = 0;
    LongVector gradient = {};
  };
  /// θ of all classes, one after the other, where there are many.
  [[nodiscard]] Value evaluate(const LongVector& theta) const;
  /// At the model's own head; not below the minimum.
  [[nodiscard]] long double optimum() const { return optimum_; }
  /// Whether as many rows are there as the model was fitted on, with the loss and the Hessian in
  /// its file.
  [[nodiscard]] bool rows_fit() const { return rows_fit_; }
  /// Whether the objective in its file is the one on these rows, the penalty of all layers
  /// included.
  [[nodiscard]] bool objective_fits() const { return objective_fits_; }

  [[nodiscard]] bool has_one_logit() const { return classes_ == 1; }
  /// lⱼ of Σ lⱼ|θⱼ|, by column; none without an l1 penalty. evaluate() has its values, and the
  /// gradient without them (theory.md, Result 58).
  [[nodiscard]] const std::vector<long double>& corners() const { return corners_; }
  /// τ and δ at a model for the score cᵀθ, whose c ends with 1, among models with L ≤ level; δ is
  /// infinite where nothing is proved.
  struct Cornered {
    long double tau = 0;
    long double missed = 0;
  };
  [[nodiscard]] Cornered cornered(const LongVector& at, const Value& value, const LongVector& c,
                                  long double level) const;

  /// What cᵀθ is not below for any model with L(θ) ≤ optimum + ε, proved from the objective at one
  /// model alone (theory.md, Result 28 and Result 32); −∞ where it proves nothing. c is x̃, or
  /// (e_y − e_r) ⊗ x̃ for the difference of two classes' scores.
  [[nodiscard]] long double lower_bound(const LongVector& at, const LongVector& c,
                                        long double epsilon) const;
  /// δ: how far r = ∇F(θ) leaves F = L + τ·cᵀθ above its minimum, at most.
  [[nodiscard]] long double suboptimality(const LongVector& at, const LongVector& residual) const;
  /// What L(θ) may lose where it is summed in double precision. Scores lose a share of the sizes of
  /// their terms, which for columns that nearly follow from each other are far larger than the
  /// scores, and pass it on by the loss's slope: at most 1, or √(2φ) of squares.
  [[nodiscard]] long double rounding(const LongVector& theta) const;
  [[nodiscard]] LongMatrix hessian(const LongVector& at) const;
  /// C: the quadratic with the value and the gradient of L, without corners, at a model and the
  /// curvature C is not below L at any model θ with (θ − middle)ᵀA(θ − middle) ≤ square, a set that
  /// holds the model (theory.md, Result 73). A is given by its inverse, which may be singular; for
  /// one logit.
  [[nodiscard]] LongMatrix curvature_above(const LongVector& at, const LongVector& middle,
                                           const LongMatrix& inverse, long double square) const;
  /// With a curvature of its own for what all classes have in common, where there are many.
  [[nodiscard]] LongMatrix with_gauge(LongMatrix hessian) const;

 private:
  [[nodiscard]] long double suboptimality_by_curvature(const LongVector& at,
                                                       const LongVector& residual,
                                                       long double least_pivot = 0) const;
  /// Σ factorᵢ·x̃ᵢx̃ᵢᵀ over their mass with the penalty's, of one logit.
  [[nodiscard]] LongMatrix sum_of_squares(const LongVector& factors) const;
  /// Of a row, one for each class.
  void find_scores(const LongVector& theta, Index row, LongVector& scores) const;
  /// dⱼ·l2 of a parameter, 0 for a bias without a penalty.
  [[nodiscard]] long double penalty(Index parameter) const {
    const Index column = parameter % rows_.rows();
    if (column == rows_.rows() - 1) return penalize_bias_ ? l2_ : 0;
    return factors_.empty() ? l2_ : l2_ * factors_[static_cast<std::size_t>(column)];
  }
  /// Of a row, as a share of all.
  [[nodiscard]] long double share(Index row) const {
    return weights_.empty() ? 1 : weights_[static_cast<std::size_t>(row)];
  }

  LossKind kind_;
  Index classes_;  // 1 for one logit
  long double l2_;
  bool penalize_bias_;
  std::vector<long double> factors_;  // of the columns; none: all 1
  std::vector<long double> corners_;  // of the columns; none: no l1 penalty
  std::vector<long double> weights_;  // of the rows; none: all 1
  long double mass_ = 0;              // their sum
  LongMatrix rows_;                   // x̃ᵢ as columns
  std::vector<int> labels_;
  long double optimum_ = 0;
  bool rows_fit_ = false;
  bool objective_fits_ = false;
};

}  // namespace ellice
