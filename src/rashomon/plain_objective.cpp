#include "plain_objective.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "plain_network.hpp"

namespace ellice {

PlainObjective::PlainObjective(const Model& model, const StoredRows& rows)
    : kind_(model.training.loss_kind),
      classes_(model.network.layers.back().weights.rows()),
      l2_(model.training.l2),
      penalize_bias_(model.training.penalize_bias),
      labels_(rows.labels) {
  const Layer& head = model.network.layers.back();
  rows_fit_ = rows.encoded.rows() == model.training.rows &&
              rows.encoded.cols() == model.encoder.columns() &&
              rows.labels.size() == static_cast<std::size_t>(rows.encoded.rows());
  if (!rows_fit_) return;
  rows_.resize(head.weights.cols() + 1, rows.encoded.rows());
  const PlainNetwork network(model.network);
  for (Index i = 0; i < rows.encoded.rows(); ++i) {
    const std::vector<long double> features =
        network.features_and_one(rows.encoded.row(i).transpose());
    for (Index j = 0; j < rows_.rows(); ++j) rows_(j, i) = features[static_cast<std::size_t>(j)];
  }
  const Index p = rows_.rows();
  LongVector theta(classes_ * p);
  for (Index k = 0; k < classes_; ++k) {
    for (Index j = 0; j + 1 < p; ++j) theta(k * p + j) = head.weights(k, j);
    theta(k * p + p - 1) = head.bias(k);
  }
  optimum_ = evaluate(theta).objective;
  long double penalty = 0;
  for (Index j = 0; j < theta.size(); ++j) {
    if (is_penalized(j)) penalty += l2_ / 2 * theta(j) * theta(j);
  }
  const long double loss = model.training.loss;
  rows_fit_ = std::abs(optimum_ - penalty - loss) <= 1e-9L * std::max(loss, 1e-6L);
  long double objective = optimum_;
  for (std::size_t l = 0; l + 1 < model.network.layers.size(); ++l) {
    const Layer& layer = model.network.layers[l];
    for (Index k = 0; k < layer.weights.rows(); ++k) {
      for (Index j = 0; j < layer.weights.cols(); ++j) {
        objective += l2_ / 2 * layer.weights(k, j) * layer.weights(k, j);
      }
      if (penalize_bias_) objective += l2_ / 2 * layer.bias(k) * layer.bias(k);
    }
  }
  const long double stored = model.training.objective;
  objective_fits_ = std::abs(objective - stored) <= 1e-9L * std::max(stored, 1e-6L);
}

PlainObjective::LongVector PlainObjective::scores(const LongVector& theta, Index row) const {
  const Index p = rows_.rows();
  LongVector result(classes_);
  for (Index k = 0; k < classes_; ++k) {
    long double score = 0;
    for (Index j = 0; j < p; ++j) score += theta(k * p + j) * rows_(j, row);
    result(k) = score;
  }
  return result;
}

PlainObjective::Value PlainObjective::evaluate(const LongVector& theta) const {
  const Index p = rows_.rows();
  Value result{.gradient = LongVector::Zero(theta.size())};
  for (Index i = 0; i < rows_.cols(); ++i) {
    const int label = labels_[static_cast<std::size_t>(i)];
    LongVector slopes = scores(theta, i);
    if (kind_ == LossKind::softmax) {
      result.objective -= slopes(label);
      const long double largest = slopes.maxCoeff();
      long double total = 0;
      for (long double& slope : slopes) total += slope = std::exp(slope - largest);
      result.objective += largest + std::log(total);
      slopes /= total;
      slopes(label) -= 1;
    } else {
      const long double sign = label == 1 ? 1 : -1;
      long double& slope = slopes(0);
      if (kind_ == LossKind::squared) {
        slope -= sign;
        result.objective += slope * slope / 2;
      } else {
        const long double margin = sign * slope;
        const long double decay = std::exp(-std::abs(margin));
        result.objective += std::max(-margin, 0.0L) + std::log1p(decay);
        slope = -sign * (margin > 0 ? decay : 1) / (1 + decay);
      }
    }
    for (Index k = 0; k < classes_; ++k) {
      for (Index j = 0; j < p; ++j) result.gradient(k * p + j) += slopes(k) * rows_(j, i);
    }
  }
  const auto n = static_cast<long double>(rows_.cols());
  result.objective /= n;
  result.gradient /= n;
  for (Index j = 0; j < theta.size(); ++j) {
    if (!is_penalized(j)) continue;
    result.objective += l2_ / 2 * theta(j) * theta(j);
    result.gradient(j) += l2_ * theta(j);
  }
  return result;
}

PlainObjective::LongMatrix PlainObjective::hessian(const LongVector& at) const {
  const Index p = rows_.rows();
  LongMatrix result = LongMatrix::Zero(at.size(), at.size());
  for (Index i = 0; i < rows_.cols(); ++i) {
    const LongVector score = scores(at, i);
    LongMatrix curvature(classes_, classes_);  // of the loss in the scores
    if (kind_ == LossKind::softmax) {
      LongVector shares = (score.array() - score.maxCoeff()).exp();
      shares /= shares.sum();
      curvature = -shares * shares.transpose();
      curvature.diagonal() += shares;
    } else {
      const long double decay = std::exp(-std::abs(score(0)));
      curvature(0, 0) = kind_ == LossKind::squared ? 1 : decay / ((1 + decay) * (1 + decay));
    }
    const LongMatrix square = rows_.col(i) * rows_.col(i).transpose();
    for (Index a = 0; a < classes_; ++a) {
      for (Index b = 0; b < classes_; ++b)
        result.block(a * p, b * p, p, p) += curvature(a, b) * square;
    }
  }
  result /= static_cast<long double>(rows_.cols());
  for (Index j = 0; j < at.size(); ++j) {
    if (is_penalized(j)) result(j, j) += l2_;
    // What all classes have in common changes no difference of two scores (theory.md, Result 35).
    for (Index k = j % p; classes_ > 1 && k < at.size(); k += p)
      result(j, k) += 1 / static_cast<long double>(classes_);
  }
  return result;
}

long double PlainObjective::suboptimality(const LongVector& at, const LongVector& residual) const {
  if (l2_ > 0 && penalize_bias_) return residual.squaredNorm() / (2 * l2_);
  const Eigen::LDLT<LongMatrix> factor(hessian(at));
  if (!factor.isPositive()) return std::numeric_limits<long double>::infinity();
  const long double square = residual.dot(factor.solve(residual));
  if (kind_ == LossKind::squared) return square / 2;
  long double reach = 0;
  const Index p = rows_.rows();
  const LongMatrix inverse = factor.solve(LongMatrix::Identity(at.size(), at.size()));
  for (Index a = 0; a < classes_; ++a) {
    // Of one score, or of the difference of two classes' scores.
    for (Index b = 0; b < std::max<Index>(a, classes_ == 1 ? 1 : 0); ++b) {
      LongMatrix form = inverse.block(a * p, a * p, p, p);
      if (classes_ > 1) {
        form += inverse.block(b * p, b * p, p, p) - inverse.block(a * p, b * p, p, p) -
                inverse.block(b * p, a * p, p, p);
      }
      const LongMatrix image = form * rows_;
      reach = std::max(reach, (rows_.array() * image.array()).colwise().sum().maxCoeff());
    }
  }
  return std::sqrt(square * reach) <= 0.5L ? square : std::numeric_limits<long double>::infinity();
}

long double PlainObjective::lower_bound(const LongVector& at, const LongVector& c,
                                        long double epsilon) const {
  const Value value = evaluate(at);
  // The multiplier that leaves the least gradient; every positive one would prove something.
  const long double tau = -value.gradient.dot(c) / c.squaredNorm();
  if (!(tau > 0)) return -std::numeric_limits<long double>::infinity();
  const LongVector residual = value.gradient + tau * c;
  const long double slack = value.objective - optimum_ - epsilon - suboptimality(at, residual);
  return at.dot(c) + slack / tau;
}

}  // namespace ellice
