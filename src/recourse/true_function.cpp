#include "true_function.hpp"

#include <cmath>

namespace ellice {

namespace {

// A start far away may cost Newton's method all its steps; then the ellipsoid's answer is a better
// one.
constexpr double loose = 1e-6;

}  // namespace

TrueFunction::TrueFunction(const Network& network, const TrueSet& set)
    : set_(&set),
      pass_(network),
      kappa_(std::sqrt(2 * set.epsilon())),
      features_(Vector::Ones(set.center().size())) {}

RobustScore TrueFunction::value(Index /*member*/, VectorArg x) {
  const double logit = pass_.forward(x);
  features_.head(features_.size() - 1) = pass_.features();
  const auto is_loose = [&] {
    return worst_->attained - worst_->lower_bound > loose * (logit - worst_->attained);
  };
  worst_ = set_->worst(features_, worst_ ? &*worst_ : nullptr);
  if (is_loose()) worst_ = set_->worst(features_);
  return {.logit = logit, .spread = (logit - worst_->lower_bound) / kappa_};
}

RobustScore TrueFunction::gradient(Index member, VectorArg x, Vector& logit_gradient,
                                   Vector& spread_gradient) {
  const RobustScore result = value(member, x);
  const Index m = features_.size() - 1;
  pass_.feature_gradient(set_->center().head(m), logit_gradient);
  const Vector fall = (set_->center() - worst_->model).head(m) / kappa_;
  pass_.feature_gradient(fall, spread_gradient);
  return result;
}

bool TrueFunction::spread_hessian(Index /*member*/, Matrix& hessian) {
  const CholeskyFactor factor(set_->hessian_at(worst_->model));
  pass_.feature_jacobian(jacobian_);
  image_.setZero(features_.size(), jacobian_.cols());
  image_.topRows(jacobian_.rows()) = jacobian_;
  factor.whiten(image_);
  Matrix along = features_;
  factor.whiten(along);
  const Vector shared = image_.transpose() * along / along.norm();
  hessian = image_.transpose() * image_;
  hessian -= shared * shared.transpose();
  hessian *= worst_->multiplier / kappa_;
  return true;
}

}  // namespace ellice
