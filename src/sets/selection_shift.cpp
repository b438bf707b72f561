#include "sets/selection_shift.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

// Numbers are rounded for display, and the true set is an ellipsoid to second order only.
constexpr double stationary = 0.05;

/// J = μA⁻¹E + Gcᵀ: the derivative of the free coordinates of an answer in the parameters, the
/// person's own logit held.
struct Motion {
  double multiplier = 0;  // μ
  Matrix inverse = {};    // A⁻¹
  Vector along = {};      // G = A⁻¹γ
  Vector across = {};     // c/(γᵀG)
};

/// D(x−x0) + c·sign(x−x0) on the free coordinates.
Vector pull_of(const StationaryPoint& nearest) {
  Vector pull(static_cast<Index>(nearest.free.size()));
  for (Index k = 0; k < pull.size(); ++k) {
    const Index i = nearest.free[static_cast<std::size_t>(k)];
    const double move = nearest.point(i) - nearest.query(i);
    const double sign = move > 0 ? 1 : move < 0 ? -1 : 0;
    pull(k) = nearest.squares(i) * move + nearest.absolutes(i) * sign;
  }
  return pull;
}

std::optional<Motion> motion_of(const RetrainedHead& retrained, const Vector& head,
                                const StationaryPoint& nearest, double threshold) {
  const std::vector<Index>& free = nearest.free;
  const Vector x = with_one(nearest.point);
  const double margin = head.dot(x) - threshold;
  const Matrix& inverse = retrained.inverse_hessian();
  const Vector solved = inverse * x;
  const double length = x.dot(solved);  // x̃ᵀH⁻¹x̃
  if (!(length > 0) || margin < 0) return std::nullopt;
  // The point is on the border of its own radius: √(2ε)·‖x̃‖ = margin.
  const Vector gradient = (head - margin / length * solved)(free);
  const Vector pull = pull_of(nearest);
  Motion motion{.multiplier = gradient.dot(pull) / gradient.squaredNorm()};
  if (!(motion.multiplier > 0)) return std::nullopt;
  if ((pull - motion.multiplier * gradient).norm() > stationary * pull.norm()) return std::nullopt;
  // A = D + μ(M − zzᵀ)/s.
  const Vector here = solved(free);
  Matrix a = motion.multiplier * margin / length *
             (inverse(free, free) - here * here.transpose() / length);
  a.diagonal() += nearest.squares(free);
  const Eigen::LLT<Matrix> factor(a);
  if (factor.info() != Eigen::Success) return std::nullopt;
  motion.inverse = factor.solve(Matrix::Identity(a.rows(), a.cols()));
  motion.along = motion.inverse * gradient;
  const double curvature = gradient.dot(motion.along);
  if (!(curvature > 0) || !motion.inverse.allFinite()) return std::nullopt;
  motion.across = Vector::Zero(x.size());
  motion.across.head(nearest.point.size()) = nearest.query - nearest.point;
  for (std::size_t k = 0; k < free.size(); ++k)
    motion.across(free[k]) -= motion.multiplier * motion.along(static_cast<Index>(k));
  motion.across /= curvature;
  return motion;
}

/// tr(VJ) − x̃ᵀVJVx̃/(x̃ᵀVx̃); nothing where rounding of the two is all that is left of it, as for
/// somebody very far away.
std::optional<double> shift_of(const Motion& motion, const std::vector<Index>& free,
                               const Matrix& covariance, const Vector& x) {
  const Matrix rows = covariance(free, Eigen::all);
  const double trace =
      motion.multiplier * motion.inverse.cwiseProduct(rows(Eigen::all, free)).sum() +
      motion.along.dot(rows * motion.across);
  const Vector all = covariance * x;
  const double variance = x.dot(all);
  if (!(variance > 0)) return 0;
  const Vector here = all(free);
  const double along_itself = motion.multiplier * here.dot(motion.inverse * here) +
                              here.dot(motion.along) * motion.across.dot(all);
  constexpr double largest = 1e9;  // of which doubles leave six digits behind the point
  if (!(std::abs(trace) + std::abs(along_itself / variance) <= largest)) return std::nullopt;
  return trace - along_itself / variance;
}

}  // namespace

std::optional<SelectionShifts> selection_shifts(const RetrainedHead& retrained, const Vector& head,
                                                const StationaryPoint& nearest, double threshold) {
  SelectionShifts shifts = retrained.person_shift(head.dot(with_one(nearest.query)));
  if (nearest.free.empty()) return shifts;  // whatever the model, the point stays
  const std::optional<Motion> motion = motion_of(retrained, head, nearest, threshold);
  if (!motion) return std::nullopt;
  const Vector x = with_one(nearest.point);
  for (const Sampling::Estimate k : {Sampling::bold, Sampling::middle, Sampling::cautious}) {
    const std::optional<double> shift = shift_of(*motion, nearest.free, retrained.covariance(k), x);
    if (!shift) return std::nullopt;
    shifts[k] += *shift;
  }
  return shifts;
}

}  // namespace ellice
