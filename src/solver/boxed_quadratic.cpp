#include "boxed_quadratic.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

// Sweeps of the dual ascent; one row needs one.
constexpr int most_sweeps = 100;

}  // namespace

BoxedQuadratic::BoxedQuadratic(Index variables, Index rows)
    : hessian(Matrix::Zero(variables, variables)),
      linear(variables),
      constants(rows),
      normals(variables, rows),
      lower(variables),
      upper(variables),
      step_(variables),
      fixed_step_(variables),
      multipliers_(Vector::Zero(rows)),
      slack_(rows),
      reduced_(variables),
      factor_(variables, variables),
      responses_(variables, rows),
      dual_(rows, rows),
      is_free_(variables),
      was_freed_(variables) {}

void BoxedQuadratic::solve() {
  is_free_.setConstant(true);
  was_freed_.setConstant(false);
  fixed_step_.setZero();
  // Each pass fixes a coordinate or frees one for the only time.
  const Index most_passes = 2 * linear.size() + 1;
  for (Index pass = 0; pass < most_passes; ++pass) {
    // With the fixed coordinates where they are, p = p_fixed − B⁻¹r + Σ μ_k·B⁻¹G_k on the others.
    reduced_ = linear;
    if (!is_diagonal) reduced_.noalias() += hessian * fixed_step_;
    factor();
    step_ = is_free_.select(-reduced_, 0);
    solve_free(step_);
    step_ += fixed_step_;
    for (Index k = 0; k < normals.cols(); ++k) {
      responses_.col(k) = is_free_.select(normals.col(k), 0);
      solve_free(responses_.col(k));
    }
    slack_ = constants;
    slack_.noalias() += normals.transpose() * step_;
    ascend_dual();
    step_.noalias() += responses_ * multipliers_;
    if (!fix_leavers() && !free_wrongly_fixed()) break;
  }
  step_ = step_.cwiseMax(lower).cwiseMin(upper);
}

void BoxedQuadratic::factor() {
  if (is_diagonal) return;
  factor_ = hessian;
  for (Index i = 0; i < factor_.rows(); ++i) {
    if (is_free_[i]) continue;
    factor_.row(i).setZero();
    factor_.col(i).setZero();
    factor_(i, i) = 1;
  }
  const Eigen::LLT<Eigen::Ref<Matrix>> in_place(factor_);
}

void BoxedQuadratic::solve_free(Eigen::Ref<Vector> right) const {
  if (is_diagonal) {
    right.array() /= hessian.diagonal().array();
    return;
  }
  factor_.triangularView<Eigen::Lower>().solveInPlace(right);
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(right);
}

void BoxedQuadratic::ascend_dual() {
  // max −½μᵀSμ − μᵀslack over μ ≥ 0, S = GᵀB⁻¹G of the free coordinates, one μ_k at a time.
  for (Index k = 0; k < normals.cols(); ++k) {
    for (Index l = 0; l < normals.cols(); ++l) dual_(k, l) = normals.col(k).dot(responses_.col(l));
  }
  multipliers_.setZero();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double change = 0;
    for (Index k = 0; k < multipliers_.size(); ++k) {
      // A row that no free coordinate moves cannot be served.
      if (!(dual_(k, k) > 1e-300)) continue;
      const double rest =
          slack_[k] + dual_.row(k).dot(multipliers_) - dual_(k, k) * multipliers_[k];
      const double next = std::max(0.0, -rest / dual_(k, k));
      change = std::max(change, std::abs(next - multipliers_[k]) / (1 + next));
      multipliers_[k] = next;
    }
    if (multipliers_.size() == 1 || change < 1e-12) break;
  }
}

bool BoxedQuadratic::fix_leavers() {
  bool any = false;
  for (Index i = 0; i < step_.size(); ++i) {
    if (!is_free_[i] || (step_[i] >= lower[i] && step_[i] <= upper[i])) continue;
    is_free_[i] = false;
    fixed_step_[i] = step_[i] < lower[i] ? lower[i] : upper[i];
    any = true;
  }
  return any;
}

bool BoxedQuadratic::free_wrongly_fixed() {
  // The Lagrangian's slope must push a fixed coordinate against its bound.
  reduced_ = linear;
  if (is_diagonal) {
    reduced_ += hessian.diagonal().cwiseProduct(step_);
  } else {
    reduced_.noalias() += hessian * step_;
  }
  reduced_.noalias() -= normals * multipliers_;
  bool any = false;
  for (Index i = 0; i < step_.size(); ++i) {
    if (is_free_[i] || was_freed_[i]) continue;
    const bool is_wrong = fixed_step_[i] == lower[i] ? reduced_[i] < 0 : reduced_[i] > 0;
    if (!is_wrong || lower[i] == upper[i]) continue;
    is_free_[i] = was_freed_[i] = true;
    fixed_step_[i] = 0;
    any = true;
  }
  return any;
}

}  // namespace ellice
