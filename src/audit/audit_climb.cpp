#include "audit/audit_climb.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ellice::audit {

Climb::Climb(const std::vector<Cone>& cones, double threshold, const Chart& chart)
    : chart_(&chart), threshold_(threshold) {
  for (const Cone& cone : cones) {
    centers_.emplace_back(cone.center().cast<double>());
    roots_.emplace_back(cone.root());
  }
}

void Climb::add_cones(ConicProgram& program, double epsilon, double margin) const {
  const Index n = chart_->size();
  const Index d = chart_->base().size();
  const Index all = program.slope.size();
  program.map = Matrix::Zero(d + 1, all);
  program.map.topLeftCorner(d, n) = chart_->map();
  program.base.resize(d + 1);
  program.base << chart_->base(), 1;
  for (std::size_t k = 0; k < centers_.size(); ++k) {
    Vector normal = program.map.transpose() * centers_[k];
    normal(all - 1) += margin;
    program.cones.push_back({.normal = std::move(normal),
                             .offset = centers_[k].dot(program.base) - threshold_,
                             .kappa = std::sqrt(2 * epsilon),
                             .root = &roots_[k]});
  }
}

double Climb::margin_at(const Vector& nu, double epsilon) const {
  Vector x(chart_->base().size() + 1);
  x << chart_->base() + chart_->map() * nu, 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < centers_.size(); ++k) {
    const double spread = (roots_[k] * x).norm();
    least = std::min(least, centers_[k].dot(x) - threshold_ - std::sqrt(2 * epsilon) * spread);
  }
  return least;
}

void Climb::run(double epsilon, const Vector& start,
                const std::function<bool(const ConicPoint&)>& is_enough) const {
  const Index n = chart_->size();
  ConicProgram program{.slope = -Vector::Unit(n + 1, n),
                       .rows = Matrix::Zero(chart_->rows().rows(), n + 1),
                       .bounds = chart_->bounds()};
  program.rows.leftCols(n) = chart_->rows();
  add_cones(program, epsilon, -1);
  Vector first(n + 1);
  first << start, margin_at(start, epsilon) - 1;
  follow_path(program, first, is_enough);
}

}  // namespace ellice::audit
