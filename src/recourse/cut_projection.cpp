#include "recourse/cut_projection.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/solver/cone_intersection.hpp"

namespace ellice {

namespace {

/// An entry of a cost's vector; where it is empty, what that stands for.
double entry(const Vector& values, Index i, double otherwise) {
  return values.size() > 0 ? values(i) : otherwise;
}

double curvature_of(const SeparableCost& cost, Index i) {
  return entry(cost.quadratic, i, cost.absolute.size() > 0 ? 0 : 1);  // an empty cost is D = 1
}

}  // namespace

double cost_at(const SeparableCost& cost, VectorArg query, VectorArg point) {
  double sum = 0;
  for (Index i = 0; i < point.size(); ++i) {
    const double move = std::abs(point(i) - query(i));
    sum += 0.5 * curvature_of(cost, i) * move * move + entry(cost.absolute, i, 0) * move;
  }
  return sum;
}

Vector pulled_point(VectorArg pull, VectorArg query, const Box& box, const SeparableCost& cost) {
  Vector x = query;
  for (Index i = 0; i < x.size(); ++i) {
    const double net = std::max(std::abs(pull(i)) - entry(cost.absolute, i, 0), 0.0);
    const double curvature = curvature_of(cost, i);
    if (curvature > 0) {
      x(i) += std::copysign(net / curvature, pull(i));
    } else if (net > 0) {
      x(i) = pull(i) > 0 ? box.upper(i) : box.lower(i);
    }
    x(i) = std::clamp(x(i), box.lower(i), box.upper(i));
  }
  return x;
}

CutProjection project_onto_cuts(MatrixArg cuts, double threshold, VectorArg query, const Box& box,
                                const SeparableCost& cost) {
  const Index d = query.size();
  IntersectionProblem planes{.query = query, .lower = box.lower, .upper = box.upper, .cost = cost};
  for (Index k = 0; k < cuts.cols(); ++k) {
    planes.rules.push_back({.coefficients = cuts.col(k).head(d), .lower = threshold - cuts(d, k)});
  }
  const ConeIntersection solved = intersect_cones(planes);
  const bool is_solved = solved.status != IntersectionStatus::infeasible;
  CutProjection result{.point = is_solved && solved.point.size() == d
                                    ? solved.point
                                    : pulled_point(Vector::Zero(d), query, box, cost),
                       .lower_bound = is_solved ? solved.lower_bound : 0,
                       .multipliers = Vector::Zero(cuts.cols())};
  // A weight below zero is that of a lower side.
  if (solved.weights.rules.size() == cuts.cols())
    result.multipliers = (-solved.weights.rules).cwiseMax(0);
  return result;
}

}  // namespace ellice
