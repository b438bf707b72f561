#include "solver/half_space.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice {

namespace {

/// An entry of a cost's vector; where it is empty, what that stands for.
double entry(const Vector& values, Index i, double otherwise) {
  return values.size() > 0 ? values(i) : otherwise;
}

double curvature_of(const SeparableCost& cost, Index i) {
  return entry(cost.quadratic, i, cost.absolute.size() > 0 ? 0 : 1);  // an empty cost is D = 1
}

/// The minimiser of cost(x) − m·wᵀx over a box.
Vector pulled_point(VectorArg model, double m, VectorArg query, VectorArg lower, VectorArg upper,
                    const SeparableCost& cost) {
  Vector x = query;
  for (Index i = 0; i < x.size(); ++i) {
    const double pull = m * model(i);
    const double net = std::max(std::abs(pull) - entry(cost.absolute, i, 0), 0.0);
    const double curvature = curvature_of(cost, i);
    if (curvature > 0) {
      x(i) += std::copysign(net / curvature, pull);
    } else if (net > 0) {
      x(i) = pull > 0 ? upper(i) : lower(i);
    }
    x(i) = std::clamp(x(i), lower(i), upper(i));
  }
  return x;
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

bool is_square(const SeparableCost& cost) {
  return cost.quadratic.size() > 0 ? (cost.quadratic.array() > 0).all() : cost.absolute.size() == 0;
}

double linear_maximum(VectorArg model, VectorArg lower, VectorArg upper) {
  const Index d = lower.size();
  double sum = model(d);
  for (Index i = 0; i < d; ++i) {
    // 0·∞ must be 0: a column without weight does not matter.
    if (model(i) != 0) sum += model(i) * (model(i) > 0 ? upper(i) : lower(i));
  }
  return sum;
}

double half_space_bound(VectorArg model, double threshold, VectorArg query, VectorArg lower,
                        VectorArg upper, const SeparableCost& cost) {
  const Index d = lower.size();
  if (linear_maximum(model, lower, upper) < threshold) return infinity;
  const auto excess = [&](const Vector& x) { return model.head(d).dot(x) + model(d) - threshold; };
  const auto pulled = [&](double m) { return pulled_point(model, m, query, lower, upper, cost); };
  double low = 0;
  Vector point = pulled(low);
  double bound = cost_at(cost, query, point);
  if (excess(point) >= 0) return bound;
  double high = 1;
  while (excess(point = pulled(high)) < 0 && high < 1e100) high *= 8;
  const auto consider = [&](double m) {
    const double value = cost_at(cost, query, point) - m * excess(point);
    if (std::isfinite(value)) bound = std::max(bound, value);
  };
  consider(high);
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    point = pulled(middle);
    consider(middle);
    (excess(point) < 0 ? low : high) = middle;
  }
  return bound;
}

}  // namespace ellice
