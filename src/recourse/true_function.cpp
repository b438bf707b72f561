#include "true_function.hpp"

#include <cmath>

#include "ellice/solver/cholesky.hpp"

namespace ellice {

namespace {

// A start far away may cost Newton's method all its steps; then the ellipsoid's answer is a better
// one.
constexpr double loose = 1e-6;

}  // namespace

TrueFunction::TrueFunction(const Network& network, double epsilon)
    : pass_(network),
      kappa_(std::sqrt(2 * epsilon)),
      features_(Vector::Ones(network.layers.back().weights.cols() + 1)) {}

double TrueFunction::forward(VectorArg x) {
  const double logit = pass_.forward(x);
  features_.head(features_.size() - 1) = pass_.features();
  return logit;
}

void TrueFunction::curvature(const Matrix& whitened, double multiplier, Matrix& hessian) {
  pass_.feature_jacobian(jacobian_);
  const Matrix image = whitened.leftCols(jacobian_.rows()) * jacobian_;
  const Vector along = whitened * features_;
  const Vector shared = image.transpose() * along / along.norm();
  hessian = image.transpose() * image;
  hessian -= shared * shared.transpose();
  hessian *= multiplier / kappa_;
}

TrueLogit::TrueLogit(const Network& network, const TrueSet& set)
    : TrueFunction(network, set.epsilon()), set_(&set) {}

RobustScore TrueLogit::value(Index /*member*/, VectorArg x) {
  const double logit = forward(x);
  const auto is_loose = [&] {
    return worst_->attained - worst_->lower_bound > loose * (logit - worst_->attained);
  };
  worst_ = set_->worst(features_, worst_ ? &*worst_ : nullptr);
  if (is_loose()) worst_ = set_->worst(features_);
  return {.logit = logit, .spread = (logit - worst_->lower_bound) / kappa_};
}

RobustScore TrueLogit::gradient(Index member, VectorArg x, Vector& logit_gradient,
                                Vector& spread_gradient) {
  const RobustScore result = value(member, x);
  const Index m = features_.size() - 1;
  pass_.feature_gradient(set_->center().head(m), logit_gradient);
  const Vector fall = (set_->center() - worst_->model).head(m) / kappa_;
  pass_.feature_gradient(fall, spread_gradient);
  return result;
}

bool TrueLogit::spread_hessian(Index /*member*/, Matrix& hessian) {
  Matrix whitened = Matrix::Identity(features_.size(), features_.size());
  CholeskyFactor(set_->hessian_at(worst_->model)).whiten(whitened);
  curvature(whitened, worst_->multiplier, hessian);
  return true;
}

double TrueLogit::extent(VectorArg x) {
  const double spread = value(0, x).spread;
  return spread / set_->factor().inverse_norm(features_);
}

const TrueWorst* TrueLogit::start_at(VectorArg x) {
  (void)value(0, x);
  return &*worst_;
}

double TrueLogit::robustness_radius(VectorArg x, double threshold) {
  (void)forward(x);
  return set_->robustness_radius(features_, threshold);
}

TrueMargins::TrueMargins(const Network& network, const TrueSoftmax& set, const Contest& contest)
    : TrueFunction(network, set.epsilon()),
      set_(&set),
      contest_(&contest),
      worst_(contest.rivals.size()) {}

RobustScore TrueMargins::value(Index member, VectorArg x) {
  (void)forward(x);
  const double margin = pair_of(set_->center(), member).dot(features_);
  TrueMargin& worst = worst_[static_cast<std::size_t>(member)];
  const bool has_start = worst.heads.size() > 0;
  const auto find = [&](const TrueMargin* start) {
    worst = set_->worst(features_, contest_->winner, rival(member), start);
  };
  find(has_start ? &worst : nullptr);
  const double gap = worst.attained - worst.lower_bound;
  if (has_start && gap > loose * (margin - worst.attained)) find(nullptr);
  return {.logit = margin, .spread = (margin - worst.lower_bound) / kappa_};
}

RobustScore TrueMargins::gradient(Index member, VectorArg x, Vector& logit_gradient,
                                  Vector& spread_gradient) {
  const RobustScore result = value(member, x);
  const Index m = features_.size() - 1;
  const Vector center = pair_of(set_->center(), member);
  const Vector worst = pair_of(worst_[static_cast<std::size_t>(member)].heads, member);
  pass_.feature_gradient(center.head(m), logit_gradient);
  const Vector fall = (center - worst).head(m) / kappa_;
  pass_.feature_gradient(fall, spread_gradient);
  return result;
}

bool TrueMargins::spread_hessian(Index member, Matrix& hessian) {
  const TrueMargin& worst = worst_[static_cast<std::size_t>(member)];
  const Index p = features_.size();
  Matrix whitened = Matrix::Zero(p * set_->classes(), p);
  whitened.middleRows(contest_->winner * p, p).setIdentity();
  whitened.middleRows(rival(member) * p, p) = -Matrix::Identity(p, p);
  CholeskyFactor(set_->hessian_at(worst.heads)).whiten(whitened);
  curvature(whitened, worst.multiplier, hessian);
  return true;
}

double TrueMargins::extent(VectorArg x) {
  double least = 0;
  double result = 1;
  for (Index k = 0; k < members(); ++k) {
    const RobustScore score = value(k, x);
    if (k > 0 && score.robust(kappa_) >= least) continue;
    least = score.robust(kappa_);
    result = score.spread / set_->ellipsoid_spread(features_, contest_->winner, rival(k));
  }
  return result;
}

double TrueMargins::robustness_radius(VectorArg x, double threshold) {
  (void)forward(x);
  return ellice::robustness_radius(*set_, *contest_, features_, threshold);
}

}  // namespace ellice
