#pragma once

// Random instances of the robust constraint, and an oracle that shares nothing with the solvers: it
// inverts H densely in long double and evaluates the definitions.

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "ellice/core/types.hpp"
#include "solver/cholesky.hpp"

namespace ellice::robust_problems {

struct Instance {
  Vector theta;
  Matrix hessian;
};

/// H = Q·diag(1 … 1/condition, geometric)·Q′ for a random rotation Q.
inline Instance random_instance(Index d, double condition, std::uint64_t seed) {
  Random random(seed);
  const Index size = d + 1;
  Matrix raw(size, size);
  for (Index j = 0; j < size; ++j) raw.col(j) = random.normal_vector(size);
  const Matrix q = Eigen::HouseholderQR<Matrix>(raw).householderQ();
  Vector spectrum(size);
  for (Index i = 0; i < size; ++i) {
    spectrum[i] = 0.25 * std::pow(condition, -static_cast<double>(i) / static_cast<double>(d));
  }
  Matrix hessian = q * spectrum.asDiagonal() * q.transpose();
  hessian = ((hessian + hessian.transpose()) / 2).eval();
  return {.theta = random.normal_vector(size), .hessian = hessian};
}

class Oracle {
 public:
  using Real = long double;
  using RealVector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
  using RealMatrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;

  explicit Oracle(const Instance& instance)
      : theta_(instance.theta.cast<Real>()),
        inverse_(instance.hessian.cast<Real>().llt().solve(
            RealMatrix::Identity(instance.hessian.rows(), instance.hessian.cols()))) {}

  struct Value {
    double g = 0;       // θᵀx̃ − √(2ε·x̃ᵀH⁻¹x̃)
    double scale = 0;   // Σ|θᵢx̃ᵢ| + √(2ε·x̃ᵀH⁻¹x̃)
    Vector gradient;    // of g in x
    double radius = 0;  // √(x̃ᵀH⁻¹x̃)
    double logit = 0;
  };

  /// The distance of x0, in the weighted norm, from the half-space that supports {g ≥ t} at z: no
  /// point with g ≥ t that differs from x0 on the movable coordinates only is nearer. z is x after
  /// some Newton steps on the optimality conditions D(z − x0) = μ∇g(z), g(z) = t, in long double:
  /// where H is ill-conditioned, rounding x to double alone turns the gradient.
  [[nodiscard]] double distance_bound(const Vector& x, const Vector& x0, double epsilon, double t,
                                      const Vector& weights, const std::vector<bool>& movable,
                                      double multiplier, int newton_steps) const {
    const Index d = x.size();
    std::vector<Index> moves;
    for (Index i = 0; i < d; ++i) {
      if (movable.empty() || movable[static_cast<std::size_t>(i)]) moves.push_back(i);
    }
    const Index m = static_cast<Index>(moves.size());
    const Real root = std::sqrt(2 * static_cast<Real>(epsilon));
    RealVector lifted(d + 1);
    lifted << x.cast<Real>(), Real(1);
    Real mu = multiplier;
    for (int step = 0;; ++step) {
      const RealVector image = inverse_ * lifted;
      const Real radius = std::sqrt(lifted.dot(image));
      const Real g = theta_.dot(lifted) - root * radius;
      const RealVector gradient = (theta_ - root / radius * image)(moves);
      const RealVector move = lifted(moves) - x0.cast<Real>()(moves);
      const RealVector d_moves = weights.cast<Real>()(moves);
      if (step == newton_steps) {
        const Real power = gradient.cwiseAbs2().cwiseQuotient(d_moves).sum();
        return static_cast<double>((t - g + gradient.dot(move)) / std::sqrt(power));
      }
      RealMatrix system = RealMatrix::Zero(m + 1, m + 1);
      const RealVector z = image(moves) / radius;
      system.topLeftCorner(m, m) =
          mu * root / radius * (inverse_(moves, moves) - z * z.transpose());
      system.diagonal().head(m) += d_moves;
      system.topRightCorner(m, 1) = -gradient;
      system.bottomLeftCorner(1, m) = gradient.transpose();
      RealVector right(m + 1);
      right << mu * gradient - d_moves.cwiseProduct(move), t - g;
      const RealVector change = system.partialPivLu().solve(right);
      for (Index i = 0; i < m; ++i) lifted[moves[static_cast<std::size_t>(i)]] += change[i];
      mu += change[m];
    }
  }

  [[nodiscard]] Value operator()(const Vector& x, double epsilon) const {
    RealVector lifted(x.size() + 1);
    lifted << x.cast<Real>(), Real(1);
    const RealVector image = inverse_ * lifted;
    const Real radius = std::sqrt(lifted.dot(image));
    const Real penalty = std::sqrt(2 * static_cast<Real>(epsilon)) * radius;
    const Real logit = theta_.dot(lifted);
    const RealVector gradient = theta_ - std::sqrt(2 * static_cast<Real>(epsilon)) / radius * image;
    return {.g = static_cast<double>(logit - penalty),
            .scale = static_cast<double>(theta_.cwiseProduct(lifted).cwiseAbs().sum() + penalty),
            .gradient = gradient.head(x.size()).cast<double>(),
            .radius = static_cast<double>(radius),
            .logit = static_cast<double>(logit)};
  }

 private:
  RealVector theta_;
  RealMatrix inverse_;
};

}  // namespace ellice::robust_problems
