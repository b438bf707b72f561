#include "search/robust_constraints.hpp"

#include <algorithm>
#include <cmath>

namespace ellice {

double RobustConstraints::Side::slack(VectorArg x) const {
  return normal.dot(x) + offset;
}

RobustConstraints::RobustConstraints(RobustFunction& function, double threshold,
                                     const FeasibleSet& feasible)
    : function_(&function),
      threshold_(threshold),
      knows_kinks_(std::none_of(feasible.ranges().begin(), feasible.ranges().end(),
                                [](const FeatureRange& range) { return range.held; })) {
  for (const ModelRule& rule : feasible.rules()) {
    const double norm = rule.rule.coefficients.norm();
    if (norm == 0) continue;
    const double allowed = rule.rule.tolerance;
    if (std::isfinite(rule.rule.upper))
      sides_.push_back({-rule.rule.coefficients / norm, (rule.rule.upper + allowed) / norm});
    if (std::isfinite(rule.rule.lower))
      sides_.push_back({rule.rule.coefficients / norm, (allowed - rule.rule.lower) / norm});
  }
}

void RobustConstraints::values(VectorArg x, Vector& values) {
  const Index parts = function_->parts();
  for (Index k = 0; k < parts; ++k) values[k] = function_->value(k, x).robust(kappa_) - floor_;
  for (std::size_t r = 0; r < sides_.size(); ++r)
    values[parts + static_cast<Index>(r)] = sides_[r].slack(x);
}

void RobustConstraints::gradients(VectorArg x, Vector& values, Matrix& gradients) {
  const Index parts = function_->parts();
  for (Index k = 0; k < parts; ++k) {
    values[k] = function_->robust_gradient(k, kappa_, x, gradient_).robust(kappa_) - floor_;
    gradients.col(k) = gradient_;
  }
  for (std::size_t r = 0; r < sides_.size(); ++r) {
    values[parts + static_cast<Index>(r)] = sides_[r].slack(x);
    gradients.col(parts + static_cast<Index>(r)) = sides_[r].normal;
  }
}

bool RobustConstraints::curvature_root(const Vector& multipliers, Matrix& root) {
  if (kappa_ == 0) return false;
  if (function_->parts() == 1) {
    if (multipliers[0] == 0 || !function_->spread_root(0, root)) return false;
    root *= std::sqrt(multipliers[0] * kappa_);
    return root.rows() > 0;
  }
  Index rows = 0;
  for (Index k = 0; k < function_->parts(); ++k) {
    if (multipliers[k] == 0) continue;
    if (!function_->spread_root(k, spread_root_)) return false;
    if (root.rows() < rows + spread_root_.rows() || root.cols() != spread_root_.cols())
      root.conservativeResize(rows + spread_root_.rows(), spread_root_.cols());
    root.middleRows(rows, spread_root_.rows()) = std::sqrt(multipliers[k] * kappa_) * spread_root_;
    rows += spread_root_.rows();
  }
  if (root.rows() != rows) root.conservativeResize(rows, root.cols());
  return rows > 0;  // rules alone are straight
}

void RobustConstraints::crossed_kinks(VectorArg step, std::vector<Index>& names) {
  if (!knows_kinks_) return;
  // A kink's name: the unit, then the part.
  for (Index k = 0; k < function_->parts(); ++k) {
    units_.clear();
    function_->crossed_units(k, step, units_);
    for (const Index unit : units_) names.push_back(unit * function_->parts() + k);
  }
}

bool RobustConstraints::find_kink(Index name, Kink& kink) {
  kink.row = name % function_->parts();
  const RobustFunction::UnitKink unit =
      function_->unit_kink(kink.row, name / function_->parts(), kink.normal);
  kink.weight = unit.weight;
  kink.distance = unit.distance;
  return unit.weight > 0;
}

double RobustConstraints::smallest(VectorArg x) {
  double least = function_->robust_logit(kappa_, x) - floor_;
  for (const Side& side : sides_) least = std::min(least, side.slack(x));
  return least;
}

}  // namespace ellice
