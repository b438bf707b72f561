#include "combination/model_oracle.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "support/oracles.hpp"

namespace ellice::combination {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int random_directions = 12;

double activated(Activation activation, double value) {
  switch (activation) {
    case Activation::relu:
      return std::max(value, 0.0);
    case Activation::tanh:
      return std::tanh(value);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-value));
    case Activation::identity:
      break;
  }
  return value;
}

/// What the head sees, with the 1 of its bias.
Vector head_features(const Network& network, const Vector& z) {
  Vector at = z;
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    Vector next = layer.bias;
    for (Index i = 0; i < next.size(); ++i) {
      for (Index j = 0; j < at.size(); ++j) next(i) += layer.weights(i, j) * at(j);
      next(i) = activated(layer.activation, next(i));
    }
    at = next;
  }
  Vector result(at.size() + 1);
  result << at, 1;
  return result;
}

double score(const Vector& head, const Vector& features, Index output) {
  return head.segment(output * features.size(), features.size()).dot(features);
}

}  // namespace

ModelOracle::ModelOracle(const Model& model, const StoredRows* rows) : model_(&model), rows_(rows) {
  if (rows == nullptr) return;
  for (Index i = 0; i < rows->encoded.rows(); ++i)
    row_features_.push_back(head_features(model.network, rows->encoded.row(i)));
}

double ModelOracle::lead(const Judged& judged, const Vector& head, const Vector& features) const {
  if (!judged.winner) return score(head, features, 0);
  double smallest = infinity;
  for (Index k = 0; k < model_->network.outputs(); ++k) {
    if (std::find(judged.acceptable.begin(), judged.acceptable.end(), k) != judged.acceptable.end())
      continue;
    smallest = std::min(smallest, score(head, features, *judged.winner) - score(head, features, k));
  }
  return smallest;
}

double ModelOracle::objective(const Vector& head) const {
  const Index outputs = model_->network.outputs();
  double sum = 0;
  for (std::size_t i = 0; i < row_features_.size(); ++i) {
    const Vector& features = row_features_[i];
    const int label = rows_->labels[i];
    if (outputs > 1) {
      double total = 0;
      const double own = score(head, features, label);
      for (Index k = 0; k < outputs; ++k) total += std::exp(score(head, features, k) - own);
      sum += std::log(total);
    } else if (model_->training.loss_kind == LossKind::squared) {
      const double off = score(head, features, 0) - (2 * label - 1);
      sum += off * off / 2;
    } else {
      const double margin = (2 * label - 1) * score(head, features, 0);
      sum += margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
    }
  }
  double penalty = head.squaredNorm();
  const Index size = head.size() / outputs;
  for (Index k = 0; k < outputs && !model_->training.penalize_bias; ++k)
    penalty -= head((k + 1) * size - 1) * head((k + 1) * size - 1);
  return sum / static_cast<double>(row_features_.size()) + model_->training.l2 / 2 * penalty;
}

double ModelOracle::reach(const Judged& judged, const Matrix& hessian,
                          const Vector& direction) const {
  if (judged.kind != SetKind::true_set) {
    const double curvature = direction.dot(hessian * direction);
    return curvature > 0 ? std::sqrt(2 * judged.epsilon / curvature) : 0;
  }
  const Vector head = model_->network.head();
  const double most = objective(head) + judged.epsilon * (1 - 1e-9);
  double inside = 0;
  double outside = 1;
  for (int k = 0; k < 60 && objective(head + outside * direction) <= most; ++k) {
    inside = outside;
    outside *= 2;
  }
  for (int k = 0; k < 60; ++k) {
    const double middle = (inside + outside) / 2;
    (objective(head + middle * direction) <= most ? inside : outside) = middle;
  }
  return inside;
}

std::string ModelOracle::by_heads(const Judged& judged, const Vector& z, Random& random) const {
  const Vector features = head_features(model_->network, z);
  const Vector head = model_->network.head();
  const Index outputs = model_->network.outputs();
  const Index size = features.size();
  Matrix hessian = model_->curvature.hessian;
  for (Index i = 0; judged.damping && i < hessian.rows(); ++i) {
    const bool is_bias = (i + 1) % size == 0;
    if (!is_bias || model_->training.penalize_bias)
      hessian(i, i) += *judged.damping - model_->training.l2;
  }
  std::vector<Vector> directions;
  const Eigen::CompleteOrthogonalDecomposition<Matrix> solver(hessian);
  for (Index k = 0; k < outputs; ++k) {
    Vector slope = Vector::Zero(head.size());
    if (judged.winner) {
      if (k == *judged.winner) continue;
      slope.segment(*judged.winner * size, size) = features;
      slope.segment(k * size, size) = -features;
    } else {
      slope = features;
    }
    const double largest = slope.cwiseAbs().maxCoeff();  // what is huge would overflow
    directions.emplace_back(-solver.solve(slope / largest));
  }
  for (int k = 0; k < random_directions; ++k)
    directions.push_back(random.normal_vector(head.size()));
  for (const Vector& direction : directions) {
    const double step = reach(judged, hessian, direction);
    if (!std::isfinite(step)) continue;
    const Vector other = head + (1 - 1e-9) * step * direction;
    const double found = lead(judged, other, features);
    double rounding = 0;
    for (Index i = 0; i < other.size(); ++i) rounding += std::abs(other(i) * features(i % size));
    if (found < judged.threshold - 1e-9 * (rounding + 1))
      return fmt::format("a model of the set gives {}, below {}", found, judged.threshold);
  }
  return {};
}

std::string ModelOracle::first_order(const Judged& judged, const Vector& z) const {
  const auto output = [&](const Vector& parameters, const Vector& row) {
    const Network network = with_parameters(model_->network, parameters);
    return score(network.head(), head_features(network, row), 0);
  };
  const Vector parameters = parameter_vector(model_->network);
  const auto slope_at = [&](const Vector& row) {
    return oracles::numerical_gradient([&](const Vector& p) { return output(p, row); }, parameters);
  };
  const Vector slope = slope_at(z);
  double spread = slope.norm();
  if (judged.kind == SetKind::full) {
    // G + λI from the training rows; without them the file's own pairs would have to be believed.
    if (rows_ == nullptr) return {};
    const double damping = judged.damping.value_or(model_->curvature.full->damping);
    Matrix g = Matrix::Identity(parameters.size(), parameters.size()) * damping;
    for (Index i = 0; i < rows_->encoded.rows(); ++i) {
      const Vector row = rows_->encoded.row(i);
      const Vector own = slope_at(row);
      double weight = 1;
      if (model_->training.loss_kind == LossKind::logistic) {
        const double p = 1 / (1 + std::exp(-output(parameters, row)));
        weight = p * (1 - p);
      }
      g += weight / static_cast<double>(rows_->encoded.rows()) * own * own.transpose();
    }
    spread = std::sqrt(std::max(0.0, slope.dot(g.ldlt().solve(slope))));
  }
  const double penalty = std::sqrt(2 * judged.epsilon) * spread;
  const double found = output(parameters, z) - penalty;
  const double size = std::abs(output(parameters, z)) + penalty;
  // Differences are good to some five digits, and a kink of relu may lie between two of them.
  if (!(found < judged.threshold - 1e-3 * (size + 1))) return {};
  return fmt::format("the worst model to first order gives {}, below {}", found, judged.threshold);
}

std::string ModelOracle::rejection(const Judged& judged, const Vector& z, Random random) const {
  if (z.cwiseAbs().maxCoeff() > 1e100) return {};  // squares overflow here, not where it matters
  if (is_first_order(judged.kind)) return first_order(judged, z);
  if (judged.kind == SetKind::true_set && rows_ == nullptr) return {};
  return by_heads(judged, z, random);
}

}  // namespace ellice::combination
