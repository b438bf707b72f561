#include "audit/audit_true_set.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "certificate/verification_check.hpp"
#include "ellice/core/error.hpp"

namespace ellice::audit {

namespace {

constexpr int most_models = 30;
// Of the objective: what its numbers in the file are known to. Who issues asks for twice as much.
constexpr long double known_share = 0.5e-10L;
// Of ε: how far above the minimum the model may be.
constexpr long double allowed_above = 0.02L;

// Of the square of an ellipsoid that touches the set: what rounding may do to it; beyond the last
// share it could prove what is not so.
constexpr long double touching_slack = 1e-9L;
constexpr long double most_lost = 1e-9L;
constexpr long double extended_to_double = 0x1p-11L;
// Of the largest curvature: that of parameters which stay at 0 while a worst model moves.
constexpr long double fixed_curvature = 1e4L;

/// The objective's slopes with those of its corners, the least where a parameter is 0.
LongVector least_slopes(const PlainObjective& objective, const LongVector& at) {
  LongVector result = objective.evaluate(at).gradient;
  for (std::size_t j = 0; j < objective.corners().size(); ++j) {
    const long double corner = objective.corners()[j];
    long double& slope = result(static_cast<Index>(j));
    const long double here = at(static_cast<Index>(j));
    slope += here > 0 ? corner : here < 0 ? -corner : std::clamp(-slope, -corner, corner);
  }
  return result;
}

/// The objective around a model as a quadratic: Σ l|θ| by parabolas that have its slope there, and
/// near 0 that of √(θ² + η²).
void add_parabolas(const PlainObjective& objective, const LongVector& at, long double eta,
                   LongVector& gradient, LongMatrix& curvature) {
  for (std::size_t j = 0; j < objective.corners().size(); ++j) {
    const auto i = static_cast<Index>(j);
    const long double bend = objective.corners()[j] / std::hypot(at(i), eta);
    gradient(i) += bend * at(i);
    curvature(i, i) += bend;
  }
}

/// Far away, where every row's slope has died out, there is no curvature to go by.
bool is_definite(const Eigen::LDLT<LongMatrix>& factor) {
  return factor.info() == Eigen::Success && factor.vectorD().minCoeff() > 0;
}

}  // namespace

TrueModels::TrueModels(const Model& model, const StoredRows& rows, double epsilon)
    : PlainTrueSet(std::make_shared<PlainObjective>(model, rows), verification::head_of(model)) {
  require_input(objective().rows_fit(),
                "the rows are not those of the model: their number, or the model's loss or Hessian "
                "on them, is not that of its file; give the data that it was trained on");
  require_input(objective().objective_fits(),
                "the model file contradicts itself: its training.objective, {}, is not the one on "
                "the rows of its training; it was altered since: train or import it again",
                model.training.objective);
  const LongVector gradient = least_slopes(objective(), center());
  const long double above = gradient.dot(center_inverse() * gradient) / 2;  // the minimum
  const auto smallest = static_cast<double>(
      std::max(known_share * (1 + objective().optimum()), above / allowed_above));
  require(epsilon >= smallest,
          "epsilon = {} must be at least {:.2g} for the true set of this model, which is as well "
          "as its objective and the minimum of that are known",
          epsilon, smallest);
}

Cone TrueModels::cone_at(const LongVector& model, const LongVector& c, const LongMatrix& lift,
                         double epsilon) const {
  LongMatrix curvature = objective().with_gauge(objective().hessian(model));
  const LongVector gradient = objective().evaluate(model).gradient;
  const long double tau = multiplier(gradient, c);
  const long double largest = curvature.diagonal().maxCoeff();
  for (std::size_t j = 0; j < objective().corners().size(); ++j) {
    const bool is_fixed = std::abs(model(static_cast<Index>(j))) <= 1e-9L;
    curvature(static_cast<Index>(j), static_cast<Index>(j)) +=
        largest * (is_fixed ? fixed_curvature : 1e-11L);
  }
  const Eigen::LDLT<LongMatrix> factor(curvature);
  const LongVector image = factor.solve(c);
  const long double own = tau * tau * c.dot(image) / 2;
  if (!is_definite(factor) || !(own > 1e-100L && own < 1e100L)) {
    return {std::make_shared<const EliminatedHessian>(
                objective().with_gauge(objective().hessian(center()))),
            center(), lift};
  }
  return {std::make_shared<const EliminatedHessian>(epsilon / own * curvature), model + tau * image,
          lift};
}

std::optional<Cone> TrueModels::cone_inside(const LongVector& model, double epsilon) const {
  if (!objective().has_one_logit()) return std::nullopt;
  const Index p = model.size();
  const PlainObjective::Value here = objective().evaluate(model);
  const long double room = 2 * (objective().optimum() + epsilon - here.objective);
  // Parameters that are 0 at a corner stay so; |θ| ≤ θ²/2a + a/2 of the others.
  LongVector slopes = here.gradient;
  LongVector bends = LongVector::Zero(p);
  std::vector<Index> free;
  for (Index j = 0; j < p; ++j) {
    const auto place = static_cast<std::size_t>(j);
    const long double corner =
        place < objective().corners().size() ? objective().corners()[place] : 0;
    if (corner > 0 && model(j) == 0) continue;
    free.push_back(j);
    if (corner == 0) continue;
    slopes(j) += model(j) > 0 ? corner : -corner;
    bends(j) = corner / std::abs(model(j));
  }
  const auto size = static_cast<Index>(free.size());
  LongMatrix lift = LongMatrix::Zero(size, p);
  for (Index k = 0; k < size; ++k) lift(k, free[static_cast<std::size_t>(k)]) = 1;
  const LongVector gradient = lift * slopes;
  const auto curved = [&](const LongMatrix& smooth) {
    return LongMatrix(lift * (smooth + LongMatrix(bends.asDiagonal())) * lift.transpose());
  };
  const Eigen::LDLT<LongMatrix> factor(curved(objective().hessian(model)));
  if (!is_definite(factor) || !(room >= 0)) return std::nullopt;
  const LongMatrix inverse = factor.solve(LongMatrix::Identity(size, size));
  const LongVector step = inverse * gradient;
  const LongMatrix above = curved(
      objective().curvature_above(model, model - lift.transpose() * step,
                                  lift.transpose() * inverse * lift, gradient.dot(step) + room));
  if (!is_definite(Eigen::LDLT<LongMatrix>(above))) return std::nullopt;
  const auto eliminated = std::make_shared<const EliminatedHessian>(above);
  const LongVector shift = eliminated->solve(gradient);
  const long double lost =
      size * extended_to_double * Cone(eliminated, lift * model, lift).rounding();
  const long double square =
      (1 - std::max(touching_slack, 2 * lost)) * (gradient.dot(shift) + room);
  if (!(square > 0) || !(lost < most_lost)) return std::nullopt;
  return Cone(std::make_shared<const EliminatedHessian>(2 * epsilon / square * above),
              lift * model - shift, lift);
}

CostBounds TrueModels::least_cost(const CostQuestion& question, const Vector& start) const {
  CostBounds result;
  Vector point = start;
  LongVector model = center();
  for (int round = 0; round < most_models; ++round) {
    const LongVector x = extended(point);
    const Worst worst = this->worst(x, question.epsilon, round > 0 ? &model : nullptr);
    model = worst.model;
    LongVector plane = model;
    plane(plane.size() - 1) -= question.threshold;
    result.proved =
        std::max(result.proved, half_space_cost(plane, question.region->box, *question.cost));
    const auto paid = static_cast<double>(question.cost->at(point));
    if (worst.proved >= question.threshold && paid < result.found) {
      result.found = paid;
      result.point = point;
    }
    if (result.proved >= question.enough || result.found < question.wanted) break;
    const std::vector<Cone> picture = {
        cone_at(model, x, LongMatrix::Identity(x.size(), x.size()), question.epsilon)};
    CostQuestion next = question;
    next.cones = &picture;
    next.enough = 2 * question.enough;  // to the end, wherever that is
    next.wanted = 0;
    const CostBounds of_picture = audit::least_cost(next);
    if (of_picture.point.size() == 0 || of_picture.point == point) break;
    point = of_picture.point;
  }
  result.proved = std::min(result.proved, question.enough);
  return result;
}

Reach TrueModels::find_reach(double threshold, const Region& region, double near) const {
  // The cheapest model that refuses the whole region, by quadratic pictures of the objective around
  // the last one; the point that is most robust to the picture is a candidate for the set itself.
  const Index p = center().size();
  Reach result;
  LongVector theta = center();
  long double value = 0;
  const auto consider = [&](const Vector& point, const LongVector& start) {
    if (point.size() == 0) return;
    const LongVector x = extended(point);
    if (!(center().dot(x) > threshold)) return;
    const auto attained = static_cast<double>(cheapest(x, threshold, &start).proved);
    if (attained <= result.attained && result.point.size() > 0) return;
    result.attained = attained;
    result.point = point;
  };
  for (int round = 0; round < most_models; ++round) {
    PlainObjective::Value here = objective().evaluate(theta);
    LongMatrix curvature = objective().hessian(theta);
    add_parabolas(objective(), theta, center().norm() * std::pow(0.3L, 1 + round), here.gradient,
                  curvature);
    if (!is_definite(Eigen::LDLT<LongMatrix>(curvature))) break;
    auto hessian = std::make_shared<const EliminatedHessian>(curvature);
    const std::vector<Cone> picture = {
        Cone(hessian, theta - hessian->solve(here.gradient), LongMatrix::Identity(p, p))};
    const Reach of_picture = audit::find_reach(picture, threshold, region, near);
    if (of_picture.admitted == 0 && of_picture.model.size() == 0) {
      result.admitted = 0;  // the rules leave nothing
      return result;
    }
    if (of_picture.model.size() == 0) return result;
    consider(of_picture.point, of_picture.model);
    LongVector next = of_picture.model;
    long double there = excess(next);
    // Both refuse the region, and so do the models between them.
    for (int half = 0; half < 40 && round > 0 && there > value; ++half) {
      next = (theta + next) / 2;
      there = excess(next);
    }
    if (round > 0 && !(there < value)) break;
    const bool is_settled = round > 0 && there > value * (1 - 1e-12L);
    theta = next;
    value = there;
    result.admitted = static_cast<double>(value);
    result.model = theta;
    near = of_picture.attained > 0 ? of_picture.attained : near;
    if (is_settled || result.admitted <= result.attained * (1 + 1e-8)) break;
  }
  return result;
}

}  // namespace ellice::audit
