#include "solver/robust_logit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice {

void RobustLogit::evaluate(State& state) const {
  const Index d = dimension();
  const Vector& x = state.x;
  state.z.noalias() = inverse_.topLeftCorner(d, d) * x;
  state.z += inverse_.col(d).head(d);
  const double last = inverse_.col(d).head(d).dot(x) + inverse_(d, d);
  state.s = std::sqrt(two_epsilon_ * std::max(0.0, state.z.dot(x) + last));
  state.inverse_s = state.s > 0 ? 1 / state.s : 0;
  state.z *= two_epsilon_ * state.inverse_s;
  state.gradient = theta_.head(d) - state.z;
  state.value = theta_.head(d).dot(x) + theta_[d] - state.s;
  state.scale = theta_.head(d).cwiseProduct(x).cwiseAbs().sum() + std::abs(theta_[d]) + state.s;
}

namespace {

// max over the box of modelᵀ[x; 1]; a zero coefficient makes an infinite bound harmless.
double support(VectorArg model, VectorArg lower, VectorArg upper) {
  const Index d = lower.size();
  double sum = model[d];
  for (Index i = 0; i < d; ++i) {
    if (model[i] != 0) sum += model[i] * (model[i] > 0 ? upper[i] : lower[i]);
  }
  return sum;
}

}  // namespace

RobustLogit::Bound RobustLogit::upper_bound(const State& state, VectorArg lower,
                                            VectorArg upper) const {
  const Index d = dimension();
  // The worst model θ̂ = θ − Mx̃/s lies in the ellipsoid, so g(x) ≤ θ̂ᵀx̃ for every x.
  Vector model(d + 1);
  Vector lifted(d + 1);
  lifted << state.x, 1;
  const Vector image = inverse_ * lifted;
  model = theta_ - two_epsilon_ * state.inverse_s * image;
  double bound = support(model, lower, upper);
  if (bound < infinity || two_epsilon_ == 0) return {.value = bound, .model = model};

  // Zero the coefficients F that meet an infinite bound, at the least cost in the metric of H; then
  // move towards the best model of the ellipsoid that ignores F as far as it takes to be inside
  // again.
  std::vector<Index> zeroed;
  for (int attempt = 0; attempt < 5 && bound == infinity; ++attempt) {
    for (Index i = 0; i < d; ++i) {
      const bool bad =
          (model[i] > 0 && upper[i] == infinity) || (model[i] < 0 && lower[i] == -infinity);
      if (bad && std::find(zeroed.begin(), zeroed.end(), i) == zeroed.end()) zeroed.push_back(i);
    }
    const Matrix block = inverse_(zeroed, zeroed);
    const Eigen::LLT<Matrix> cholesky(block);
    const auto without = [&](const Vector& from) -> Vector {
      const Vector coefficients = cholesky.solve(Vector(from(zeroed)));
      Vector result = from - inverse_(Eigen::all, zeroed) * coefficients;
      for (const Index i : zeroed) result[i] = 0;
      return result;
    };
    const Eigen::LLT<Matrix> metric(inverse_);
    const auto product = [&](const Vector& left, const Vector& right) {
      return left.dot(metric.solve(right));
    };
    const Vector center = without(theta_);
    const Vector away = without(model) - center;  // orthogonal to center − θ in the metric of H
    const Vector shift = center - theta_;
    const double left = two_epsilon_ * (1 - 1e-12) - product(shift, shift);
    if (left <= 0) return {.value = infinity, .model = model};
    const double length = product(away, away);
    model = center + (length > left ? std::sqrt(left / length) : 1.0) * away;
    bound = support(model, lower, upper);
  }
  return {.value = bound, .model = model};
}

namespace {

// Numbers that loops of NewtonMatrix take at once: a vector of the widest machine.
constexpr Index block = 8;

Index whole_blocks(Index size) {
  return (size + block - 1) / block * block;
}

/// target −= factor·source in the rows from the block of `first` on up to `end`, a whole block's.
void subtract(double factor, const double* __restrict source, double* __restrict target,
              Index first, Index end) {
  for (Index b = first / block * block; b < end; b += block) {
    for (Index i = b; i < b + block; ++i) target[i] -= factor * source[i];
  }
}

/// The same of two targets, the source being read once.
void subtract(double factor, double other_factor, const double* __restrict source,
              double* __restrict target, double* __restrict other, Index first, Index end) {
  for (Index b = first / block * block; b < end; b += block) {
    for (Index i = b; i < b + block; ++i) {
      target[i] -= factor * source[i];
      other[i] -= other_factor * source[i];
    }
  }
}

}  // namespace

NewtonMatrix::NewtonMatrix(Index dimension)
    : storage_(Matrix::Zero(whole_blocks(dimension), dimension)),
      rows_(Matrix::Zero(whole_blocks(dimension), dimension)),
      inverse_pivots_(dimension),
      padded_(Vector::Zero(whole_blocks(dimension))),
      last_(Vector::Zero(whole_blocks(dimension))),
      other_padded_(Vector::Zero(whole_blocks(dimension))),
      other_last_(Vector::Zero(whole_blocks(dimension))) {}

// The rank-one term is subtracted entry by entry: applying it to the inverse instead
// (Sherman–Morrison) loses all digits where d is small and x̃ lies almost in the span of the free
// coordinates.
bool NewtonMatrix::factorise(CurvatureKind curvature, const RobustLogit& logit,
                             const RobustLogit::State& state, double nu, VectorArg diagonal,
                             const std::vector<Index>& free) {
  size_ = static_cast<Index>(free.size());
  if (size_ == 0) return true;
  const double factor = nu * logit.two_epsilon();
  for (Index j = 0; j < size_; ++j) {
    const Index column = free[static_cast<std::size_t>(j)];
    const double z = curvature == CurvatureKind::exact ? nu * state.z[column] : 0;
    for (Index i = j; i < size_; ++i) {
      const Index row = free[static_cast<std::size_t>(i)];
      storage_(i, j) = factor * logit.inverse()(row, column) - z * state.z[row];
    }
    storage_(j, j) += diagonal[column];
    storage_.col(j).tail(storage_.rows() - size_).setZero();
  }
  if (is_small()) return factorise_small();
  Eigen::Ref<Matrix> square = storage_.topLeftCorner(size_, size_);
  return Eigen::LLT<Eigen::Ref<Matrix>>(square).info() == Eigen::Success;
}

bool NewtonMatrix::factorise_small() {
  const Index end = whole_blocks(size_);
  for (Index j = 0; j < size_; ++j) {
    const double* column = storage_.col(j).data();
    if (!(column[j] > 0)) return false;
    inverse_pivots_[j] = 1 / column[j];
    for (Index k = j + 1; k < size_; ++k) {
      const double factor = column[k] * inverse_pivots_[j];
      rows_(j, k) = factor;
      subtract(factor, column, storage_.col(k).data(), k, end);
    }
  }
  return true;
}

void NewtonMatrix::solve_small(Eigen::Ref<Vector> vector) {
  const Index end = whole_blocks(size_);
  padded_.head(size_) = vector;
  for (Index j = 0; j < size_; ++j) {
    last_[j] = padded_[j] * inverse_pivots_[j];
    subtract(last_[j], storage_.col(j).data(), padded_.data(), j + 1, end);
  }
  for (Index k = size_; k-- > 0;) {
    vector[k] = last_[k];
    subtract(last_[k], rows_.col(k).data(), last_.data(), 0, whole_blocks(k));
  }
}

// One vector waits for each of its entries before the next; two wait together.
void NewtonMatrix::solve_small(Eigen::Ref<Vector> one, Eigen::Ref<Vector> other) {
  const Index end = whole_blocks(size_);
  padded_.head(size_) = one;
  other_padded_.head(size_) = other;
  for (Index j = 0; j < size_; ++j) {
    last_[j] = padded_[j] * inverse_pivots_[j];
    other_last_[j] = other_padded_[j] * inverse_pivots_[j];
    subtract(last_[j], other_last_[j], storage_.col(j).data(), padded_.data(), other_padded_.data(),
             j + 1, end);
  }
  for (Index k = size_; k-- > 0;) {
    one[k] = last_[k];
    other[k] = other_last_[k];
    subtract(last_[k], other_last_[k], rows_.col(k).data(), last_.data(), other_last_.data(), 0,
             whole_blocks(k));
  }
}

void NewtonMatrix::solve(Eigen::Ref<Vector> one, Eigen::Ref<Vector> other) {
  if (is_small()) return solve_small(one, other);
  solve(one);
  solve(other);
}

void NewtonMatrix::solve(Eigen::Ref<Vector> vector) {
  if (is_small()) {
    solve_small(vector);
    return;
  }
  const auto lower = storage_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>();
  lower.solveInPlace(vector);
  lower.transpose().solveInPlace(vector);
}

}  // namespace ellice
