#pragma once

#include <cmath>

#include "ellice/rashomon/uncertainty_set.hpp"
#include "ellice/solver/sequential_quadratic.hpp"

namespace ellice {

/// f_k(x) − κ·s_k(x) ≥ t for each model of a set, with a margin for rounding, as a solver sees it.
class RobustConstraints final : public SmoothConstraints {
 public:
  /// The function must outlive this.
  RobustConstraints(RobustFunction& function, double threshold)
      : function_(&function), threshold_(threshold) {}

  /// `margin` is relative to κ·s and to 1 + |t|.
  void set_radius(double kappa, double margin) {
    kappa_ = kappa * (1 + margin);
    floor_ = threshold_ + margin * (1 + std::abs(threshold_));
  }

  [[nodiscard]] double floor() const { return floor_; }  // what f − κ·s must reach

  [[nodiscard]] Index count() const override { return function_->members(); }

  void values(VectorArg x, Vector& values) override {
    for (Index k = 0; k < count(); ++k) values[k] = function_->value(k, x).robust(kappa_) - floor_;
  }

  void gradients(VectorArg x, Vector& values, Matrix& gradients) override {
    for (Index k = 0; k < count(); ++k) {
      values[k] =
          function_->gradient(k, x, logit_gradient_, spread_gradient_).robust(kappa_) - floor_;
      gradients.col(k) = logit_gradient_ - kappa_ * spread_gradient_;
    }
  }

  [[nodiscard]] bool curvature(const Vector& multipliers, Matrix& matrix) override {
    if (kappa_ == 0) return false;
    matrix.setZero();
    for (Index k = 0; k < count(); ++k) {
      if (multipliers[k] == 0) continue;
      if (!function_->spread_hessian(k, spread_hessian_)) return false;
      matrix += multipliers[k] * kappa_ * spread_hessian_;
    }
    return true;
  }

  [[nodiscard]] double smallest(VectorArg x) { return function_->robust_logit(kappa_, x) - floor_; }

 private:
  RobustFunction* function_;
  double threshold_;
  double kappa_ = 0;
  double floor_ = 0;
  Vector logit_gradient_, spread_gradient_;
  Matrix spread_hessian_;
};

}  // namespace ellice
