#pragma once

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
  /// With the rules of `feasible`. The function must outlive this. Kinks are known once whole
  /// numbers and levels are chosen: before, they would only move the points which choices are made
  /// around.
  RobustConstraints(RobustFunction& function, double threshold, const FeasibleSet& feasible);

  /// `margin` is relative to κ·s and to 1 + |t|.
  void set_radius(double kappa, double margin) {
    kappa_ = kappa * (1 + margin);
    floor_ = threshold_ + margin * (1 + std::abs(threshold_));
  }

  [[nodiscard]] double floor() const { return floor_; }  // what f − κ·s must reach

  [[nodiscard]] Index count() const override {
    return function_->parts() + static_cast<Index>(sides_.size());
  }

  void values(VectorArg x, Vector& values) override;

  void gradients(VectorArg x, Vector& values, Matrix& gradients) override;

  [[nodiscard]] bool curvature_root(const Vector& multipliers, Matrix& root) override;

  void crossed_kinks(VectorArg step, std::vector<Index>& names) override;
  [[nodiscard]] bool find_kink(Index name, Kink& kink) override;

  [[nodiscard]] double smallest(VectorArg x);

  [[nodiscard]] bool knows_kinks() const { return knows_kinks_; }

 private:
  /// normalᵀx + offset ≥ 0, the normal of length one.
  struct Side {
    Vector normal = {};
    double offset = 0;
    [[nodiscard]] double slack(VectorArg x) const;
  };

  RobustFunction* function_;
  double threshold_;
  bool knows_kinks_;
  std::vector<Side> sides_;
  double kappa_ = 0;
  double floor_ = 0;
  Vector gradient_;
  Matrix spread_root_;
  std::vector<Index> units_;
};

}  // namespace ellice
