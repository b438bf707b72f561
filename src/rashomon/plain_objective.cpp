#include "plain_objective.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "plain_network.hpp"

namespace ellice {

PlainObjective::PlainObjective(const Model& model, const StoredRows& rows)
    : kind_(model.training.loss_kind),
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
  LongVector theta(rows_.rows());
  for (Index j = 0; j + 1 < theta.size(); ++j) theta(j) = head.weights(0, j);
  theta(theta.size() - 1) = head.bias(0);
  optimum_ = evaluate(theta).objective;
  long double penalty = 0;
  for (Index j = 0; j < theta.size(); ++j) {
    if (penalize_bias_ || j + 1 < theta.size()) penalty += l2_ / 2 * theta(j) * theta(j);
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

PlainObjective::Value PlainObjective::evaluate(const LongVector& theta) const {
  Value result{.gradient = LongVector::Zero(theta.size())};
  for (Index i = 0; i < rows_.cols(); ++i) {
    long double score = 0;
    for (Index j = 0; j < theta.size(); ++j) score += theta(j) * rows_(j, i);
    const long double sign = labels_[static_cast<std::size_t>(i)] == 1 ? 1 : -1;
    long double slope = 0;
    if (kind_ == LossKind::squared) {
      slope = score - sign;
      result.objective += slope * slope / 2;
    } else {
      const long double margin = sign * score;
      const long double decay = std::exp(-std::abs(margin));
      result.objective += std::max(-margin, 0.0L) + std::log1p(decay);
      slope = -sign * (margin > 0 ? decay : 1) / (1 + decay);
    }
    for (Index j = 0; j < theta.size(); ++j) result.gradient(j) += slope * rows_(j, i);
  }
  const auto n = static_cast<long double>(rows_.cols());
  result.objective /= n;
  result.gradient /= n;
  for (Index j = 0; j < theta.size(); ++j) {
    if (!penalize_bias_ && j + 1 == theta.size()) continue;
    result.objective += l2_ / 2 * theta(j) * theta(j);
    result.gradient(j) += l2_ * theta(j);
  }
  return result;
}

long double PlainObjective::suboptimality(const LongVector& at, const LongVector& residual) const {
  if (l2_ > 0 && penalize_bias_) return residual.squaredNorm() / (2 * l2_);
  LongMatrix hessian = LongMatrix::Zero(at.size(), at.size());
  for (Index i = 0; i < rows_.cols(); ++i) {
    const long double decay = std::exp(-std::abs(at.dot(rows_.col(i))));
    const long double curvature =
        kind_ == LossKind::squared ? 1 : decay / ((1 + decay) * (1 + decay));
    hessian += curvature * rows_.col(i) * rows_.col(i).transpose();
  }
  hessian /= static_cast<long double>(rows_.cols());
  for (Index j = 0; j < at.size(); ++j) {
    if (penalize_bias_ || j + 1 < at.size()) hessian(j, j) += l2_;
  }
  const Eigen::LDLT<LongMatrix> factor(hessian);
  if (!factor.isPositive()) return std::numeric_limits<long double>::infinity();
  const long double square = residual.dot(factor.solve(residual));
  if (kind_ == LossKind::squared) return square / 2;
  const LongMatrix solved = factor.solve(rows_);
  const long double reach = (rows_.array() * solved.array()).colwise().sum().maxCoeff();
  return std::sqrt(square * reach) <= 0.5L ? square : std::numeric_limits<long double>::infinity();
}

long double PlainObjective::lower_bound(const LongVector& at, const LongVector& x_tilde,
                                        long double epsilon) const {
  const Value value = evaluate(at);
  // The multiplier that leaves the least gradient; every positive one would prove something.
  const long double tau = -value.gradient.dot(x_tilde) / x_tilde.squaredNorm();
  if (!(tau > 0)) return -std::numeric_limits<long double>::infinity();
  const LongVector residual = value.gradient + tau * x_tilde;
  const long double slack = value.objective - optimum_ - epsilon - suboptimality(at, residual);
  return at.dot(x_tilde) + slack / tau;
}

}  // namespace ellice
