#pragma once

// Whether every model of a set accepts a row, and whether a row is the nearest one, from θ, H, ε
// and the rows by the formulas themselves: a judge that shares no code with sets and searches.

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "ellice/core/random.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::plain {

/// What the last layer sees, unit by unit, with a 1 at its end.
inline Vector last_inputs(const Network& network, const Vector& z) {
  Vector a = z;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    Vector next(layer.bias.size());
    for (Index k = 0; k < next.size(); ++k) {
      double sum = layer.bias(k);
      for (Index i = 0; i < a.size(); ++i) sum += layer.weights(k, i) * a(i);
      switch (layer.activation) {
        case Activation::relu:
          next(k) = std::max(0.0, sum);
          break;
        case Activation::tanh:
          next(k) = std::tanh(sum);
          break;
        case Activation::sigmoid:
          next(k) = 1 / (1 + std::exp(-sum));
          break;
        case Activation::identity:
          next(k) = sum;
          break;
      }
    }
    a = next;
  }
  Vector result(a.size() + 1);
  result << a, 1.0;
  return result;
}

/// The head of a network with one output: its weights, then its bias.
inline Vector head_of(const Network& network) {
  const Layer& last = network.layers.back();
  Vector head(last.weights.cols() + 1);
  head << last.weights.row(0).transpose(), last.bias(0);
  return head;
}

inline double logit(const Network& network, const Vector& z) {
  return head_of(network).dot(last_inputs(network, z));
}

/// {θ : ½(θ − θ̂)ᵀH(θ − θ̂) ≤ ε} over the last layer, by a dense inverse in extended precision.
class Ellipsoid {
 public:
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

  Ellipsoid(const Model& model, double epsilon)
      : model_(&model),
        epsilon_(epsilon),
        theta_(head_of(model.network).cast<long double>()),
        inverse_(LongMatrix(model.curvature.hessian.cast<long double>()).inverse()) {}

  [[nodiscard]] double robust_logit(const Vector& z) const {
    const LongVector x = last_inputs(model_->network, z).cast<long double>();
    return static_cast<double>(theta_.dot(x) - std::sqrt(2 * epsilon_ * x.dot(inverse_ * x)));
  }
  /// The largest ε at which a row is accepted.
  [[nodiscard]] double radius(const Vector& z, double threshold = 0) const {
    const LongVector x = last_inputs(model_->network, z).cast<long double>();
    const long double lead = theta_.dot(x) - threshold;
    return lead <= 0 ? 0 : static_cast<double>(lead * lead / (2 * x.dot(inverse_ * x)));
  }
  /// θ̂ − √(2ε)·H⁻¹x̃/√(x̃ᵀH⁻¹x̃): for a linear model, its weights are the slope of the robust logit.
  [[nodiscard]] Vector worst(const Vector& z) const {
    const LongVector x = last_inputs(model_->network, z).cast<long double>();
    const LongVector v = inverse_ * x;
    return (theta_ - std::sqrt(2 * epsilon_ / x.dot(v)) * v).cast<double>();
  }
  /// ½(θ − θ̂)ᵀH(θ − θ̂).
  [[nodiscard]] double level(const Vector& theta) const {
    const Vector move = theta - head_of(model_->network);
    return move.dot(model_->curvature.hessian * move) / 2;
  }

 private:
  const Model* model_;
  double epsilon_;
  LongVector theta_;
  LongMatrix inverse_;
};

/// J, the slope of a network's logit in every parameter, layer by layer: the weights row by row,
/// then the biases. By the chain rule, unit by unit; a relu has the slope 0 up to the input `kink`.
inline Vector parameter_slopes(const Network& network, const Vector& z, double kink = 0) {
  std::vector<Vector> inputs = {z};
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    Network part = network;
    part.layers.resize(l + 2);
    const Vector next = last_inputs(part, z);
    inputs.emplace_back(next.head(next.size() - 1));
  }
  Vector delta = Vector::Ones(1);
  std::vector<std::vector<double>> slopes(network.layers.size());
  for (std::size_t l = network.layers.size(); l-- > 0;) {
    const Vector& a = inputs[l];
    for (Index k = 0; k < delta.size(); ++k) {
      for (Index i = 0; i < a.size(); ++i) slopes[l].push_back(delta(k) * a(i));
    }
    for (Index k = 0; k < delta.size(); ++k) slopes[l].push_back(delta(k));
    if (l == 0) break;
    Vector below(a.size());
    for (Index i = 0; i < a.size(); ++i) {
      double sum = 0;
      for (Index k = 0; k < delta.size(); ++k) sum += network.layers[l].weights(k, i) * delta(k);
      const Activation activation = network.layers[l - 1].activation;
      const double input =
          network.layers[l - 1].weights.row(i).dot(inputs[l - 1]) + network.layers[l - 1].bias(i);
      if (activation == Activation::relu) sum *= input > kink ? 1 : 0;
      if (activation == Activation::tanh) sum *= 1 - a(i) * a(i);
      if (activation == Activation::sigmoid) sum *= a(i) * (1 - a(i));
      below(i) = sum;
    }
    delta = below;
  }
  std::vector<double> all;
  for (const std::vector<double>& layer : slopes) all.insert(all.end(), layer.begin(), layer.end());
  return Eigen::Map<const Vector>(all.data(), static_cast<Index>(all.size()));
}

/// The first-order sets: f − √(2ε)·s, s² = Jᵀ(G + λI)⁻¹J with the kept pairs of G by a dense
/// factor; of the isotropic set, s = ‖J‖.
inline double first_order_robust_logit(const Model& model, bool isotropic, double epsilon,
                                       const Vector& z, double kink = 0) {
  const Vector slopes = parameter_slopes(model.network, z, kink);
  double square = slopes.squaredNorm();
  if (!isotropic) {
    const GaussNewton& pairs = *model.curvature.full;
    Matrix curvature = pairs.vectors * pairs.values.asDiagonal() * pairs.vectors.transpose();
    curvature.diagonal().array() += pairs.damping;
    square = slopes.dot(Vector(curvature.llt().solve(slopes)));
  }
  return logit(model.network, z) - std::sqrt(2 * epsilon * square);
}

/// {θ : L(θ) ≤ L(θ̂) + ε} for the logistic loss with ridge: heads over the inputs of the last layer.
class TrueSet {
 public:
  TrueSet(const Model& model, double epsilon)
      : epsilon_(epsilon), network_(&model.network), center_(head_of(model.network)) {
    const RowMatrix& encoded = model.rows->encoded;
    rows_.resize(encoded.rows(), center_.size());
    for (Index i = 0; i < encoded.rows(); ++i) {
      const bool is_favourable = model.rows->labels[static_cast<std::size_t>(i)] == 1;
      const Vector x = last_inputs(model.network, encoded.row(i).transpose());
      rows_.row(i) = (is_favourable ? 1 : -1) * x.transpose();
    }
    penalty_ = Vector::Constant(center_.size(), model.training.l2);
    if (!model.training.penalize_bias) penalty_(center_.size() - 1) = 0;
    base_ = objective(center_);
  }

  /// Mean loss and ridge, from their definition.
  [[nodiscard]] double objective(const Vector& theta) const {
    double sum = 0;
    for (Index i = 0; i < rows_.rows(); ++i) {
      const double m = rows_.row(i).dot(theta);
      sum += m > 0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m));
    }
    double squares = 0;
    for (Index j = 0; j < theta.size(); ++j) squares += penalty_(j) * theta(j) * theta(j);
    return sum / static_cast<double>(rows_.rows()) + squares / 2;
  }
  [[nodiscard]] double level(const Vector& theta) const { return objective(theta) - base_; }

  struct Worst {
    Vector model = {};
    double attained = 0;  // by the model, which is one of the set
    double bound = 0;     // below every model's score, by duality
  };
  /// Least cᵀθ over the set: L + τ·cᵀθ is minimised by Newton's method for the τ at which L meets
  /// its level. √(L − L(θ̂)) is nearly proportional to τ, which makes it easy to find.
  [[nodiscard]] Worst worst_of(const Vector& c) const {
    Worst worst{.bound = -1e300};
    Vector theta = center_;
    struct Met {
      double tau = 0;
      double root = 0;  // √(L − L(θ̂))
    };
    Met inside;
    Met outside;
    double tau = std::sqrt(2 * epsilon_) / c.norm();
    for (int step = 0; step < 60; ++step) {
      minimize(tau, c, theta);
      const double excess = level(theta) - epsilon_;
      worst.bound = std::max(worst.bound, c.dot(theta) + excess / tau);
      (excess <= 0 ? inside : outside) = {.tau = tau, .root = std::sqrt(level(theta))};
      if (std::abs(excess) <= 1e-11 * epsilon_) break;
      if (outside.tau == 0) {
        tau *= 2;
        continue;
      }
      const double share = (std::sqrt(epsilon_) - inside.root) / (outside.root - inside.root);
      const double next =
          inside.tau + (step % 4 == 3 && step < 20 ? 0.5 : share) * (outside.tau - inside.tau);
      if (!(next > inside.tau && next < outside.tau)) break;
      tau = next;
    }
    // Drawn towards the centre until it is one of the set.
    double kept = 0;
    double left = 1;
    if (level(theta) <= epsilon_) kept = 1;
    for (int step = 0; step < 60 && kept < 1; ++step) {
      const double middle = (kept + left) / 2;
      (level(center_ + middle * (theta - center_)) <= epsilon_ ? kept : left) = middle;
      if (left - kept < 1e-15) break;
    }
    worst.model = center_ + kept * (theta - center_);
    worst.attained = c.dot(worst.model);
    return worst;
  }
  [[nodiscard]] Worst worst(const Vector& z) const { return worst_of(last_inputs(*network_, z)); }
  [[nodiscard]] double robust_logit(const Vector& z) const { return worst(z).attained; }

 private:
  void minimize(double tau, const Vector& c, Vector& theta) const {
    const auto n = static_cast<double>(rows_.rows());
    const auto value = [&](const Vector& at) { return objective(at) + tau * c.dot(at); };
    for (int step = 0; step < 100; ++step) {
      Vector gradient = penalty_.cwiseProduct(theta) + tau * c;
      Matrix hessian = Matrix(penalty_.asDiagonal());
      for (Index i = 0; i < rows_.rows(); ++i) {
        const double p = 1 / (1 + std::exp(rows_.row(i).dot(theta)));
        gradient -= p / n * rows_.row(i).transpose();
        hessian += p * (1 - p) / n * rows_.row(i).transpose() * rows_.row(i);
      }
      const Vector move = -hessian.llt().solve(gradient);
      const double decrement = -gradient.dot(move);
      double t = 1;
      while (decrement > 1e-4 && t > 1e-8 && value(theta + t * move) > value(theta)) t /= 2;
      theta += t * move;
      if (decrement < 1e-24) return;
    }
  }

  double epsilon_;
  const Network* network_;
  Vector center_;
  RowMatrix rows_ = {};  // times the sign of their label
  Vector penalty_ = {};
  double base_ = 0;
};

/// A problem of numbers in a box.
struct Nearest {
  Vector query = {};
  Vector lower = {};
  Vector upper = {};
  Vector weights = {};
  CostKind kind = CostKind::l2;
};

/// What any point of the box must cost that one linear model accepts, from below, by Lagrange's
/// dual: the largest over λ ≥ 0 of λ·need + Σⱼ min over the column's moves of cost − λ·gain. The
/// robust points are among those that a model of the set accepts, and at the nearest robust point
/// its worst model makes this its very cost: the problem is convex.
inline double least_cost(const Nearest& asked, const Vector& head, double threshold) {
  const Index d = asked.query.size();
  const double need = threshold - head.head(d).dot(asked.query) - head(d);
  const bool is_square = asked.kind != CostKind::l1;
  const double absolutes = asked.kind == CostKind::l1 || asked.kind == CostKind::l1_l2 ? 1 : 0;
  const auto dual = [&](double lambda) {
    double sum = lambda * need;
    for (Index j = 0; j < d; ++j) {
      const double low = asked.lower(j) - asked.query(j);
      const double high = asked.upper(j) - asked.query(j);
      const double gain = lambda * std::abs(head(j));
      const double w = asked.weights(j);
      const double far = head(j) > 0 ? high : -low;  // as far as the box lets a useful move go
      const double profit = gain - absolutes * w;    // of the first step
      if (profit <= 0 || far <= 0) continue;
      const double move = is_square ? std::min(far, profit / (2 * w)) : far;
      sum += (is_square ? w * move * move : 0) - profit * move;
    }
    return sum;
  };
  if (need <= 0) return 0;
  double high = 1e-6;
  while (high < 1e12 && dual(2 * high) > dual(high)) high *= 2;
  if (high >= 1e12) return std::numeric_limits<double>::infinity();
  high *= 2;
  double low = 0;
  for (int step = 0; step < 200; ++step) {  // concave in λ
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    (dual(left) < dual(right) ? low : high) = dual(left) < dual(right) ? left : right;
  }
  const double best = dual((low + high) / 2);
  return asked.kind == CostKind::mixed ? std::sqrt(std::max(0.0, best)) : best;
}

}  // namespace ellice::plain
