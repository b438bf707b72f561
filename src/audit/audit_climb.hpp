#pragma once

#include <functional>
#include <vector>

#include "audit/audit_barrier.hpp"
#include "audit/audit_chart.hpp"

namespace ellice::audit {

/// The points of a chart at which the smallest robust logit of several cones is largest, at any ε.
class Climb {
 public:
  /// All must outlive it.
  Climb(const std::vector<Cone>& cones, double threshold, const Chart& chart);

  /// Shows the centres of the path, whose y are ν and the margin g − t that is reached; `start` is
  /// a ν strictly inside.
  void run(double epsilon, const Vector& start,
           const std::function<bool(const ConicPoint&)>& is_enough) const;

  /// The cones of a program whose first variables are ν, at any ε; `margin` is the coefficient of
  /// the last variable.
  void add_cones(ConicProgram& program, double epsilon, double margin) const;
  /// The smallest robust logit at ν, less t.
  [[nodiscard]] double margin_at(const Vector& nu, double epsilon) const;

 private:
  const Chart* chart_;
  double threshold_;
  std::vector<Vector> centers_;
  std::vector<Matrix> roots_;  // RᵀR = S
};

}  // namespace ellice::audit
