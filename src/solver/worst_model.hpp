#pragma once

#include "solver/robust_logit.hpp"

namespace ellice {

/// θ − Mx̃/s, the model that decides at a point: [gradient; g − gradientᵀx] without these
/// differences, of which rounding leaves nothing where x is very far away.
[[nodiscard]] inline Vector worst_model(const RobustLogit& logit, const RobustLogit::State& state) {
  const Index d = logit.dimension();
  const double last = logit.inverse().col(d).head(d).dot(state.x) + logit.inverse()(d, d);
  Vector model(d + 1);
  model << state.gradient, logit.theta()[d] - logit.two_epsilon() * state.inverse_s * last;
  return model;
}

}  // namespace ellice
