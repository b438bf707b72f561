#include "recourse/true_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/rashomon/ellipsoid.hpp"

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_steps = 60;
constexpr double closed_gap = 1e-10;
// Steps after which the stand-in is made more cautious whenever a step does not halve the error.
constexpr int patience = 4;
constexpr double caution = 1.5;

double part(const Vector& values, Index i, double otherwise) {
  return values.size() > 0 ? values(i) : otherwise;
}

double cost_at(const SeparableCost& cost, VectorArg query, const Vector& point) {
  const double plain = cost.absolute.size() > 0 ? 0 : 1;  // an empty cost is D = 1
  double sum = 0;
  for (Index i = 0; i < point.size(); ++i) {
    const double move = std::abs(point(i) - query(i));
    sum += 0.5 * part(cost.quadratic, i, plain) * move * move + part(cost.absolute, i, 0) * move;
  }
  return sum;
}

/// argmin of cost(x) − m·θᵀx over the box, one column after the other.
Vector pulled(VectorArg theta, double m, VectorArg query, const Box& box,
              const SeparableCost& cost) {
  const double plain = cost.absolute.size() > 0 ? 0 : 1;
  Vector x = query;
  for (Index i = 0; i < x.size(); ++i) {
    const double pull = m * theta(i);
    const double net = std::max(std::abs(pull) - part(cost.absolute, i, 0), 0.0);
    const double curvature = part(cost.quadratic, i, plain);
    if (curvature > 0) {
      x(i) += std::copysign(net / curvature, pull);
    } else if (net > 0) {
      x(i) = pull > 0 ? box.upper(i) : box.lower(i);
    }
    x(i) = std::clamp(x(i), box.lower(i), box.upper(i));
  }
  return x;
}

}  // namespace

double linear_maximum(VectorArg theta, const Box& box) {
  const Index d = box.lower.size();
  double sum = theta(d);
  for (Index i = 0; i < d; ++i) {
    // 0·∞ must be 0: a column without weight does not matter.
    if (theta(i) != 0) sum += theta(i) * (theta(i) > 0 ? box.upper(i) : box.lower(i));
  }
  return sum;
}

double half_space_bound(VectorArg theta, double threshold, VectorArg query, const Box& box,
                        const SeparableCost& cost) {
  const Index d = box.lower.size();
  if (linear_maximum(theta, box) < threshold) return infinity;
  const auto excess = [&](const Vector& x) { return theta.head(d).dot(x) + theta(d) - threshold; };
  double low = 0;
  Vector point = pulled(theta, low, query, box, cost);
  double bound = cost_at(cost, query, point);
  if (excess(point) >= 0) return bound;
  double high = 1;
  while (excess(point = pulled(theta, high, query, box, cost)) < 0 && high < 1e100) high *= 8;
  const auto consider = [&](double m) {
    const double value = cost_at(cost, query, point) - m * excess(point);
    if (std::isfinite(value)) bound = std::max(bound, value);
  };
  consider(high);
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    point = pulled(theta, middle, query, box, cost);
    consider(middle);
    (excess(point) < 0 ? low : high) = middle;
  }
  return bound;
}

TrueSearch::TrueSearch(const TrueSet& set, SeparableCost cost, double threshold, double margin)
    : set_(set),
      ellipsoid_(set.center(), set.hessian()),
      cost_(std::move(cost)),
      threshold_(threshold),
      margin_(margin) {}

double TrueSearch::excess(VectorArg point, const TrueWorst& worst) const {
  const Vector x = with_one(point);
  const double scale = set_.center().cwiseProduct(x).cwiseAbs().sum() +
                       (set_.center().dot(x) - worst.lower_bound) + std::abs(threshold_);
  return worst.lower_bound - threshold_ - margin_ * scale;
}

Vector TrueSearch::first_point(VectorArg query, const Box& box, double& multiplier) const {
  BoxProblem problem{.query = query,
                     .lower = box.lower,
                     .upper = box.upper,
                     .cost = cost_,
                     .epsilon = set_.epsilon(),
                     .threshold = threshold_};
  BoxProjection solved = ellipsoid_.project(problem);
  if (solved.status == BoxStatus::infeasible) {
    problem.epsilon = 0.9 * ellipsoid_.max_epsilon(box.lower, box.upper, threshold_).epsilon;
    solved = ellipsoid_.project(problem);
  }
  multiplier = solved.multiplier;
  return solved.point;
}

BoxProjection TrueSearch::step(VectorArg query, const Box& box, const Vector& point,
                               const TrueWorst& worst, double multiplier, double boost) const {
  const Vector x = with_one(point);
  const Vector solved = set_.factor().solve(x);
  const double norm = std::sqrt(x.dot(solved));
  const double extent = boost * (set_.center() - worst.model).dot(x) / norm;  // √(2ε′)
  const BoxFactor model = ellipsoid_.recentred(worst.model + extent / norm * solved);
  return model.project({.query = query,
                        .lower = box.lower,
                        .upper = box.upper,
                        .cost = cost_,
                        .epsilon = extent * extent / 2,
                        .threshold = threshold_,
                        .margin = 4 * margin_,
                        .start = BoxStart{.point = point, .multiplier = multiplier}});
}

TrueSearchResult TrueSearch::search(VectorArg query, const Box& box, Goal goal) const {
  TrueSearchResult best{.objective = infinity};
  double multiplier = 0;
  Vector point = first_point(query, box, multiplier);
  TrueWorst worst;
  double boost = 1;
  double error = infinity;
  double most_robust = -infinity;
  for (int iteration = 0; iteration < most_steps; ++iteration) {
    worst = set_.worst(with_one(point), iteration == 0 ? nullptr : &worst);
    const double bound = half_space_bound(worst.model, threshold_, query, box, cost_);
    best.lower_bound = std::max(best.lower_bound, bound);
    if (std::isinf(bound) && !best.found) {
      best.proof = worst.model;
      best.point = point;
      best.worst = worst;
      return best;
    }
    const double surplus = excess(point, worst);
    const double objective = cost_at(cost_, query, point);
    const bool is_better =
        surplus >= 0 ? objective < best.objective : !best.found && surplus > most_robust;
    if (is_better) {
      best.found = surplus >= 0;
      if (best.found) best.objective = objective;
      best.point = point;
      best.worst = worst;
      most_robust = surplus;
    }
    const double gap = best.objective - best.lower_bound;
    if (best.found && (goal == Goal::any || gap <= closed_gap * best.objective)) return best;

    if (iteration >= patience && std::abs(surplus) > 0.5 * error) boost *= caution;
    error = std::abs(surplus);
    const BoxProjection next = step(query, box, point, worst, multiplier, boost);
    if ((next.point - point).norm() <= 1e-15 * point.norm()) break;  // nothing changes any more
    point = next.point;
    multiplier = next.status == BoxStatus::infeasible ? 0 : next.multiplier;
  }
  return best;
}

TrueSearchResult TrueSearch::nearest(VectorArg query, const Box& box) const {
  return search(query, box, Goal::nearest);
}

bool TrueSearch::is_reachable(const Box& box) const {
  const Vector middle = Vector::Zero(box.lower.size()).cwiseMax(box.lower).cwiseMin(box.upper);
  return search(middle, box, Goal::any).found;
}

double TrueSearch::largest_epsilon(const Box& box) const {
  // Dinkelbach's iteration as in Result 8: what the most robust point at one ε attains is the next.
  Vector point = ellipsoid_.max_epsilon(box.lower, box.upper, threshold_).point;
  double epsilon = set_.robustness_radius(with_one(point), threshold_);
  for (int round = 0; round < 20 && epsilon > 1e-8 && epsilon < set_.epsilon(); ++round) {
    const TrueSet set = set_.with_epsilon(epsilon);
    TrueWorst worst = set.worst(with_one(point));
    for (int ascent = 0; ascent < 20; ++ascent) {
      const Vector x = with_one(point);
      const Vector solved = set.factor().solve(x);
      const double norm = std::sqrt(x.dot(solved));
      const double extent = (set.center() - worst.model).dot(x) / norm;
      const Vector next = ellipsoid_.recentred(worst.model + extent / norm * solved)
                              .maximize(box.lower, box.upper, extent * extent / 2, point)
                              .point;
      const TrueWorst there = set.worst(with_one(next), &worst);
      if (!(there.lower_bound > worst.lower_bound + 1e-10 * std::abs(worst.lower_bound))) break;
      worst = there;
      point = next;
    }
    const double attained = set_.robustness_radius(with_one(point), threshold_);
    if (!(attained > epsilon * (1 + 1e-8))) break;
    epsilon = attained;
  }
  return std::min(epsilon, set_.epsilon());
}

}  // namespace ellice
