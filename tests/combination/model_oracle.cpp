#include "combination/model_oracle.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"

namespace ellice::combination {

namespace {

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

double activation_slope(Activation activation, double value) {
  switch (activation) {
    case Activation::relu:
      return value > 0 ? 1 : 0;
    case Activation::tanh:
      return 1 - std::tanh(value) * std::tanh(value);
    case Activation::sigmoid:
      return activated(activation, value) * (1 - activated(activation, value));
    case Activation::identity:
      break;
  }
  return 1;
}

/// The feature that each input of a layer of a neural additive model belongs to.
std::vector<std::size_t> owners_of_inputs(const Network& network, std::size_t layer) {
  std::vector<std::size_t> owners;
  for (std::size_t g = 0; g < network.groups.size(); ++g) {
    const Index inputs = layer == 0 ? network.groups[g].columns
                                    : network.layers[layer].weights.cols() /
                                          static_cast<Index>(network.groups.size());
    owners.insert(owners.end(), static_cast<std::size_t>(inputs), g);
  }
  return owners;
}

/// The logit and its derivatives in all parameters, layer by layer, by the chain rule.
struct Slope {
  double logit = 0;
  Vector slope = {};
};

Slope slope_of(const Network& network, const Vector& z) {
  std::vector<Vector> inputs = {z};
  std::vector<Vector> sums;
  for (const Layer& layer : network.layers) {
    Vector sum = layer.bias;
    for (Index i = 0; i < sum.size(); ++i) {
      for (Index j = 0; j < inputs.back().size(); ++j)
        sum(i) += layer.weights(i, j) * inputs.back()(j);
    }
    sums.push_back(sum);
    for (Index i = 0; i < sum.size(); ++i) sum(i) = activated(layer.activation, sum(i));
    inputs.push_back(sum);
  }
  std::vector<double> entries;
  Vector back = Vector::Ones(1);  // ∂f/∂ of the layer's sums
  for (std::size_t l = network.layers.size(); l-- > 0;) {
    const Layer& layer = network.layers[l];
    Vector before = Vector::Zero(inputs[l].size());
    const bool is_sparse = !network.groups.empty() && l + 1 < network.layers.size();
    const std::vector<std::size_t> owners = owners_of_inputs(network, l);
    for (Index i = 0; i < back.size(); ++i) {
      const auto owner = static_cast<std::size_t>(i) * network.groups.size() /
                         static_cast<std::size_t>(back.size());
      for (Index j = 0; j < before.size(); ++j) {
        if (is_sparse && owners[static_cast<std::size_t>(j)] != owner) continue;
        entries.push_back(back(i) * inputs[l](j));
        before(j) += back(i) * layer.weights(i, j);
      }
      entries.push_back(back(i));
    }
    if (l == 0) break;
    for (Index j = 0; j < before.size(); ++j)
      before(j) *= activation_slope(network.layers[l - 1].activation, sums[l - 1](j));
    back = before;
  }
  return {.logit = sums.back()(0),
          .slope = Eigen::Map<const Vector>(entries.data(), static_cast<Index>(entries.size()))};
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
  double weights = 0;
  const auto add = [&](std::size_t i, double loss) {
    const double weight = rows_->weights.size() > 0 ? rows_->weights(static_cast<Index>(i)) : 1;
    sum += weight * loss;
    weights += weight;
  };
  for (std::size_t i = 0; i < row_features_.size(); ++i) {
    const Vector& features = row_features_[i];
    const int label = rows_->labels[i];
    if (outputs > 1) {
      double total = 0;
      const double own = score(head, features, label);
      for (Index k = 0; k < outputs; ++k) total += std::exp(score(head, features, k) - own);
      add(i, std::log(total));
    } else if (model_->training.loss_kind == LossKind::squared) {
      const double off = score(head, features, 0) - (2 * label - 1);
      add(i, off * off / 2);
    } else {
      const double margin = (2 * label - 1) * score(head, features, 0);
      add(i, margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin);
    }
  }
  double penalty = 0;
  const Index size = head.size() / outputs;
  for (Index i = 0; i < head.size(); ++i)
    penalty += penalty_factor(i % size, size) * head(i) * head(i);
  return sum / weights + model_->training.l2 / 2 * penalty;
}

double ModelOracle::penalty_factor(Index i, Index size) const {
  const TrainingRecord& training = model_->training;
  if (i + 1 == size) return training.penalize_bias ? 1 : 0;
  return training.penalty_factors.size() == 0 ? 1 : training.penalty_factors(i);
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
  for (Index i = 0; judged.damping && i < hessian.rows(); ++i)
    hessian(i, i) += penalty_factor(i % size, size) * (*judged.damping - model_->training.l2);
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
  const Network& network = model_->network;
  const Slope at = slope_of(network, z);
  double spread = at.slope.norm();
  if (judged.kind == SetKind::full) {
    // G + λI from the training rows; without them the file's own pairs would have to be believed.
    if (rows_ == nullptr) return {};
    const double damping = judged.damping.value_or(model_->curvature.full->damping);
    Matrix g = Matrix::Identity(at.slope.size(), at.slope.size()) * damping;
    const bool is_weighted = rows_->weights.size() > 0;
    const double total =
        is_weighted ? rows_->weights.sum() : static_cast<double>(rows_->encoded.rows());
    for (Index i = 0; i < rows_->encoded.rows(); ++i) {
      const Slope own = slope_of(network, rows_->encoded.row(i));
      double weight = is_weighted ? rows_->weights(i) : 1;
      if (model_->training.loss_kind == LossKind::logistic) {
        const double p = 1 / (1 + std::exp(-own.logit));
        weight *= p * (1 - p);
      }
      g += weight / total * own.slope * own.slope.transpose();
    }
    spread = std::sqrt(std::max(0.0, at.slope.dot(g.ldlt().solve(at.slope))));
  }
  const double penalty = std::sqrt(2 * judged.epsilon) * spread;
  const double found = at.logit - penalty;
  if (!(found < judged.threshold - 1e-8 * (std::abs(at.logit) + penalty + 1))) return {};
  return fmt::format("the worst model to first order gives {}, below {}", found, judged.threshold);
}

std::string ModelOracle::rejection(const Judged& judged, const Vector& z, Random random) const {
  if (z.cwiseAbs().maxCoeff() > 1e100) return {};  // squares overflow here, not where it matters
  if (is_first_order(judged.kind)) return first_order(judged, z);
  if (judged.kind == SetKind::true_set && rows_ == nullptr) return {};
  return by_heads(judged, z, random);
}

}  // namespace ellice::combination
