#include "sets/true_corners.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/corner_newton.hpp"

namespace ellice {

namespace {

constexpr int most_pictures = 40;
constexpr int most_levels = 40;
// A step must close the gap to that share, or the next one gets a Hessian of its own.
constexpr double enough_closed = 0.1;
// Of the penalty, or of the radius: bounds that near are one.
constexpr double closed_gap = 1e-10;
// A head that misses the level by more is taken back into the set before the next picture.
constexpr double far_outside = 2;
// No step changes a score by more: beyond that the second-order picture of the losses is
// worthless.
constexpr double longest_picture_step = 3;
// Of the largest curvature: what directions get that only the corners hold.
constexpr double held_by_corners = 1e-11;
// Of the largest curvature: that of what stays at 0.
constexpr double fixed_at_zero = 1e4;
constexpr double shortest_picture_step = 1e-9;

class CornerSearch {
 public:
  CornerSearch(const CorneredSet& set, const Vector& a)
      : set_(&set), a_(&a), l_(&set.objective->corners()), last_(a.size() - 1) {
    require(a(last_) != 0, "the functional has no entry for the intercept");
  }

  [[nodiscard]] WorstHead worst(double epsilon, const WorstHead* nearby) const {
    const bool has_start = nearby != nullptr && nearby->curvature != nullptr;
    const auto hessian = std::make_shared<const Matrix>(
        has_start ? nearby->curvature->reconstructedMatrix() : *set_->hessian);
    Iterate at = look(has_start ? nearby->stationary : center(), hessian);
    if (at.excess > far_outside * epsilon) at = look(pulled(at, epsilon), hessian);
    double score = a_->dot(at.theta);
    if (!has_start) {
      const Eigen::LLT<Matrix> factor(held_hessian(at));
      score -= std::sqrt(2 * epsilon * std::max(a_->dot(factor.solve(*a_)), 0.0));
    }
    WorstHead result{.model = center(),
                     .attained = a_->dot(center()),
                     .proved = -infinity,
                     .stationary = center()};
    double gap = infinity;
    int idle = 0;  // steps that closed little of it
    for (result.iterations = 0; result.iterations < most_pictures; ++result.iterations) {
      check_stop();
      const Vector next = shortened(at.theta, Picture(*this, at).at_level(score, epsilon));
      Iterate there = look(next, at.hessian);
      const Vector inside = pulled(there, epsilon);
      const double attained = a_->dot(inside);
      const Bound bound = bound_at(there, set_->optimum + epsilon);
      const double proved =
          bound.tau > 0 ? a_->dot(next) +
                              (there.excess - epsilon - bound.missed - set_->rounding) / bound.tau -
                              1e-15 * next.cwiseProduct(*a_).cwiseAbs().sum()
                        : -infinity;
      if (std::isfinite(proved)) result.proved = std::max(result.proved, proved);
      if (attained < result.attained) {
        result.attained = attained;
        result.model = inside;
        result.stationary = next;
        result.multiplier = bound.tau;
      }
      const double before = gap;
      gap = result.attained - result.proved;
      const double penalty = a_->dot(center()) - result.attained;
      // Rounding has the last word: near the end no step closes more of the gap.
      idle = gap < before / 2 || gap > 1e-6 * penalty ? 0 : idle + 1;
      const double known = std::max(closed_gap, 2 * set_->rounding / epsilon);
      if (gap <= known * penalty || idle == 3) break;
      if (there.excess > far_outside * epsilon) {
        at = look(inside);
      } else if (!(gap <= enough_closed * before)) {
        at = look(next);
      } else {
        at = std::move(there);
      }
      score = a_->dot(at.theta);
    }
    result.curvature = std::make_shared<const Eigen::LLT<Matrix>>(held_hessian(at));
    return result;
  }

  [[nodiscard]] double radius(double threshold, const Vector* nearby) const {
    Iterate at = look(onto(nearby != nullptr ? *nearby : center(), threshold),
                      std::make_shared<const Matrix>(*set_->hessian));
    double proved = 0;
    double gap = infinity;
    int idle = 0;  // steps that proved no more
    for (int step = 0; step < most_pictures; ++step) {
      check_stop();
      const Bound bound = bound_at(at, set_->optimum + at.excess);
      const double before = proved;
      if (bound.tau > 0) {
        const double lost = bound.tau * (a_->dot(at.theta) - threshold) - bound.missed;
        proved = std::max(proved, at.excess + std::min(lost, 0.0) - set_->rounding);
      }
      idle = proved > before || proved == 0 ? 0 : idle + 1;
      const double last_gap = std::exchange(gap, at.excess - proved);
      if (gap <= closed_gap * at.excess + 2 * set_->rounding || idle == 3) break;
      if (!at.is_own && !(gap <= enough_closed * last_gap)) at = look(at.theta);
      const Vector next = Picture(*this, at).at_score(threshold);
      double length = 1;
      Iterate there = look(next, at.hessian);
      // What a last step gains is below the rounding of L, and what it proves is not.
      const double enough = at.excess + set_->rounding;
      while (!(there.excess < enough) && length > shortest_picture_step) {
        length /= 2;
        there = look(at.theta + length * (next - at.theta), at.hessian);
      }
      if (!(there.excess < enough)) break;
      at = std::move(there);
    }
    return proved;
  }

 private:
  struct Iterate {
    Vector theta = {};
    double excess = 0;  // L(θ) − L̂
    Vector gradient = {};
    std::shared_ptr<const Matrix> hessian = {};
    bool is_own = false;  // the Hessian is that of θ, not of a head nearby
  };

  [[nodiscard]] const Vector& center() const { return *set_->minimiser; }

  /// With a Hessian of its own.
  [[nodiscard]] Iterate look(Vector theta) const {
    Iterate result{.theta = std::move(theta), .is_own = true};
    auto hessian = std::make_shared<Matrix>();
    result.excess =
        set_->objective->derivatives(result.theta, result.gradient, *hessian) - set_->optimum;
    result.hessian = std::move(hessian);
    return result;
  }

  /// With that of a head nearby: it costs many gradients (as TrueSet::newton).
  [[nodiscard]] Iterate look(Vector theta, std::shared_ptr<const Matrix> hessian) const {
    Iterate result{.theta = std::move(theta), .hessian = std::move(hessian)};
    result.excess = set_->objective->gradient(result.theta, result.gradient) - set_->optimum;
    return result;
  }

  [[nodiscard]] static Matrix held_hessian(const Iterate& at) {
    Matrix result = *at.hessian;
    result.diagonal().array() += held_by_corners * result.diagonal().maxCoeff();
    return result;
  }

  /// Back into the set, which is convex.
  [[nodiscard]] Vector pulled(const Iterate& at, double epsilon) const {
    const double inside = epsilon - set_->rounding;
    if (at.excess <= inside) return at.theta;
    return center() + inside / at.excess * (at.theta - center());
  }

  /// The intercept moved such that aᵀθ is the score.
  [[nodiscard]] Vector onto(Vector theta, double score) const {
    theta(last_) += (score - a_->dot(theta)) / (*a_)(last_);
    return theta;
  }

  [[nodiscard]] Vector shortened(const Vector& from, const Vector& to) const {
    const double length = set_->objective->largest_score(to - from);
    if (!(length > longest_picture_step)) return to;
    return from + longest_picture_step / length * (to - from);
  }

  /// The objective to second order with its corners, among heads with a given score: the intercept,
  /// which has no penalty, follows from the score and the other parameters.
  class Picture {
   public:
    Picture(const CornerSearch& search, const Iterate& at)
        : search_(&search),
          at_(&at),
          hessian_(held_hessian(at)),
          linear_(at.gradient - hessian_ * at.theta),
          weights_(at.theta.head(search.last_)) {
      const Index d = search.last_;
      const Vector slope = search.a_->head(d) / (*search.a_)(d);  // of the intercept, reversed
      const Vector cross = hessian_.col(d).head(d);
      reduced_ = hessian_.topLeftCorner(d, d) - cross * slope.transpose() -
                 slope * cross.transpose() + hessian_(d, d) * slope * slope.transpose();
    }

    [[nodiscard]] Vector at_score(double score) {
      const Index d = search_->last_;
      const double intercept = score / (*search_->a_)(d);
      const Vector slopes = linear_ + intercept * hessian_.col(d);
      const Vector reduced = slopes.head(d) - slopes(d) / (*search_->a_)(d)*search_->a_->head(d);
      weights_ = corner_minimum(reduced_, reduced, search_->l_->head(d), weights_);
      Vector theta(d + 1);
      theta << weights_, intercept - search_->a_->head(d).dot(weights_) / (*search_->a_)(d);
      return theta;
    }

    /// Where the picture's excess is ε: it is convex in the score, and −τ its slope.
    [[nodiscard]] Vector at_level(double score, double epsilon) {
      Vector theta = at_score(score);
      for (int round = 0; round < most_levels; ++round) {
        const Vector step = theta - at_->theta;
        const Vector image = hessian_ * step;
        const double excess = at_->excess + at_->gradient.dot(step) + step.dot(image) / 2 +
                              search_->l_->dot(theta.cwiseAbs() - at_->theta.cwiseAbs());
        const double tau = -(at_->gradient(search_->last_) + image(search_->last_)) /
                           (*search_->a_)(search_->last_);
        const double change = (excess - epsilon) / tau;
        if (!(tau > 0) || !std::isfinite(change)) break;
        score += change;
        theta = at_score(score);
        if (std::abs(excess - epsilon) <= 1e-13 * epsilon) break;
      }
      return theta;
    }

   private:
    const CornerSearch* search_;
    const Iterate* at_;
    Matrix hessian_;
    Vector linear_;  // of the picture at 0
    Vector weights_;
    Matrix reduced_;
  };

  /// τ, and δ of Result 58 for heads with L ≤ level.
  struct Bound {
    double tau = 0;
    double missed = infinity;
  };
  [[nodiscard]] Bound bound_at(const Iterate& at, double level) const {
    Bound result{.tau = -at.gradient(last_) / (*a_)(last_)};
    if (!(result.tau > 0)) return result;
    const Vector tilted = at.gradient + result.tau * *a_;
    result.missed = set_->objective->cornered_suboptimality(
        at.theta, tilted, at.is_own ? at.hessian.get() : nullptr, level);
    return result;
  }

  const CorneredSet* set_;
  const Vector* a_;
  const Vector* l_;
  Index last_;
};

}  // namespace

WorstHead cornered_worst(const CorneredSet& set, const Vector& a, double epsilon,
                         const WorstHead* nearby) {
  const CornerSearch search(set, a);
  WorstHead found = search.worst(epsilon, nearby);
  const auto is_loose = [&] {
    return !(found.attained - found.proved <= 1e-6 * (set.minimiser->dot(a) - found.attained));
  };
  if (nearby != nullptr && is_loose()) found = search.worst(epsilon, nullptr);
  return found;
}

double cornered_radius(const CorneredSet& set, const Vector& a, double threshold,
                       const Vector* nearby) {
  if (!(set.minimiser->dot(a) > threshold)) return 0;
  return CornerSearch(set, a).radius(threshold, nearby);
}

Matrix cornered_curvature(const CorneredSet& set, const Vector& head) {
  Matrix result = set.objective->hessian(head);
  const double largest = result.diagonal().maxCoeff();
  result.diagonal().array() += held_by_corners * largest;
  const Vector& l = set.objective->corners();
  for (Index j = 0; j < head.size(); ++j) {
    if (l(j) > 0 && std::abs(head(j)) <= 1e-9) result(j, j) += fixed_at_zero * largest;
  }
  return result;
}

}  // namespace ellice
