#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "request/feasible_set.hpp"
#include "sets/uncertainty_set.hpp"
#include "solver/sequential_quadratic.hpp"

namespace ellice {

/// f_k(x) − κ·s_k(x) ≥ t for each model of a set, with a margin for rounding, and then the linear
/// rules, as a solver sees them.
class RobustConstraints final : public SmoothConstraints {
 public:
  /// The function must outlive this.
  RobustConstraints(RobustFunction& function, double threshold, const std::vector<ModelRule>& rules)
      : function_(&function), threshold_(threshold) {
    for (const ModelRule& rule : rules) {
      const double norm = rule.rule.coefficients.norm();
      if (norm == 0) continue;
      const double allowed = rule.rule.tolerance;
      if (std::isfinite(rule.rule.upper))
        sides_.push_back({-rule.rule.coefficients / norm, (rule.rule.upper + allowed) / norm});
      if (std::isfinite(rule.rule.lower))
        sides_.push_back({rule.rule.coefficients / norm, (allowed - rule.rule.lower) / norm});
    }
  }

  /// `margin` is relative to κ·s and to 1 + |t|.
  void set_radius(double kappa, double margin) {
    kappa_ = kappa * (1 + margin);
    floor_ = threshold_ + margin * (1 + std::abs(threshold_));
  }

  [[nodiscard]] double floor() const { return floor_; }  // what f − κ·s must reach

  [[nodiscard]] Index count() const override {
    return function_->parts() + static_cast<Index>(sides_.size());
  }

  void values(VectorArg x, Vector& values) override {
    const Index parts = function_->parts();
    for (Index k = 0; k < parts; ++k) values[k] = function_->value(k, x).robust(kappa_) - floor_;
    for (std::size_t r = 0; r < sides_.size(); ++r)
      values[parts + static_cast<Index>(r)] = sides_[r].slack(x);
  }

  void gradients(VectorArg x, Vector& values, Matrix& gradients) override {
    const Index parts = function_->parts();
    for (Index k = 0; k < parts; ++k) {
      values[k] =
          function_->gradient(k, x, logit_gradient_, spread_gradient_).robust(kappa_) - floor_;
      gradients.col(k) = logit_gradient_ - kappa_ * spread_gradient_;
    }
    for (std::size_t r = 0; r < sides_.size(); ++r) {
      values[parts + static_cast<Index>(r)] = sides_[r].slack(x);
      gradients.col(parts + static_cast<Index>(r)) = sides_[r].normal;
    }
  }

  [[nodiscard]] bool curvature(const Vector& multipliers, Matrix& matrix) override {
    if (kappa_ == 0) return false;
    matrix.setZero();
    for (Index k = 0; k < function_->parts(); ++k) {
      if (multipliers[k] == 0) continue;
      if (!function_->spread_hessian(k, spread_hessian_)) return false;
      matrix += multipliers[k] * kappa_ * spread_hessian_;
    }
    return true;
  }

  [[nodiscard]] double smallest(VectorArg x) {
    double least = function_->robust_logit(kappa_, x) - floor_;
    for (const Side& side : sides_) least = std::min(least, side.slack(x));
    return least;
  }

 private:
  /// normalᵀx + offset ≥ 0, the normal of length one.
  struct Side {
    Vector normal = {};
    double offset = 0;
    [[nodiscard]] double slack(VectorArg x) const { return normal.dot(x) + offset; }
  };

  RobustFunction* function_;
  double threshold_;
  std::vector<Side> sides_;
  double kappa_ = 0;
  double floor_ = 0;
  Vector logit_gradient_, spread_gradient_;
  Matrix spread_hessian_;
};

}  // namespace ellice
