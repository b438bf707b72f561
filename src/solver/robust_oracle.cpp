#include "solver/robust_oracle.hpp"

#include <cmath>

#include "solver/worst_model.hpp"

namespace ellice {

BoxFactor RobustOracle::curved_cone(const Support& at, Index part, double boost) const {
  return corrected_cone(*this, at, part, boost);
}

BoxFactor corrected_cone(const RobustOracle& oracle, const Support& at, Index part, double boost) {
  const BoxFactor& picture = oracle.cone(part);
  Vector lifted(at.x.size() + 1);
  lifted << at.x, 1;
  const double norm = std::sqrt(lifted.dot(picture.inverse() * lifted));
  const double fall = picture.theta().dot(lifted) - at.value;
  return touching_cone(picture.inverse(), at, boost * fall / norm, oracle.epsilon());
}

BoxFactor touching_cone(const Matrix& inverse, const Support& at, double extent, double epsilon) {
  Vector lifted(at.x.size() + 1);
  lifted << at.x, 1;
  const Vector along = inverse * lifted;
  const double norm = std::sqrt(lifted.dot(along));
  return BoxFactor::of_inverse(at.model + extent / norm * along,
                               extent * extent / (2 * epsilon) * inverse);
}

ConicOracle::ConicOracle(const std::vector<BoxFactor>& factors, double epsilon)
    : epsilon_(epsilon) {
  for (const BoxFactor& factor : factors) {
    factors_.push_back(&factor);
    logits_.emplace_back(factor.theta(), factor.inverse(), epsilon);
  }
}

ConicOracle::ConicOracle(const BoxFactor& factor, double epsilon)
    : factors_({&factor}), epsilon_(epsilon) {
  logits_.emplace_back(factor.theta(), factor.inverse(), epsilon);
}

Support ConicOracle::at(Index part, VectorArg x, double /*share*/) {
  state_.x = x;
  logits_[static_cast<std::size_t>(part)].evaluate(state_);
  Support result{.x = state_.x,
                 .value = state_.value,
                 .proved = state_.value,
                 .scale = state_.scale,
                 .model = worst_model(logits_[static_cast<std::size_t>(part)], state_)};
  return result;
}

}  // namespace ellice
