#include "ellice/model/loss.hpp"

#include <algorithm>

namespace ellice {

void LossBatch::evaluate(LossKind kind, VectorArg scores, VectorArg signs) {
  const Index n = scores.size();
  if (kind == LossKind::squared) {
    slope_ = scores - signs;
    value_ = slope_.cwiseAbs2() / 2;
    curvature_.setOnes(n);
    return;
  }
  // With the margin m = ±f and e = e^{−|f|} ≤ 1:
  //   φ = max(0, −m) + log(1 + e),  dφ/df = −sign·σ(−m),  d²φ/df² = e/(1+e)².
  decay_ = (-scores.array().abs()).exp();
  value_ = decay_.array().log1p();
  slope_.resize(n);
  curvature_.resize(n);
  const double* f = scores.data();
  const double* sign = signs.data();
  const double* e = decay_.data();
  double* value = value_.data();
  double* slope = slope_.data();
  double* curvature = curvature_.data();
  for (Index i = 0; i < n; ++i) {
    const double margin = sign[i] * f[i];
    const double reciprocal = 1 / (1 + e[i]);
    value[i] += std::max(0.0, -margin);
    slope[i] = -sign[i] * reciprocal * (margin >= 0 ? e[i] : 1.0);
    curvature[i] = e[i] * reciprocal * reciprocal;
  }
}

void LossBatch::evaluate_curvature(LossKind kind, VectorArg scores) {
  if (kind == LossKind::squared) {
    curvature_.setOnes(scores.size());
    return;
  }
  decay_ = (-scores.array().abs()).exp();
  curvature_ = decay_.array() / (1 + decay_.array()).square();
}

}  // namespace ellice
