#include "model/loss_batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// log(1 + e) for 0 ≤ e ≤ 1, without a branch, so that several are computed at once: with
/// s = e/(2 + e) ≤ 1/3 it is 2·artanh s = 2s·Σ s²ᵏ/(2k + 1). What the sum leaves out is below 2e−17
/// of it (9⁻¹⁶/33·9/8); with rounding the result is within 4 units of its last place.
inline double log_of_one_plus(double e) {
  const double s = e / (2 + e);
  const double square = s * s;
  double sum = 1.0 / 31;
  for (int odd = 29; odd >= 1; odd -= 2) sum = sum * square + 1.0 / odd;
  return 2 * s * sum;
}

}  // namespace

void LossBatch::resize(Index size) {
  size_ = size;
  if (size <= value_.size()) return;
  for (Vector* values : {&value_, &slope_, &curvature_, &decay_}) values->resize(size);
}

void LossBatch::evaluate(LossKind kind, VectorArg scores, VectorArg signs) {
  require(kind != LossKind::softmax, "the softmax loss takes a score for each class");
  const Index n = scores.size();
  resize(n);
  if (kind == LossKind::squared) {
    slope_.head(n) = scores - signs;
    value_.head(n) = slope_.head(n).cwiseAbs2() / 2;
    curvature_.head(n).setOnes();
    return;
  }
  // With the margin m = ±f and e = e^{−|f|} ≤ 1:
  //   φ = max(0, −m) + log(1 + e),  dφ/df = −sign·σ(−m),  d²φ/df² = e/(1+e)².
  decay_.head(n) = (-scores.array().abs()).exp();
  const double* f = scores.data();
  const double* sign = signs.data();
  const double* e = decay_.data();
  double* value = value_.data();
  double* slope = slope_.data();
  double* curvature = curvature_.data();
  for (Index i = 0; i < n; ++i) {
    const double margin = sign[i] * f[i];
    const double reciprocal = 1 / (1 + e[i]);
    value[i] = std::max(0.0, -margin) + log_of_one_plus(e[i]);
    slope[i] = -sign[i] * reciprocal * (margin >= 0 ? e[i] : 1.0);
    curvature[i] = e[i] * reciprocal * reciprocal;
  }
}

void LossBatch::evaluate_curvature(LossKind kind, VectorArg scores) {
  require(kind != LossKind::softmax, "the softmax loss takes a score for each class");
  const Index n = scores.size();
  resize(n);
  if (kind == LossKind::squared) {
    curvature_.head(n).setOnes();
    return;
  }
  decay_.head(n) = (-scores.array().abs()).exp();
  curvature_.head(n) = decay_.head(n).array() / (1 + decay_.head(n).array()).square();
}

void LossBatch::weigh(VectorArg weights) {
  for (Vector* values : {&value_, &slope_, &curvature_})
    values->head(size_).array() *= weights.array();
}

void LossBatch::weigh_curvature(VectorArg weights) {
  curvature_.head(size_).array() *= weights.array();
}

void SoftmaxBatch::evaluate(RowMatrixArg scores, const int* labels, const double* weights) {
  const Index n = scores.rows();
  const Index classes = scores.cols();
  slope_.resize(n, classes);
  probabilities_.resize(n, classes);
  // Several sums at once: each takes fewer additions, which round.
  std::array<double, 16> sums = {};
  for (Index i = 0; i < n; ++i) {
    // With the largest score m: φ = (m − f_y) + log(1 + Σ' e^{f_k − m}), Σ' over the others.
    Index top = 0;
    const double m = scores.row(i).maxCoeff(&top);
    double others = 0;
    for (Index k = 0; k < classes; ++k) {
      const double e = std::exp(scores(i, k) - m);
      probabilities_(i, k) = e;
      if (k != top) others += e;
    }
    probabilities_.row(i) /= 1 + others;
    const double loss = (m - scores(i, labels[i])) + std::log1p(others);
    sums[static_cast<std::size_t>(i) % sums.size()] +=
        weights == nullptr ? loss : weights[i] * loss;
    slope_.row(i) = probabilities_.row(i);
    // p_y − 1 without cancellation.
    double rest = 0;
    for (Index k = 0; k < classes; ++k) {
      if (k != labels[i]) rest += probabilities_(i, k);
    }
    slope_(i, labels[i]) = -rest;
    if (weights != nullptr) slope_.row(i) *= weights[i];
  }
  sum_ = std::accumulate(sums.begin(), sums.end(), 0.0);
}

double bend_above(LossKind kind, double score, double low, double high) {
  if (kind == LossKind::squared) return 1;
  // log(1 + eᶠ); what the label adds is linear.
  const auto loss = [](double f) { return std::max(f, 0.0) + std::log1p(std::exp(-std::abs(f))); };
  const double u = std::clamp(-2 * score, low, high);
  const double probability = sigmoid(score);
  const double size = std::abs(u);
  // |φ‴| ≤ φ″ ≤ ¼; serves where the difference below cancels.
  const double plain = std::min(0.25, probability * sigmoid(-score) * std::exp(size));
  if (size < 1e-3) return plain;
  const double above = loss(score + u);
  const double here = loss(score);
  const double rounding = 1e-15 * (above + here + size);
  return std::min(plain, 2 * (above - here - probability * u + rounding) / (u * u));
}

}  // namespace ellice
