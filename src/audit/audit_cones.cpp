#include "audit/audit_cones.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "certificate/verification_check.hpp"

namespace ellice::audit {

namespace {

bool is_identity(const LongMatrix& matrix) {
  return matrix.rows() == matrix.cols() && matrix.isIdentity(0);
}

/// x̃ in the columns of another model: raw = z·scale + mean, z′ = (raw − mean′)/scale′.
LongMatrix move_to(const Encoder& from, const Encoder& to) {
  const Index d = from.columns();
  LongMatrix result = LongMatrix::Identity(d + 1, d + 1);
  for (Index i = 0; i < d; ++i) {
    const long double scale = to.scale()(i);
    result(i, i) = from.scale()(i) / scale;
    result(i, d) = (static_cast<long double>(from.mean()(i)) - to.mean()(i)) / scale;
  }
  return result;
}

std::shared_ptr<const EliminatedHessian> eliminated(const Model& model, const SetChoice& set) {
  return std::make_shared<const EliminatedHessian>(verification::hessian_of(model, set.damping));
}

}  // namespace

Cone::Cone(std::shared_ptr<const EliminatedHessian> hessian, LongVector center, LongMatrix lift)
    : hessian_(std::move(hessian)),
      center_(std::move(center)),
      lift_(std::move(lift)),
      is_own_(is_identity(lift_)),
      theta_(lift_.transpose() * center_) {}

double Cone::Score::robust(double epsilon) const {
  return static_cast<double>(logit - std::sqrt(2 * static_cast<long double>(epsilon)) * spread);
}

LongVector Cone::lifted(const LongVector& x_tilde) const {
  if (is_own_) return x_tilde;
  return lift_ * x_tilde;
}

LongVector Cone::lowered(const LongVector& image) const {
  if (is_own_) return image;
  return lift_.transpose() * image;
}

LongVector Cone::solve(const LongVector& x_tilde) const {
  return hessian_->solve(lifted(x_tilde));
}

Cone::Score Cone::score(const LongVector& a, const LongVector& image) const {
  return {.logit = center_.dot(a), .spread = std::sqrt(std::max(a.dot(image), 0.0L))};
}

Cone::Score Cone::score(const LongVector& x_tilde) const {
  const LongVector a = lifted(x_tilde);
  return score(a, hessian_->solve(a));
}

double Cone::radius(const LongVector& x_tilde, double threshold) const {
  return radius(x_tilde, solve(x_tilde), threshold);
}

double Cone::radius(const LongVector& x_tilde, const LongVector& image, double threshold) const {
  const Score own = score(lifted(x_tilde), image);
  const long double margin = own.logit - threshold;
  if (!(margin > 0)) return 0;
  const long double ratio = margin / own.spread;
  return static_cast<double>(ratio * ratio / 2);
}

Cone::Radii Cone::radii(const LongVector& x_tilde, double threshold, const LongVector& lost) const {
  const LongVector a = lift_ * x_tilde;
  const Score own = score(x_tilde);
  const long double terms = center_.cwiseProduct(a).cwiseAbs().sum() + std::abs(threshold);
  const long double of_sum =
      2 * static_cast<long double>(a.size() + 4) * verification::unit_roundoff;
  const long double of_margin = center_.cwiseAbs().dot(lost) + of_sum * terms;
  const long double of_spread = std::sqrt(lost.dot(inverse().cwiseAbs() * lost));
  const long double share = rounding();
  const long double margin = own.logit - threshold;
  const auto half_square = [](long double m, long double s) {
    if (!(m > 0)) return 0.0L;
    return s > 0 ? (m / s) * (m / s) / 2 : std::numeric_limits<long double>::infinity();
  };
  const long double least = half_square(margin - of_margin, own.spread + of_spread);
  const long double most = half_square(margin + of_margin, own.spread - of_spread);
  return {.least = static_cast<double>(std::max(1 - share, 0.0L) * least),
          .most = static_cast<double>((1 + share) * most)};
}

LongVector Cone::worst(const LongVector& x_tilde, double epsilon) const {
  return worst(x_tilde, solve(x_tilde), epsilon);
}

LongVector Cone::worst(const LongVector& x_tilde, const LongVector& image, double epsilon) const {
  const long double spread = std::sqrt(lifted(x_tilde).dot(image));
  const long double kappa = std::sqrt(2 * static_cast<long double>(epsilon));
  return theta_ - (kappa / spread) * lowered(image);
}

const LongMatrix& Cone::spread() const {
  if (spread_.size() > 0) return spread_;
  LongMatrix images(lift_.rows(), lift_.cols());
  for (Index j = 0; j < lift_.cols(); ++j) images.col(j) = hessian_->solve(lift_.col(j));
  const LongMatrix raw = lift_.transpose() * images;
  spread_ = (raw + raw.transpose()) / 2;
  return spread_;
}

Matrix Cone::root() const {
  const LongMatrix upper = spread().llt().matrixU();
  return upper.cast<double>();
}

LongMatrix Cone::inverse() const {
  LongMatrix result(hessian().rows(), hessian().cols());
  for (Index j = 0; j < result.cols(); ++j)
    result.col(j) = hessian_->solve(LongVector::Unit(result.rows(), j));
  return result;
}

double Cone::rounding() const {
  const auto size = static_cast<long double>(hessian().rows());
  // Searches for classes solve with a gauge of 1 beside H (Result 37), however small H is.
  const bool has_gauge = lift_.rows() != lift_.cols();
  const long double largest = std::max(hessian().norm(), has_gauge ? 1.0L : 0.0L);
  return static_cast<double>(size * verification::unit_roundoff * largest * inverse().norm());
}

long double Cone::excess(const LongVector& theta) const {
  const LongVector away = theta - theta_;
  if (is_own_) return away.dot(hessian_->hessian() * away) / 2;
  if (lift_.rows() == lift_.cols()) {
    const LongVector moved = lift_.transpose().partialPivLu().solve(away);
    return moved.dot(hessian_->hessian() * moved) / 2;
  }
  // All other parameters adapt: the inverse of S, not a part of H (Result 38).
  static std::mutex making;  // many threads may ask one cone
  const std::lock_guard lock(making);
  if (!eliminated_spread_) eliminated_spread_ = std::make_shared<EliminatedHessian>(spread());
  return away.dot(eliminated_spread_->solve(away)) / 2;
}

std::vector<LongMatrix> lifts_of(const Model& model, const Contest& contest) {
  std::vector<LongMatrix> result;
  const Index p = model.network.layers.back().weights.cols() + 1;
  for (const Index rival : contest.rivals) {
    LongMatrix lift = LongMatrix::Zero(p * model.network.outputs(), p);
    lift.middleRows(contest.winner * p, p).setIdentity();
    lift.middleRows(rival * p, p) = -LongMatrix::Identity(p, p);
    result.push_back(std::move(lift));
  }
  return result;
}

std::vector<Cone> cones_of(const Model& model, const SetChoice& set) {
  std::vector<Cone> result;
  const LongVector head = verification::head_of(model);
  const auto hessian = eliminated(model, set);
  if (set.contest) {
    for (LongMatrix& lift : lifts_of(model, *set.contest))
      result.emplace_back(hessian, head, std::move(lift));
    return result;
  }
  result.emplace_back(hessian, head, LongMatrix::Identity(head.size(), head.size()));
  const bool is_linear =
      model.network.is_linear() &&
      std::all_of(set.members.begin(), set.members.end(),
                  [](const Model* member) { return member->network.is_linear(); });
  for (const Model* member : set.members) {
    const LongVector own = verification::head_of(*member);
    result.emplace_back(eliminated(*member, set), own,
                        is_linear ? move_to(model.encoder, member->encoder)
                                  : LongMatrix::Identity(own.size(), own.size()));
  }
  return result;
}

double radius(const std::vector<Cone>& cones, const LongVector& x_tilde, double threshold) {
  double least = std::numeric_limits<double>::infinity();
  for (const Cone& cone : cones) least = std::min(least, cone.radius(x_tilde, threshold));
  return least;
}

double robust_logit(const std::vector<Cone>& cones, const LongVector& x_tilde, double epsilon) {
  double least = std::numeric_limits<double>::infinity();
  for (const Cone& cone : cones) least = std::min(least, cone.score(x_tilde).robust(epsilon));
  return least;
}

double rounding(const std::vector<Cone>& cones) {
  double most = 0;
  for (const Cone& cone : cones) most = std::max(most, cone.rounding());
  return most;
}

LongVector extended(VectorArg x) {
  LongVector result(x.size() + 1);
  result << x.cast<long double>(), 1.0L;
  return result;
}

}  // namespace ellice::audit
