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
    : diagonal(variables),
      root(0, variables),
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
      free_(static_cast<std::size_t>(variables)),
      solved_(variables, rows + 1),
      responses_(variables, rows),
      dual_(rows, rows),
      rows_(rows),
      is_free_(Eigen::Array<bool, Eigen::Dynamic, 1>::Constant(variables, true)),
      was_freed_(variables) {}

void BoxedQuadratic::solve(bool knows_bounds) {
  for (Index i = 0; i < is_free_.size(); ++i)
    is_free_[i] = !knows_bounds || is_free_[i] || (lower[i] != 0 && upper[i] != 0);
  was_freed_.setConstant(false);
  fixed_step_.setZero();
  has_whole_ = false;
  row_multipliers_.forget();
  settle();
}

void BoxedQuadratic::clear_kinks() {
  if (kinks_.empty()) return;
  kinks_.clear();
  constants.conservativeResize(rows_);
  normals.conservativeResize(Eigen::NoChange, rows_);
}

void BoxedQuadratic::add_kink(const KinkRow& kink, double distance) {
  kinks_.push_back(kink);
  const Index count = constants.size() + 1;
  constants.conservativeResize(count);
  constants[count - 1] = distance;
  normals.conservativeResize(Eigen::NoChange, count);
}

void BoxedQuadratic::solve_again() {
  was_freed_.setConstant(false);
  settle();
}

void BoxedQuadratic::settle() {
  const Index count = constants.size();
  solved_.resize(linear.size(), count + 1);
  responses_.resize(linear.size(), count);
  dual_.resize(count, count);
  multipliers_.resize(count);
  // Each pass fixes a coordinate or frees one for the only time.
  const Index most_passes = 2 * linear.size() + 1;
  for (Index pass = 0; pass < most_passes; ++pass) {
    // With the fixed coordinates where they are, p = p_fixed − B⁻¹r + Σ μ_k·B⁻¹G_k on the others.
    slope(fixed_step_, reduced_);
    factor();
    for (Index a = 0; a < free_count_; ++a) {
      const Index i = free_[static_cast<std::size_t>(a)];
      solved_(a, 0) = -reduced_[i];
      solved_.row(a).tail(normals.cols()) = normals.row(i);
    }
    solve_free();
    step_ = fixed_step_;
    responses_.setZero();
    for (Index a = 0; a < free_count_; ++a) {
      const Index i = free_[static_cast<std::size_t>(a)];
      step_[i] = solved_(a, 0);
      responses_.row(i) = solved_.row(a).tail(normals.cols());
    }
    slack_ = constants;
    slack_.noalias() += normals.transpose() * step_;
    find_multipliers();
    step_.noalias() += responses_ * multipliers_;
    if (!fix_leavers() && !free_wrongly_fixed()) break;
  }
  step_ = step_.cwiseMax(lower).cwiseMin(upper);
}

void BoxedQuadratic::slope(const Vector& p, Vector& result) {
  result = linear + diagonal.cwiseProduct(p);
  if (root.rows() == 0) return;
  image_.noalias() = root * p;
  result.noalias() += root.transpose() * image_;
}

void BoxedQuadratic::factor() {
  free_count_ = 0;
  for (Index i = 0; i < is_free_.size(); ++i) {
    if (is_free_[i]) free_[static_cast<std::size_t>(free_count_++)] = i;
  }
  const Index n = free_count_;
  const Index rows = root.rows();
  if (rows == 0 || n == 0) return;
  const Index variables = linear.size();
  const Index largest = std::min(variables, rows);
  if (factor_.rows() < largest) factor_.resize(largest, largest);
  if (is_narrow()) {
    // (D + RᵀR)⁻¹ = D⁻¹ − D⁻¹Rᵀ(I + RD⁻¹Rᵀ)⁻¹RD⁻¹.
    if (scaled_.rows() != rows) scaled_.resize(rows, variables);
    for (Index a = 0; a < n; ++a) {
      const Index i = free_[static_cast<std::size_t>(a)];
      scaled_.col(a) = root.col(i) / std::sqrt(diagonal[i]);
    }
    factor_.topLeftCorner(rows, rows).setIdentity();
    factor_.topLeftCorner(rows, rows)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(scaled_.leftCols(n));
  } else {
    if (!has_whole_) {
      whole_ = diagonal.asDiagonal();
      whole_.selfadjointView<Eigen::Lower>().rankUpdate(root.transpose());
      has_whole_ = true;
    }
    for (Index b = 0; b < n; ++b) {
      const Index j = free_[static_cast<std::size_t>(b)];
      for (Index a = b; a < n; ++a) factor_(a, b) = whole_(free_[static_cast<std::size_t>(a)], j);
    }
  }
  const Index size = is_narrow() ? rows : n;
  Eigen::Ref<Matrix> corner = factor_.topLeftCorner(size, size);
  const Eigen::LLT<Eigen::Ref<Matrix>> in_place(corner);
}

void BoxedQuadratic::solve_free() {
  const Index n = free_count_;
  if (n == 0) return;
  auto right = solved_.topRows(n);
  if (root.rows() == 0) {
    for (Index a = 0; a < n; ++a) right.row(a) /= diagonal[free_[static_cast<std::size_t>(a)]];
    return;
  }
  const Index size = is_narrow() ? root.rows() : n;
  const auto lower_factor = factor_.topLeftCorner(size, size).triangularView<Eigen::Lower>();
  const auto upper_factor =
      factor_.topLeftCorner(size, size).transpose().triangularView<Eigen::Upper>();
  if (!is_narrow()) {
    lower_factor.solveInPlace(right);
    upper_factor.solveInPlace(right);
    return;
  }
  const auto scale = [&] {
    for (Index a = 0; a < n; ++a)
      right.row(a) /= std::sqrt(diagonal[free_[static_cast<std::size_t>(a)]]);
  };
  scale();
  narrow_.noalias() = scaled_.leftCols(n) * right;
  lower_factor.solveInPlace(narrow_);
  upper_factor.solveInPlace(narrow_);
  right.noalias() -= scaled_.leftCols(n).transpose() * narrow_;
  scale();
}

void BoxedQuadratic::find_multipliers() {
  // max −½μᵀSμ − μᵀslack over μ ≥ 0, S = GᵀB⁻¹G of the free coordinates, one μ_k at a time.
  for (Index k = 0; k < normals.cols(); ++k) {
    for (Index l = 0; l < normals.cols(); ++l) dual_(k, l) = normals.col(k).dot(responses_.col(l));
  }
  if (!kinks_.empty()) {
    row_multipliers_.solve(dual_, slack_, kinks_, multipliers_);
    return;
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
  slope(step_, reduced_);
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
