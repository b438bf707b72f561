#include "certificate/plain_true_set.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "certificate/plain_corners.hpp"
#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 60;
constexpr int most_models = 60;
// A step that leaves more than this of the error asks for the curvature of where it is.
constexpr long double slow = 0.1L;

}  // namespace

PlainTrueSet::PlainTrueSet(std::shared_ptr<const PlainObjective> objective, LongVector center)
    : objective_(std::move(objective)),
      center_(std::move(center)),
      center_curvature_(objective_->corners().empty() ? LongMatrix()
                                                      : objective_->hessian(center_)),
      center_inverse_(inverse_curvature(center_)) {}

PlainTrueSet::LongMatrix PlainTrueSet::inverse_curvature(const LongVector& at) const {
  LongMatrix curvature = objective_->with_gauge(objective_->hessian(at));
  if (!objective_->corners().empty())
    curvature.diagonal().array() += held_by_corners * curvature.diagonal().maxCoeff();
  const Eigen::LDLT<LongMatrix> factor(curvature);
  return factor.solve(LongMatrix::Identity(at.size(), at.size()));
}

long double PlainTrueSet::excess(const LongVector& theta) const {
  return objective_->evaluate(theta).objective - objective_->optimum();
}

PlainTrueSet::Cheapest PlainTrueSet::cheapest(const LongVector& c, long double score,
                                              const LongVector* start) const {
  if (!objective_->corners().empty()) {
    LongMatrix curvature = center_curvature_;
    return cornered_cheapest(c, score, start != nullptr ? *start : center_, curvature);
  }
  LongMatrix inverse = center_inverse_;
  LongVector image = inverse * c;
  const auto onto_score = [&](const LongVector& theta) -> LongVector {
    return theta + (score - c.dot(theta)) / c.dot(image) * image;
  };
  LongVector theta = onto_score(start != nullptr ? *start : center_);
  PlainObjective::Value value = objective_->evaluate(theta);
  long double last = std::numeric_limits<long double>::infinity();
  bool is_own = false;  // whether the curvature is that of the model as it stands
  for (int step = 0; step < most_steps; ++step) {
    check_stop();
    // Newton's step within the plane cᵀθ = t.
    const LongVector full = -(inverse * value.gradient);
    LongVector move = full - c.dot(full) / c.dot(image) * image;
    const long double decrease = -value.gradient.dot(move);
    const long double scale = 1 + objective_->optimum();
    if (!(decrease > 1e-36L * scale)) break;
    bool moved = false;
    for (long double length = 1; length > 1e-6L; length /= 2) {
      const LongVector next = theta + length * move;
      PlainObjective::Value there = objective_->evaluate(next);
      const bool is_lower = there.objective <= value.objective - 1e-4L * length * decrease;
      // What is left to gain may be below the rounding of the objective.
      const bool is_rounding = decrease <= 1e-17L * scale && length == 1;
      if (!is_lower && !is_rounding) continue;
      theta = next;
      value = std::move(there);
      moved = true;
      break;
    }
    if (moved && decrease <= 1e-17L * scale && !(decrease < slow * last)) break;
    if (!moved && is_own) break;
    is_own = !moved || decrease > slow * slow * last;
    if (is_own) {
      inverse = inverse_curvature(theta);
      image = inverse * c;
    }
    last = decrease;
  }
  Cheapest result{.model = theta, .excess = value.objective - objective_->optimum()};
  // L(θ′) = F(θ′) − τ·cᵀθ′ ≥ F(θ) − δ − τ·t for every θ′ that scores no more than t.
  const long double tau = -value.gradient.dot(c) / c.squaredNorm();
  if (!(tau > 0)) return result;
  const LongVector residual = value.gradient + tau * c;
  const long double missed = objective_->suboptimality(theta, residual);
  result.proved = std::min(result.excess - missed + tau * (c.dot(theta) - score), result.excess);
  return result;
}

PlainTrueSet::Cheapest PlainTrueSet::cornered_cheapest(const LongVector& c, long double score,
                                                       const LongVector& start,
                                                       LongMatrix& curvature) const {
  const Index last = c.size() - 1;
  LongVector theta = start;
  theta(last) += (score - c.dot(theta)) / c(last);
  PlainObjective::Value value = objective_->evaluate(theta);
  const long double scale = 1 + objective_->optimum();
  // What a bound loses is the root of what there is left to gain (Result 58): down to rounding.
  constexpr long double nothing = std::numeric_limits<long double>::infinity();
  long double before = nothing;
  bool is_own = false;  // the curvature is that of the model before the last step
  const auto renew = [&] {
    curvature = objective_->hessian(theta);
    is_own = true;
    before = nothing;
  };
  for (int step = 0; step < most_steps; ++step) {
    check_stop();
    const LongVector next = lowest_of_picture(
        {.curvature = curvature, .gradient = value.gradient, .at = theta, .score = c},
        objective_->corners());
    const LongVector way = next - theta;
    const long double gain =
        std::max(expected_gain(value.gradient, theta, next, objective_->corners()),
                 way.dot(curvature * way));
    if (!(gain > 1e-36L * scale)) break;
    if (gain > slow * before) {
      if (is_own && gain <= 1e-17L * scale) break;
      renew();
      continue;
    }
    if (before != nothing) is_own = false;
    bool moved = false;
    for (long double length = 1; length > 1e-6L; length /= 2) {
      const LongVector there = length == 1 ? next : LongVector(theta + length * (next - theta));
      PlainObjective::Value found = objective_->evaluate(there);
      const bool is_rounding = gain <= 1e-17L * scale && length == 1;
      if (found.objective > value.objective - 1e-4L * length * gain && !is_rounding) continue;
      theta = there;
      value = std::move(found);
      moved = true;
      break;
    }
    if (!moved && is_own && before == nothing) break;
    if (!moved) {
      renew();
      continue;
    }
    before = gain;
  }
  Cheapest result{.model = theta, .excess = value.objective - objective_->optimum()};
  const PlainObjective::Cornered found = objective_->cornered(theta, value, c, value.objective);
  if (!(found.tau > 0)) return result;
  result.proved =
      std::min(result.excess - found.missed + found.tau * (c.dot(theta) - score), result.excess);
  return result;
}

long double PlainTrueSet::multiplier(const LongVector& gradient, const LongVector& c) const {
  if (!objective_->corners().empty()) return -gradient(c.size() - 1) / c(c.size() - 1);
  return -gradient.dot(c) / c.squaredNorm();
}

PlainTrueSet::Worst PlainTrueSet::worst(const LongVector& c, double epsilon,
                                        const LongVector* start) const {
  const long double kappa = std::sqrt(2 * static_cast<long double>(epsilon));
  const long double at_center = c.dot(center_);
  // Scores whose cheapest models are of the set, and beyond it.
  long double near = at_center;
  long double far = -std::numeric_limits<long double>::infinity();
  bool is_sure = false;  // of `far`; where steps ended early, a cheaper model may be of the set
  // √(2·excess) is nearly linear in the score: Newton's method from the ellipsoid's, and halves, or
  // twice as far, where it leads elsewhere.
  long double score = at_center - kappa * std::sqrt(c.dot(center_inverse_ * c));
  LongVector model = start != nullptr ? *start : center_;
  if (start != nullptr) score = c.dot(*start);
  LongMatrix curvature = center_curvature_;
  for (int round = 0; round < most_models; ++round) {
    const Cheapest found = objective_->corners().empty()
                               ? cheapest(c, score, &model)
                               : cornered_cheapest(c, score, model, curvature);
    model = found.model;
    const PlainObjective::Value value = objective_->evaluate(model);
    const long double level =
        std::sqrt(2 * std::max(value.objective - objective_->optimum(), 0.0L));
    const long double tau = multiplier(value.gradient, c);
    if (!(tau > 0) || !(level > 0)) break;
    const long double reached = c.dot(model);
    if (reached >= near || reached <= far || std::abs(level - kappa) <= 1e-15L * kappa) break;
    (level < kappa ? near : far) = reached;
    if (level >= kappa) is_sure = found.proved > epsilon;
    const long double next = reached - (kappa - level) * level / tau;
    if (next < near && (next > far || !is_sure)) {
      if (next <= far) far = -std::numeric_limits<long double>::infinity();
      score = next;
      continue;
    }
    score = std::isinf(far) ? 2 * near - at_center : (near + far) / 2;
    // Where no row has a slope left, no step leads on; towards the centre the objective falls.
    if (score > reached)
      model = center_ + (score - at_center) / (reached - at_center) * (model - center_);
  }
  Worst result{.model = model, .proved = objective_->lower_bound(model, c, epsilon)};
  // Towards the centre until it belongs: the set is convex.
  for (int round = 0; round < 60 && excess(result.model) > epsilon; ++round) {
    const long double share = epsilon / excess(result.model);
    result.model =
        center_ + std::min(share, 1 - 1e-18L * (1LL << round)) * (result.model - center_);
  }
  return result;
}

}  // namespace ellice
