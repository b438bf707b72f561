#include "sets/ellipsoid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "ellice/core/error.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice {

namespace {

/// b − hᵀs with the rounding error of twice the working precision: each product and each sum is
/// split into its rounded value and its exact error (Ogita, Rump and Oishi, 2005).
double residual(VectorArg h, const LongVector& s, long double b) {
  auto sum = static_cast<double>(b);
  double errors = 0;
  long double tail = static_cast<long double>(sum) - b;  // of what a double does not hold
  for (Index j = 0; j < h.size(); ++j) {
    const auto leading = static_cast<double>(s(j));
    const double product = -h(j) * leading;
    errors += std::fma(-h(j), leading, -product);
    const double total = sum + product;
    const double back = total - sum;
    errors += (sum - (total - back)) + (product - back);
    sum = total;
    tail += h(j) * (s(j) - static_cast<long double>(leading));
  }
  return static_cast<double>(static_cast<long double>(sum) + errors - tail);
}

// They end where they no longer gain anything; of the worst curvatures each gains little.
constexpr int most_refinements = 100;
// Of more parameters the inverse in pairs takes longer than many a refined solve.
constexpr Index largest_inverse = 128;

/// One step of Newton's method from the rounded root doubles its digits.
DoubleDouble root(const DoubleDouble& square) {
  const double leading = std::sqrt(square.high());
  if (!(leading > 0)) return 0;
  const DoubleDouble rest = square - DoubleDouble(leading) * leading;
  return DoubleDouble::exact_sum(leading, rest.high() / (2 * leading));
}

DoubleDouble quotient(const DoubleDouble& dividend, const DoubleDouble& divisor) {
  if (!(divisor.high() > 0)) return 0;
  const double leading = dividend.high() / divisor.high();
  const DoubleDouble rest = dividend - divisor * leading;
  return DoubleDouble::exact_sum(leading, rest.high() / divisor.high());
}

}  // namespace

struct Ellipsoid::Inverse {
  std::once_flag found;
  std::optional<PairedInverse> pairs;
};

Ellipsoid::Ellipsoid(Vector center, Matrix hessian, double epsilon, Matrix rest)
    : center_(std::move(center)),
      hessian_(std::move(hessian)),
      rest_(std::move(rest)),
      factor_(hessian_),
      epsilon_(epsilon),
      inverse_(std::make_shared<Inverse>()) {
  require(center_.size() == hessian_.rows(), "the centre has {} entries but H has {} rows",
          center_.size(), hessian_.rows());
  require(rest_.size() == 0 || rest_.rows() == hessian_.rows(),
          "the rest of H has {} rows, H has {}", rest_.rows(), hessian_.rows());
  require(center_.allFinite(), "the centre has an entry that is not finite");
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
}

WorstHead Ellipsoid::worst(VectorArg a, const WorstHead* /*nearby*/, double /*share*/) const {
  WorstHead result{.model = worst_model(*this, a)};
  result.attained = result.proved = robust_logit(*this, a);
  const double norm = factor_.inverse_norm(a);
  result.multiplier = norm > 0 ? std::sqrt(2 * epsilon_) / norm : 0;
  return result;
}

const PairedInverse* Ellipsoid::paired_inverse() const {
  if (parameters() > largest_inverse) return nullptr;
  std::call_once(inverse_->found, [&] { inverse_->pairs.emplace(hessian_, rest_, factor_); });
  return inverse_->pairs->is_exact() ? &*inverse_->pairs : nullptr;
}

/// H⁻¹a to the last digits of double for every H that Cholesky can factor: iterative refinement
/// (Higham, Accuracy and Stability, 12.1), with residuals so exact that the condition of H does
/// not show.
LongVector Ellipsoid::refined_solve(const LongVector& a) const {
  LongVector solution = LongVector::Zero(a.size());
  Vector remainder = a.cast<double>();
  double last_correction = std::numeric_limits<double>::infinity();
  for (int step = 0; step < most_refinements; ++step) {
    const Vector correction = factor_.solve(remainder);
    const double size = correction.norm();
    if (!(size < last_correction)) break;  // as exact as it gets
    last_correction = size;
    solution += correction.cast<long double>();
    for (Index i = 0; i < remainder.size(); ++i)
      remainder(i) = residual(hessian_.col(i), solution, a(i));
    if (rest_.size() > 0) remainder -= rest_ * solution.cast<double>();
  }
  return solution;
}

ExtendedWorst Ellipsoid::worst_extended(const LongVector& a, const WorstHead* /*nearby*/) const {
  const PairedInverse* const inverse = paired_inverse();
  const PairedVector direction(a);
  const PairedVector solved =
      inverse != nullptr ? inverse->solve(direction) : PairedVector(refined_solve(a));
  const DoubleDouble square = paired_dot(direction, solved);
  const DoubleDouble penalty = root(DoubleDouble(2 * epsilon_) * square);
  const DoubleDouble logit = paired_dot(center_, direction);
  ExtendedWorst result{.robust = static_cast<long double>(logit - penalty),
                       .model = LongVector(a.size())};
  // √(2ε)/‖a‖ = √(2ε·aᵀH⁻¹a)/aᵀH⁻¹a
  const DoubleDouble step = quotient(penalty, square);
  for (Index i = 0; i < a.size(); ++i)
    result.model[i] = static_cast<long double>(DoubleDouble(center_[i]) - step * solved[i]);
  return result;
}

double Ellipsoid::radius(VectorArg a, double threshold, const Vector* /*nearby*/) const {
  return robustness_radius(*this, a, threshold);
}

std::shared_ptr<const HeadSet> Ellipsoid::with_epsilon(double epsilon) const {
  return std::make_shared<const Ellipsoid>(at(epsilon));
}

Ellipsoid Ellipsoid::at(double epsilon) const {
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  Ellipsoid result = *this;
  result.epsilon_ = epsilon;
  return result;
}

Ellipsoid last_layer_set(const Model& model, double epsilon) {
  require_known_set(SetKind::last_layer, model);
  return {model.network.head(), model.curvature.hessian, epsilon};
}

Vector with_one(VectorArg x) {
  Vector result(x.size() + 1);
  result << x, 1.0;
  return result;
}

double robustness_penalty(const Ellipsoid& set, VectorArg x_tilde) {
  return std::sqrt(2 * set.epsilon()) * set.factor().inverse_norm(x_tilde);
}

double robust_logit(const Ellipsoid& set, VectorArg x_tilde) {
  return set.center().dot(x_tilde) - robustness_penalty(set, x_tilde);
}

Vector robust_logits(const Ellipsoid& set, RowMatrixArg rows, const Execution& execution) {
  require(rows.cols() + 1 == set.parameters(), "rows have {} columns, expected {}", rows.cols(),
          set.parameters() - 1);
  // Blocks of fixed size, so that what a row gets does not depend on the number of threads; one
  // triangular solve with many right-hand sides runs at the speed of a matrix product.
  constexpr Index block_rows = 256;
  const Index d = rows.cols();
  const double radius = std::sqrt(2 * set.epsilon());
  Vector result(rows.rows());
  const auto blocks = static_cast<std::size_t>((rows.rows() + block_rows - 1) / block_rows);
  parallel_for("robust logits", blocks, execution, [&](std::size_t block) {
    const Index first = static_cast<Index>(block) * block_rows;
    const Index n = std::min(block_rows, rows.rows() - first);
    Matrix columns(d + 1, n);
    columns.topRows(d) = rows.middleRows(first, n).transpose();
    columns.row(d).setOnes();
    result.segment(first, n).noalias() = columns.transpose() * set.center();
    set.factor().whiten(columns);
    result.segment(first, n) -= radius * columns.colwise().norm().transpose();
  });
  return result;
}

Vector worst_model(const Ellipsoid& set, VectorArg x_tilde) {
  const double norm = set.factor().inverse_norm(x_tilde);
  if (norm == 0) return set.center();
  return set.center() - (std::sqrt(2 * set.epsilon()) / norm) * set.factor().solve(x_tilde);
}

double excess_objective(const Ellipsoid& set, VectorArg theta) {
  const Vector step = theta - set.center();
  return step.dot(set.hessian() * step) / 2;
}

bool contains(const Ellipsoid& set, VectorArg theta) {
  return excess_objective(set, theta) <= set.epsilon();
}

double robustness_radius(const Ellipsoid& set, VectorArg x_tilde, double threshold) {
  const double margin = set.center().dot(x_tilde) - threshold;
  if (!(margin > 0)) return 0;
  const double ratio = margin / set.factor().inverse_norm(x_tilde);
  return ratio * ratio / 2;
}

double epsilon_limit(VectorArg center, MatrixArg hessian, const std::vector<bool>& movable) {
  require(static_cast<Index>(movable.size()) + 1 == center.size(),
          "{} columns are marked, expected {}", movable.size(), center.size() - 1);
  std::vector<Index> moved;
  std::vector<Index> fixed;
  for (std::size_t i = 0; i < movable.size(); ++i) {
    (movable[i] ? moved : fixed).push_back(static_cast<Index>(i));
  }
  fixed.push_back(center.size() - 1);  // the bias
  const Vector w = center(moved);
  const Matrix fixed_block = hessian(fixed, fixed);
  const Vector cross = hessian(fixed, moved) * w;
  const CholeskyFactor factor(fixed_block);
  const double schur = w.dot(hessian(moved, moved) * w) - cross.dot(factor.solve(cross));
  return std::max(0.0, schur) / 2;
}

}  // namespace ellice
