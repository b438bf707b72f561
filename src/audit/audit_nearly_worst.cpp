#include "audit/audit_nearly_worst.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/stop.hpp"

namespace ellice::audit {

namespace {

constexpr long double inwards = 1e-9L;  // of ε
constexpr int most_pictures = 3;
constexpr long double settled = 1e-3L;  // of the penalty: what is left is of second order
constexpr int most_ways_back = 4;

}  // namespace

NearlyWorst::NearlyWorst(const TrueModels& models, LongVector around, LongMatrix lift,
                         double epsilon)
    : models_(&models),
      lift_(std::move(lift)),
      level_(models.objective().optimum() + epsilon * (1 - inwards)) {
  const LongMatrix curvature = models.objective().with_gauge(models.objective().hessian(around));
  inverse_ = Eigen::LDLT<LongMatrix>(curvature).solve(
      LongMatrix::Identity(curvature.rows(), curvature.cols()));
  around_ = see(std::move(around));
}

NearlyWorst::Seen NearlyWorst::see(LongVector model) const {
  check_stop();
  PlainObjective::Value value = models_->objective().evaluate(model);
  return {.model = std::move(model), .value = std::move(value)};
}

LongVector NearlyWorst::worst_of_picture(const Seen& seen, const LongVector& c) const {
  const LongVector image = inverse_ * c;
  const LongVector step = inverse_ * seen.value.gradient;
  const long double square =
      std::max(seen.value.gradient.dot(step) + 2 * (level_ - seen.value.objective), 0.0L);
  return seen.model - step - std::sqrt(square / c.dot(image)) * image;
}

std::optional<LongVector> NearlyWorst::at(const LongVector& x_tilde) const {
  const LongVector c = lift_ * x_tilde;
  Seen seen = around_;
  for (int round = 0; round < most_pictures; ++round) {
    LongVector next = worst_of_picture(seen, c);
    if (!next.allFinite()) return std::nullopt;
    const long double change = std::abs(c.dot(next) - c.dot(seen.model));
    const long double size = std::abs(c.dot(next) - c.dot(models_->center()));
    seen = see(std::move(next));
    if (round > 0 && change <= settled * size) break;
  }
  // Towards the centre, along which the excess falls about as the square.
  for (int step = 0; step < most_ways_back && !(seen.value.objective <= level_); ++step) {
    const long double excess = seen.value.objective - models_->objective().optimum();
    const long double room = level_ - models_->objective().optimum();
    const long double share = std::sqrt(room / excess) * (1 - 1e-7L);
    seen = see(models_->center() + share * (seen.model - models_->center()));
  }
  if (!(seen.value.objective <= level_)) return std::nullopt;
  return LongVector(lift_.transpose() * seen.model);
}

}  // namespace ellice::audit
