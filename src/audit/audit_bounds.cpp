#include "audit/audit_bounds.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double farthest = 1e7;
constexpr int most_models = 400;
constexpr int most_sweeps = 2000;
// For costs without squares: δ relative to cost and move, and models between moves of the centre.
constexpr double smoothing = 0.1;
constexpr int models_per_centre = 8;

/// The cheapest points of a box on one side of a plane.
class HalfSpaceProblem {
 public:
  HalfSpaceProblem(VectorArg query, Box box, const ColumnCost& cost, double threshold)
      : query_(query), box_(std::move(box)), cost_(&cost), threshold_(threshold), centre_(query) {}

  /// The same with ½δ|x − centre|² added to the cost: its minimum depends smoothly on the model.
  [[nodiscard]] HalfSpaceProblem smoothed(const Vector& centre) const {
    HalfSpaceProblem result = *this;
    const double reach = (centre - query_).cwiseAbs().maxCoeff();
    result.centre_ = centre;
    result.delta_ = smoothing * cost_->absolutes.maxCoeff() / (reach > 0 ? reach : 1);
    return result;
  }

  struct Minimum {
    double bound = infinity;  // infinite where the half-space misses the box
    Vector point = {};        // attains it, up to rounding
  };

  /// By bisection for the multiplier m ≥ 0 at which the minimiser of cost − m·(θᵀx̃ − t) crosses the
  /// plane; whatever m it ends with, the value there is a lower bound.
  [[nodiscard]] Minimum solve(VectorArg theta) const {
    double low = 0;
    Vector below = minimizer(theta, low);
    if (excess(theta, below) >= 0) return {.bound = cost_at(below), .point = below};
    double high = 1;
    Vector above = minimizer(theta, high);
    while (excess(theta, above) < 0) {
      if (high > 1e100) return {};
      high *= 8;
      above = minimizer(theta, high);
    }
    for (int step = 0; step < 200; ++step) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      const Vector point = minimizer(theta, middle);
      const bool reached = excess(theta, point) >= 0;
      (reached ? high : low) = middle;
      (reached ? above : below) = point;
    }
    // Costs without squares jump from a bound to the next: the minimum lies between the two.
    const double short_of = -excess(theta, below);
    const double beyond = excess(theta, above);
    const double share = short_of + beyond > 0 ? short_of / (short_of + beyond) : 1;
    return {.bound = std::max(cost_at(below) + low * short_of, cost_at(above) - high * beyond),
            .point = below + share * (above - below)};
  }

 private:
  /// Of cost − m·θᵀx̃ over the box, one column after the other.
  [[nodiscard]] Vector minimizer(VectorArg theta, double m) const {
    Vector x = query_;
    for (Index i = 0; i < x.size(); ++i) {
      const double curvature = 2 * cost_->squares(i) + delta_;
      const double pull = m * theta(i) + delta_ * (centre_(i) - query_(i));
      const double net = std::max(std::abs(pull) - cost_->absolutes(i), 0.0);
      if (curvature > 0) {
        x(i) += std::copysign(net / curvature, pull);
      } else if (net > 0) {
        x(i) = pull > 0 ? box_.upper(i) : box_.lower(i);
      }
      x(i) = std::clamp(x(i), box_.lower(i), box_.upper(i));
    }
    return x;
  }
  [[nodiscard]] double excess(VectorArg theta, const Vector& x) const {
    return theta.head(x.size()).dot(x) + theta(x.size()) - threshold_;
  }
  [[nodiscard]] double cost_at(const Vector& x) const {
    return cost_->squares.dot((x - query_).cwiseAbs2()) +
           cost_->absolutes.dot((x - query_).cwiseAbs()) +
           0.5 * delta_ * (x - centre_).squaredNorm();
  }

  Vector query_;
  Box box_;
  const ColumnCost* cost_;
  double threshold_;
  Vector centre_;
  double delta_ = 0;
};

/// The part of a box in which no single column costs more than `most`, finite in every direction;
/// nothing if it is empty.
std::optional<Box> affordable(const Box& box, VectorArg query, const ColumnCost& cost,
                              double most) {
  Box result = box;
  for (Index i = 0; i < query.size(); ++i) {
    const double reach =
        (1 + 1e-6) * (cost.squares(i) > 0 ? std::sqrt(most / cost.squares(i)) : infinity);
    const double other = (1 + 1e-6) * (cost.absolutes(i) > 0 ? most / cost.absolutes(i) : infinity);
    result.lower(i) = std::max(box.lower(i), query(i) - std::min(reach, other));
    result.upper(i) = std::min(box.upper(i), query(i) + std::min(reach, other));
    if (result.lower(i) > result.upper(i)) return std::nullopt;
  }
  return result;
}

/// The model on the segment from θ whose half-space costs most: by golden sections, because the
/// cost is quasi-concave in the model.
Vector best_on_segment(const HalfSpaceProblem& problem, const Vector& theta,
                       const Vector& towards) {
  constexpr double golden = 0.6180339887498949;
  const auto bound = [&](double share) { return problem.solve(theta + share * towards).bound; };
  double low = 0;
  double high = 1;
  double left = 1 - golden;
  double right = golden;
  double at_left = bound(left);
  double at_right = bound(right);
  while (high - low > 1e-4) {
    if (at_left < at_right) {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = bound(right);
    } else {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = bound(left);
    }
  }
  return theta + 0.5 * (low + high) * towards;
}

double box_lower_bound(const WorstModel& worst_at, const HalfSpaceProblem& problem,
                       bool has_squares, VectorArg worst, double enough) {
  Vector theta = worst;
  HalfSpaceProblem::Minimum cheapest = problem.solve(theta);
  double best = cheapest.bound;
  HalfSpaceProblem smooth = problem;
  for (int model = 0; model < most_models && best < enough; ++model) {
    if (!has_squares && model % models_per_centre == 0) smooth = problem.smoothed(cheapest.point);
    cheapest = smooth.solve(theta);
    theta = best_on_segment(smooth, theta, worst_at(with_one(cheapest.point)) - theta);
    best = std::max(best, problem.solve(theta).bound);
  }
  return best;
}

}  // namespace

double cost_lower_bound(const WorstModel& worst_at, double threshold, VectorArg query,
                        const std::vector<Box>& boxes, const ColumnCost& cost, VectorArg worst,
                        double enough) {
  double bound = enough;
  const bool has_squares = (cost.squares.array() > 0).all();
  for (const Box& box : boxes) {
    const std::optional<Box> part = affordable(box, query, cost, enough);
    if (!part) continue;
    bound = std::min(bound, box_lower_bound(worst_at, {query, *part, cost, threshold}, has_squares,
                                            worst, enough));
  }
  return bound;
}

namespace {

/// The query's value and the next ones of the grid: what else a feature could be, near by.
std::vector<double> neighbours(const FeatureRange& range, double value) {
  std::vector<double> result;
  if (range.fixed) return result;
  if (value != range.query) result.push_back(range.query);
  if (!range.has_grid()) return result;
  for (const int direction : {1, -1}) {
    const std::optional<double> next = range.beyond(value, direction);
    if (next && *next != range.query) result.push_back(*next);
  }
  return result;
}

/// The smallest margin that the worst heads of a certificate's rivals give the winner at a point.
double known_margin(const Certificate& certificate, const Model& model, const Vector& z) {
  const Vector h = with_one(model.network.features(z));
  const Index p = h.size();
  const Index winner = find_class(model, certificate.target);
  double least = infinity;
  for (const RivalCertificate& rival : certificate.rivals) {
    const Vector& heads = rival.worst_model;
    const Index other = find_class(model, rival.name);
    least = std::min(least, (heads.segment(winner * p, p) - heads.segment(other * p, p)).dot(h));
  }
  return least;
}

}  // namespace

std::optional<std::size_t> beaten_by_retreat(const Model& model, const Certifier& certifier,
                                             const Cost& cost, const FeasibleSet& feasible,
                                             const RawRow& counterfactual, double claimed) {
  const Encoder& encoder = feasible.encoder();
  const Vector raw = encoder.raw(counterfactual);
  // The heads that are worst at the row refuse most others that cost less, without a search.
  const std::optional<Certificate> known = certifier.certify(counterfactual);
  const auto is_refused = [&](const Vector& z) {
    return known && !known->rivals.empty() && known_margin(*known, model, z) < known->threshold;
  };
  const auto beats = [&](const Vector& nearer) {
    const RawRow row = encoder.values({nearer.data(), static_cast<std::size_t>(nearer.size())});
    const Vector z = encoder.encode(row);
    return cost_of(cost, encoder, feasible.query(), z) < claimed &&
           feasible.violations(nearer).empty() && !is_refused(z) &&
           certifier.certify(row).has_value();
  };
  const std::size_t count = feasible.ranges().size();
  for (std::size_t j = 0; j < count; ++j) {
    const auto i = static_cast<Index>(j);
    if (raw(i) == feasible.ranges()[j].query) continue;
    for (const double value : neighbours(feasible.ranges()[j], raw(i))) {
      Vector nearer = raw;
      nearer(i) = value;
      if (beats(nearer)) return j;
      // One that has changed already makes up for it: the number of changes does not grow.
      for (std::size_t other = 0; other < count; ++other) {
        const auto k = static_cast<Index>(other);
        if (other == j || raw(k) == feasible.ranges()[other].query) continue;
        for (const double step : neighbours(feasible.ranges()[other], raw(k))) {
          nearer(k) = step;
          if (beats(nearer)) return j;
        }
        nearer(k) = raw(k);
      }
    }
  }
  return std::nullopt;
}

Vector most_robust_point(const Ellipsoid& set, double threshold, const Box& box) {
  const Index d = box.lower.size();
  const Vector& theta = set.center();
  const Vector lower = box.lower.cwiseMax(-farthest);
  const Vector upper = box.upper.cwiseMin(farthest);
  Vector x(d + 1);
  for (Index i = 0; i < d; ++i) x(i) = theta(i) > 0 ? upper(i) : lower(i);
  x(d) = 1;
  const Matrix inverse = set.hessian().ldlt().solve(Matrix::Identity(d + 1, d + 1));
  double radius = robustness_radius(set, x, threshold);
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    const Vector before = x;
    Vector image = inverse * x;
    for (Index i = 0; i < d; ++i) {
      if (!(lower(i) < upper(i))) continue;
      // λ as a function of this column alone, (a + w·v)/√(p·v² + 2rv + q), has its only stationary
      // point where w(rv + q) = a(pv + r).
      const double w = theta(i);
      const double a = theta.dot(x) - threshold - w * x(i);
      const double p = inverse(i, i);
      const double r = image(i) - p * x(i);
      const double q = x.dot(image) - p * x(i) * x(i) - 2 * r * x(i);
      const double slope = a * p - w * r;
      const double rise = w * q - a * r - slope * x(i);  // has the sign of λ′ at the present value
      double value = rise > 0 ? upper(i) : rise < 0 ? lower(i) : x(i);
      if (slope > 0) value = std::clamp((w * q - a * r) / slope, lower(i), upper(i));
      image += (value - x(i)) * inverse.col(i);
      x(i) = value;
    }
    const double reached = robustness_radius(set, x, threshold);
    if (!(reached > radius)) {
      if (reached < radius) x = before;
      break;
    }
    const bool settled = reached - radius <= 1e-13 * reached;
    radius = reached;
    if (settled) break;
  }
  return x.head(d);
}

double maximum_over(const Box& box, const Vector& theta) {
  double sum = theta(box.lower.size());
  for (Index i = 0; i < box.lower.size(); ++i) {
    if (theta(i) != 0) sum += std::max(theta(i) * box.lower(i), theta(i) * box.upper(i));
  }
  return sum;
}

double admitted_epsilon(const Ellipsoid& set, const Ellipsoid& attained, double threshold,
                        const Box& box, const Vector& top) {
  Vector theta = worst_model(attained, top);
  for (Index i = 0; i < box.lower.size(); ++i) {
    if (std::isinf(theta(i) > 0 ? box.upper(i) : box.lower(i))) theta(i) = 0;
  }
  theta(box.lower.size()) -= maximum_over(box, theta) - threshold;
  return excess_objective(set, theta);
}

}  // namespace ellice
