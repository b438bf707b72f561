#include "recourse/true_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "recourse/cut_projection.hpp"

namespace ellice {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_steps = 60;
constexpr double closed_gap = 1e-10;
// What answers that are called optimal need: beyond it cutting planes are not worth their while.
constexpr double settled_gap = 5e-10;
// Steps after which the stand-in gets the curvature of the true set's own border whenever a step
// does not halve the error, and after which it is made more cautious, too.
constexpr int patience = 4;
constexpr int long_patience = 10;
constexpr double caution = 1.5;

constexpr int most_cuts = 120;
// Rounds without any gain after which the cuts are given up.
constexpr int idle_rounds = 6;
// By how much more than it fell short the next point is asked for, so that it is robust.
constexpr double overshoot = 1.1;

bool is_square(const SeparableCost& cost) {
  return cost.quadratic.size() > 0 ? (cost.quadratic.array() > 0).all() : cost.absolute.size() == 0;
}

/// Leaves the half-spaces that hold something, and those that have not been tried yet.
void drop_idle(Matrix& models, Vector& multipliers) {
  std::vector<Index> kept;
  for (Index k = 0; k < models.cols(); ++k) {
    if (k >= multipliers.size() || multipliers(k) > 0) kept.push_back(k);
  }
  Vector multipliers_kept(static_cast<Index>(kept.size()));
  Index tried = 0;
  for (const Index k : kept) {
    if (k < multipliers.size()) multipliers_kept(tried++) = multipliers(k);
  }
  models = Matrix(models(Eigen::all, kept));
  multipliers = multipliers_kept.head(tried);
}

/// A point of the box to start from.
Vector middle_of(const Box& box) {
  return Vector::Zero(box.lower.size()).cwiseMax(box.lower).cwiseMin(box.upper);
}

void append(Matrix& models, const Vector& model) {
  models.conservativeResize(model.size(), models.cols() + 1);
  models.rightCols(1) = model;
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
  Vector point = pulled_point(low * theta.head(d), query, box, cost);
  double bound = cost_at(cost, query, point);
  if (excess(point) >= 0) return bound;
  double high = 1;
  while (excess(point = pulled_point(high * theta.head(d), query, box, cost)) < 0 && high < 1e100)
    high *= 8;
  const auto consider = [&](double m) {
    const double value = cost_at(cost, query, point) - m * excess(point);
    if (std::isfinite(value)) bound = std::max(bound, value);
  };
  consider(high);
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    point = pulled_point(middle * theta.head(d), query, box, cost);
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
                               const TrueWorst& worst, double multiplier,
                               const StandIn& stand_in) const {
  const Vector x = with_one(point);
  Vector solved;
  double extent = 0;  // √(2ε′)
  std::optional<BoxFactor> model;
  if (stand_in.is_exact) {
    // Value, gradient and second derivative of g (theory.md, Result 33).
    const Matrix hessian = set_.hessian_at(worst.model);
    solved = CholeskyFactor(hessian).solve(x);
    const double norm = std::sqrt(x.dot(solved));
    extent = stand_in.boost * worst.multiplier * norm;
    model.emplace(worst.model + extent / norm * solved, hessian);
  } else {
    solved = set_.factor().solve(x);
    const double norm = std::sqrt(x.dot(solved));
    extent = stand_in.boost * (set_.center() - worst.model).dot(x) / norm;
    model = ellipsoid_.recentred(worst.model + extent / norm * solved);
  }
  return model->project({.query = query,
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
  StandIn stand_in;
  double error = infinity;
  double most_robust = -infinity;
  Matrix models(set_.center().size(), 0);
  for (int iteration = 0; iteration < most_steps; ++iteration) {
    worst = set_.worst(with_one(point), iteration == 0 ? nullptr : &worst);
    append(models, worst.model);
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

    if (std::abs(surplus) > 0.5 * error) {
      if (iteration >= patience) stand_in.is_exact = true;
      if (iteration >= long_patience) stand_in.boost *= caution;
    }
    error = std::abs(surplus);
    const BoxProjection next = step(query, box, point, worst, multiplier, stand_in);
    if ((next.point - point).norm() <= 1e-15 * point.norm()) break;  // nothing changes any more
    point = next.point;
    multiplier = next.status == BoxStatus::infeasible ? 0 : next.multiplier;
  }
  const double gap = best.objective - best.lower_bound;
  const bool is_settled = best.found && gap <= settled_gap * best.objective;
  if (goal == Goal::nearest && !is_settled && is_square(cost_)) {
    finish_by_cuts(query, box, models, best);
  }
  return best;
}

void TrueSearch::finish_by_cuts(VectorArg query, const Box& box, Matrix& models,
                                TrueSearchResult& best) const {
  Vector multipliers;
  const auto judge = [&](const Vector& point) {
    const TrueWorst worst = set_.worst(with_one(point), models.cols() > 0 ? &best.worst : nullptr);
    append(models, worst.model);
    const double surplus = excess(point, worst);
    const double objective = cost_at(cost_, query, point);
    if (surplus >= 0 && (!best.found || objective < best.objective)) {
      best.found = true;
      best.objective = objective;
      best.point = point;
      best.worst = worst;
    }
    return surplus;
  };
  const Index most_kept = 3 * models.rows() + 20;
  int idle = 0;
  for (int cut = 0; cut < most_cuts && idle < idle_rounds; ++cut) {
    best.cuts = cut + 1;
    const double gap_before = best.objective - best.lower_bound;
    const double bound_before = best.lower_bound;
    const CutProjection outer = project_onto_cuts(models, threshold_, query, box, cost_);
    multipliers = outer.multipliers;
    best.lower_bound = std::max(best.lower_bound, outer.lower_bound);
    // A mixture of models of the set is one, too.
    if (multipliers.sum() > 0 && !best.found) {
      const Vector mixture = models * multipliers / multipliers.sum();
      if (linear_maximum(mixture, box) < threshold_) {
        best.lower_bound = infinity;
        best.proof = mixture;
        return;
      }
    }
    const double surplus = judge(outer.point);
    if (surplus < 0) {
      (void)judge(
          project_onto_cuts(models, threshold_ - overshoot * surplus, query, box, cost_).point);
    }
    const double gap = best.objective - best.lower_bound;
    if (best.found && gap <= closed_gap * best.objective) return;
    const bool gains =
        best.found ? gap < gap_before * (1 - 1e-6) : best.lower_bound > bound_before * (1 + 1e-9);
    idle = gains ? 0 : idle + 1;
    if (models.cols() > most_kept) drop_idle(models, multipliers);
  }
}

TrueSearchResult TrueSearch::nearest_by_cuts(VectorArg query, const Box& box) const {
  require(is_square(cost_), "cutting planes need a cost with a square in every column");
  TrueSearchResult best{.point = query.cwiseMax(box.lower).cwiseMin(box.upper),
                        .objective = infinity};
  best.worst = set_.worst(with_one(best.point));
  Matrix models = best.worst.model;
  finish_by_cuts(query, box, models, best);
  return best;
}

TrueSearchResult TrueSearch::nearest(VectorArg query, const Box& box) const {
  return search(query, box, Goal::nearest);
}

bool TrueSearch::is_reachable(const Box& box) const {
  return search(middle_of(box), box, Goal::any).found;
}

bool TrueSearch::is_unreachable(const Box& box) const {
  return search(middle_of(box), box, Goal::nearest).proof.has_value();
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
