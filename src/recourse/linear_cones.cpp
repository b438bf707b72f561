#include "ellice/recourse/linear_cones.hpp"

#include <algorithm>
#include <limits>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

bool is_linear(const Model& model) {
  return model.network.layers.size() == 1;
}

/// The last-layer set of a member over the first model's columns. With x̃′ = T·x̃ the member's score
/// is (Tᵀθ)ᵀx̃, and H becomes T⁻¹HT⁻ᵀ.
RashomonEllipsoid moved_set(const Model& model, const Model& member, const Matrix& hessian,
                            double epsilon) {
  const Encoder& from = model.encoder;
  const Encoder& to = member.encoder;
  const Vector head = member.network.head();
  if (from.mean() == to.mean() && from.scale() == to.scale()) return {head, hessian, epsilon};
  const Index d = from.columns();
  const Vector stretch = from.scale().cwiseQuotient(to.scale());
  const Vector offset = (from.mean() - to.mean()).cwiseQuotient(to.scale());
  Matrix inverse = Matrix::Identity(d + 1, d + 1);  // of T
  inverse.diagonal().head(d) = stretch.cwiseInverse();
  inverse.col(d).head(d) = -offset.cwiseQuotient(stretch);
  Vector center = head;
  center.head(d).array() *= stretch.array();
  center[d] += head.head(d).dot(offset);
  Matrix moved = inverse * hessian * inverse.transpose();
  moved = ((moved + moved.transpose()) / 2).eval();
  return {center, moved, epsilon};
}

}  // namespace

double LinearCones::robust_logit(VectorArg z) const {
  double least = std::numeric_limits<double>::infinity();
  for (const RashomonEllipsoid& set : sets)
    least = std::min(least, ellice::robust_logit(set, with_one(z)));
  return least;
}

bool has_linear_cones(const Problem& problem) {
  if (!is_linear(*problem.model)) return false;
  if (problem.set.kind == SetKind::last_layer) return true;
  return problem.set.kind == SetKind::ensemble &&
         std::all_of(problem.set.members.begin(), problem.set.members.end(),
                     [](const Model* member) { return is_linear(*member); });
}

LinearCones linear_cones(const Problem& problem) {
  const Model& model = *problem.model;
  require(is_linear(model),
          "the exact search is for linear models, and this one has hidden layers; use --method "
          "network, gradient or data");
  require(problem.set.kind == SetKind::last_layer || problem.set.kind == SetKind::ensemble,
          "the exact search knows the sets last-layer and ensemble only, not {}; use --method "
          "network, gradient or data",
          enum_name(problem.set.kind));
  require(has_linear_cones(problem),
          "the exact search is for linear models, and a member of the ensemble has hidden layers; "
          "use --method network, gradient or data");
  LinearCones result;
  if (problem.set.contest) {
    for (const Model& pair : pair_models(model, *problem.set.contest, problem.set.damping))
      result.sets.push_back(last_layer_set(pair, problem.epsilon));
  } else {
    result.sets.push_back(
        moved_set(model, model, damped_hessian(model, problem.set.damping), problem.epsilon));
    for (const Model* member : problem.set.members) {
      result.sets.push_back(
          moved_set(model, *member, damped_hessian(*member, problem.set.damping), problem.epsilon));
    }
  }
  for (const RashomonEllipsoid& set : result.sets)
    result.factors.emplace_back(set.center(), set.hessian());
  return result;
}

IntersectionProblem intersection(const Problem& problem, const LinearCones& cones,
                                 const FeasibleSet& feasible, const Box& box, double epsilon) {
  IntersectionProblem result{.query = feasible.query(), .lower = box.lower, .upper = box.upper};
  for (const BoxFactor& factor : cones.factors) {
    result.cones.push_back({.factor = &factor, .epsilon = epsilon, .threshold = problem.threshold});
  }
  for (const ModelRule& rule : feasible.rules()) result.rules.push_back(rule.rule);
  return result;
}

}  // namespace ellice
