#include "certificate/plain_objective.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "certificate/plain_network.hpp"
#include "certificate/verification_check.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// Of the objective: what does not show in a bound.
constexpr long double negligible = 1e-15L;

}  // namespace

PlainObjective::PlainObjective(const Model& model, const StoredRows& rows)
    : kind_(model.training.loss_kind),
      classes_(model.network.layers.back().weights.rows()),
      l2_(model.training.l2),
      penalize_bias_(model.training.penalize_bias),
      labels_(rows.labels) {
  const Layer& head = model.network.layers.back();
  rows_fit_ = rows.encoded.rows() == model.training.rows &&
              rows.encoded.cols() == model.encoder.columns() &&
              rows.labels.size() == static_cast<std::size_t>(rows.encoded.rows()) &&
              rows.weights.size() == (model.training.weights ? rows.encoded.rows() : 0);
  if (!rows_fit_) return;
  for (const double factor : model.training.penalty_factors) factors_.push_back(factor);
  for (const double corner : model.training.l1) corners_.push_back(corner);
  mass_ = static_cast<long double>(rows.encoded.rows());
  if (rows.weights.size() > 0) mass_ = 0;
  for (const double weight : rows.weights) {
    rows_fit_ = rows_fit_ && weight > 0 && std::isfinite(weight);
    weights_.push_back(weight);
    mass_ += weight;
  }
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
  long double head_penalty = 0;
  for (Index j = 0; j < theta.size(); ++j) head_penalty += penalty(j) / 2 * theta(j) * theta(j);
  for (std::size_t j = 0; j < corners_.size(); ++j)
    head_penalty += corners_[j] * std::abs(theta(static_cast<Index>(j)));
  const long double loss = model.training.loss;
  LongMatrix curvature = hessian(theta);
  curvature.diagonal().array() += static_cast<long double>(model.curvature.shift);
  const LongMatrix stored_curvature = model.curvature.hessian.cast<long double>();
  rows_fit_ = std::abs(optimum_ - head_penalty - loss) <= 1e-9L * std::max(loss, 1e-6L) &&
              (curvature - stored_curvature).norm() <= 1e-9L * stored_curvature.norm();
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

void PlainObjective::find_scores(const LongVector& theta, Index row, LongVector& scores) const {
  const Index p = rows_.rows();
  for (Index k = 0; k < classes_; ++k) {
    scores(k) = 0;
    for (Index j = 0; j < p; ++j) scores(k) += theta(k * p + j) * rows_(j, row);
  }
}

PlainObjective::Value PlainObjective::evaluate(const LongVector& theta) const {
  const Index p = rows_.rows();
  Value result{.gradient = LongVector::Zero(theta.size())};
  LongVector scores(classes_);
  LongVector slopes(classes_);  // of the loss in the scores
  for (Index i = 0; i < rows_.cols(); ++i) {
    const int label = labels_[static_cast<std::size_t>(i)];
    const long double sign = label == 1 ? 1 : -1;
    const long double weight = share(i);
    find_scores(theta, i, scores);
    if (kind_ == LossKind::softmax) {
      const long double largest = scores.maxCoeff();
      for (Index k = 0; k < classes_; ++k) slopes(k) = std::exp(scores(k) - largest);
      const long double total = slopes.sum();
      result.objective += weight * (largest - scores(label) + std::log(total));
      slopes /= total;
      slopes(label) -= 1;
    } else if (kind_ == LossKind::squared) {
      slopes(0) = scores(0) - sign;
      result.objective += weight * (slopes(0) * slopes(0) / 2);
    } else {
      const long double margin = sign * scores(0);
      const long double decay = std::exp(-std::abs(margin));
      result.objective += weight * (std::max(-margin, 0.0L) + std::log1p(decay));
      slopes(0) = -sign * (margin > 0 ? decay : 1) / (1 + decay);
    }
    for (Index k = 0; k < classes_; ++k) {
      const long double slope = weight * slopes(k);
      for (Index j = 0; j < p; ++j) result.gradient(k * p + j) += slope * rows_(j, i);
    }
  }
  result.objective /= mass_;
  result.gradient /= mass_;
  for (Index j = 0; j < theta.size(); ++j) {
    result.objective += penalty(j) / 2 * theta(j) * theta(j);
    result.gradient(j) += penalty(j) * theta(j);
  }
  for (std::size_t j = 0; j < corners_.size(); ++j)
    result.objective += corners_[j] * std::abs(theta(static_cast<Index>(j)));
  return result;
}

long double PlainObjective::rounding(const LongVector& theta) const {
  constexpr long double unit_roundoff = 0x1p-53L;
  const Index p = rows_.rows();
  long double sizes = 0;
  for (Index i = 0; i < rows_.cols(); ++i) {
    long double largest = 0;
    for (Index k = 0; k < classes_; ++k) {
      long double size = 0;
      for (Index j = 0; j < p; ++j) size += std::abs(theta(k * p + j) * rows_(j, i));
      largest = std::max(largest, size);
    }
    sizes += share(i) * largest;
  }
  const auto n = static_cast<long double>(rows_.cols());
  const long double objective = evaluate(theta).objective;
  const long double slope =
      kind_ == LossKind::squared ? std::max(1.0L, std::sqrt(2 * objective)) : 1;
  // Terms of a score, and levels of a sum over rows that is made in pairs or lanes.
  const auto terms = static_cast<long double>(p + 4);
  const long double levels = 16 + std::log2(n);
  return 4 * unit_roundoff * (terms * slope * sizes / mass_ + (levels + terms) * objective);
}

PlainObjective::LongMatrix PlainObjective::sum_of_squares(const LongVector& factors) const {
  const Index p = rows_.rows();
  LongMatrix result = LongMatrix::Zero(p, p);
  for (Index i = 0; i < rows_.cols(); ++i) {
    // Upper triangle; most entries of a row with many levels are 0.
    for (Index j = 0; j < p; ++j) {
      if (rows_(j, i) == 0) continue;
      const long double factor = share(i) * factors(i) * rows_(j, i);
      for (Index k = 0; k <= j; ++k) result(k, j) += factor * rows_(k, i);
    }
  }
  result = LongMatrix(result.selfadjointView<Eigen::Upper>());
  result /= mass_;
  for (Index j = 0; j < p; ++j) result(j, j) += penalty(j);
  return result;
}

PlainObjective::LongMatrix PlainObjective::hessian(const LongVector& at) const {
  const Index p = rows_.rows();
  LongVector scores(classes_);
  if (classes_ == 1) {
    LongVector factors(rows_.cols());
    for (Index i = 0; i < rows_.cols(); ++i) {
      find_scores(at, i, scores);
      const long double decay = std::exp(-std::abs(scores(0)));
      factors(i) = kind_ == LossKind::squared ? 1 : decay / ((1 + decay) * (1 + decay));
    }
    return sum_of_squares(factors);
  }
  LongMatrix result = LongMatrix::Zero(at.size(), at.size());
  for (Index i = 0; i < rows_.cols(); ++i) {
    find_scores(at, i, scores);
    LongVector shares = (scores.array() - scores.maxCoeff()).exp();
    shares /= shares.sum();
    LongMatrix curvature = -shares * shares.transpose();  // of the loss in the scores
    curvature.diagonal() += shares;
    const LongMatrix square = rows_.col(i) * rows_.col(i).transpose();
    for (Index a = 0; a < classes_; ++a) {
      for (Index b = 0; b < classes_; ++b)
        result.block(a * p, b * p, p, p) += share(i) * curvature(a, b) * square;
    }
  }
  result /= mass_;
  for (Index j = 0; j < at.size(); ++j) result(j, j) += penalty(j);
  return result;
}

PlainObjective::LongMatrix PlainObjective::curvature_above(const LongVector& at,
                                                           const LongVector& middle,
                                                           const LongMatrix& inverse,
                                                           long double square) const {
  if (kind_ == LossKind::squared) return sum_of_squares(LongVector::Ones(rows_.cols()));
  const auto loss = [](long double f) {
    return (f > 0 ? f : 0) + std::log1p(std::exp(-std::abs(f)));
  };
  const LongMatrix images = inverse * rows_;
  LongVector factors(rows_.cols());
  LongVector scores(1);
  LongVector moved(1);
  for (Index i = 0; i < rows_.cols(); ++i) {
    find_scores(at, i, scores);
    find_scores(middle, i, moved);
    const long double f = scores(0);
    const long double reach = std::sqrt(square * rows_.col(i).dot(images.col(i)));
    const long double farthest = std::abs(moved(0) - f) + reach;
    const long double move = std::min(std::max(-2 * f, moved(0) - f - reach), moved(0) - f + reach);
    const long double decay = std::exp(-std::abs(f));
    const long double slope = (f > 0 ? 1 : decay) / (1 + decay);
    // The second derivative grows by no more than e to the power of the move.
    const long double own = decay / ((1 + decay) * (1 + decay)) * std::exp(farthest);
    factors(i) = std::abs(move) < 1e-4L
                     ? own
                     : 2 * (loss(f + move) - loss(f) - slope * move) / (move * move) +
                           1e-18L * (2 + std::abs(f)) / (move * move);
    factors(i) = std::min({factors(i), own, 0.25L});
  }
  return sum_of_squares(factors);
}

PlainObjective::LongMatrix PlainObjective::with_gauge(LongMatrix hessian) const {
  if (classes_ > 1) (void)verification::add_gauge(hessian, rows_.rows());
  return hessian;
}

long double PlainObjective::suboptimality(const LongVector& at, const LongVector& residual) const {
  bool has_all = l2_ > 0 && penalize_bias_;
  for (const long double factor : factors_) has_all = has_all && factor > 0;
  if (has_all) {
    // A small penalty makes much of a small residual; what the curvature proves may be less.
    // F is as strongly convex in each direction as its penalty.
    long double by_penalty = 0;
    for (Index j = 0; j < at.size(); ++j)
      by_penalty += residual(j) * residual(j) / (2 * penalty(j));
    if (by_penalty <= negligible * (1 + optimum_)) return by_penalty;
    return std::min(by_penalty, suboptimality_by_curvature(at, residual));
  }
  return suboptimality_by_curvature(at, residual);
}

long double PlainObjective::suboptimality_by_curvature(const LongVector& at,
                                                       const LongVector& residual,
                                                       long double least_pivot) const {
  // What all classes have in common is in the penalty alone, and counts by itself.
  const Index p = rows_.rows();
  LongVector own = residual;
  long double common = 0;
  for (Index j = 0; classes_ > 1 && j < p; ++j) {
    long double slope = 0;
    long double sum = 0;
    for (Index k = 0; k < classes_; ++k) {
      slope += residual(k * p + j);
      sum += at(k * p + j);
    }
    for (Index k = 0; k < classes_; ++k) own(k * p + j) -= slope / classes_;
    common += penalty(j) / 2 * sum * sum / classes_;
  }
  const Eigen::LDLT<LongMatrix> factor(with_gauge(hessian(at)));
  if (!(factor.vectorD().minCoeff() > least_pivot * factor.vectorD().maxCoeff()))
    return std::numeric_limits<long double>::infinity();
  const long double square = own.dot(factor.solve(own));
  if (kind_ == LossKind::squared) return square / 2;
  // Of the score of any row, or of the difference of two classes' scores.
  const LongMatrix inverse = factor.solve(LongMatrix::Identity(at.size(), at.size()));
  const auto largest = [&](const LongMatrix& form) {
    const LongMatrix image = form * rows_;
    return (rows_.array() * image.array()).colwise().sum().maxCoeff();
  };
  const auto block = [&](Index a, Index b) { return inverse.block(a * p, b * p, p, p); };
  long double reach = classes_ == 1 ? largest(inverse) : 0;
  for (Index a = 0; a < classes_; ++a) {
    for (Index b = 0; b < a; ++b)
      reach = std::max(reach, largest(block(a, a) + block(b, b) - block(a, b) - block(b, a)));
  }
  return std::sqrt(square * reach) <= 0.5L ? square + common
                                           : std::numeric_limits<long double>::infinity();
}

PlainObjective::Cornered PlainObjective::cornered(const LongVector& at, const Value& value,
                                                  const LongVector& c, long double level) const {
  const Index last = rows_.rows() - 1;
  // The multiplier that leaves the intercept, which has no penalty, without a slope.
  Cornered result{.tau = -value.gradient(last) / c(last)};
  long double largest = 0;
  long double bounded = 0;
  LongVector residual = LongVector::Zero(at.size());
  for (Index j = 0; j < last; ++j) {
    const long double slope = value.gradient(j) + result.tau * c(j);
    const long double corner = corners_[static_cast<std::size_t>(j)];
    // uθ ≤ l|θ| for every |u| ≤ l; the one that takes away most of the slope.
    const long double u = slope > corner ? -corner : slope < -corner ? corner : -slope;
    residual(j) = slope + u;
    const long double rest = std::abs(residual(j));
    result.missed += corner * std::abs(at(j)) - u * at(j);
    if (corner > 0) {
      largest = std::max(largest, rest / corner);
      bounded += rest * std::abs(at(j));
    } else if (rest > 0) {
      bounded += rest * rest / (2 * penalty(j));
    }
  }
  bounded += largest * level;  // Σ l|θ| ≤ L ≤ level
  // Beside large numbers a small penalty lets parameters go far, and the curvature does not; where
  // corners alone hold a direction there is none to go by.
  constexpr long double least_pivot = 1e-13L;
  if (bounded > negligible * (1 + optimum_))
    bounded = std::min(bounded, suboptimality_by_curvature(at, residual, least_pivot));
  result.missed += bounded;
  return result;
}

long double PlainObjective::lower_bound(const LongVector& at, const LongVector& c,
                                        long double epsilon) const {
  const Value value = evaluate(at);
  if (!corners_.empty()) {
    const Cornered found = cornered(at, value, c, optimum_ + epsilon);
    if (!(found.tau > 0)) return -std::numeric_limits<long double>::infinity();
    return c.dot(at) + (value.objective - optimum_ - epsilon - found.missed) / found.tau;
  }
  // The multiplier that leaves the least gradient; every positive one would prove something.
  const long double tau = -value.gradient.dot(c) / c.squaredNorm();
  if (!(tau > 0)) return -std::numeric_limits<long double>::infinity();
  const LongVector residual = value.gradient + tau * c;
  const long double slack = value.objective - optimum_ - epsilon - suboptimality(at, residual);
  return at.dot(c) + slack / tau;
}

}  // namespace ellice
