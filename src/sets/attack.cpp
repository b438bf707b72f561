#include "ellice/sets/attack.hpp"

#include <cmath>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/network_objective.hpp"
#include "model/network_pass.hpp"
#include "sets/ellipsoid.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

class Attacker {
 public:
  Attacker(const Model& model, LabelledRows rows, double epsilon, VectorArg x)
      : model_(&model),
        objective_(rows, model.training.loss_kind, penalty_of(model.training)),
        x_(x),
        center_(parameter_vector(model.network)),
        base_(objective_.value(model.network)),
        bound_(base_ + epsilon),
        radius_(std::sqrt(2 * epsilon)) {
    best_ = {.logit = model.logit(x), .parameters = center_};
  }

  [[nodiscard]] const Attack& best() const { return best_; }

  /// As far along Θ̂ + t·step as the bound allows. The step's own length is what the quadratic
  /// picture of the bound allows.
  void search_line(const Vector& step, AttackDirection direction, int bisections) {
    double inside = 0;
    double outside = 1;
    constexpr double farthest = 1024;
    while (try_parameters(center_ + outside * step, direction) && outside < farthest) {
      inside = outside;
      outside *= 2;
    }
    for (int k = 0; k < bisections; ++k) {
      const double middle = (inside + outside) / 2;
      (try_parameters(center_ + middle * step, direction) ? inside : outside) = middle;
    }
  }

  [[nodiscard]] Vector full_step() const {
    const Vector jacobian = derivative(model_->network);
    const Vector solved = solve(jacobian);
    return -radius_ / std::sqrt(jacobian.dot(solved)) * solved;
  }

  [[nodiscard]] Vector last_layer_step() const {
    const Vector h_tilde = with_one(model_->network.features(x_));
    const CholeskyFactor factor(model_->curvature.hessian);
    Vector step = Vector::Zero(center_.size());
    step.tail(h_tilde.size()) = -radius_ / factor.inverse_norm(h_tilde) * factor.solve(h_tilde);
    return step;
  }

  /// Steps from the best network so far. In the metric of the full set, the steepest descent of the
  /// logit that keeps L to first order; what the bound is missed by is taken back along Σ∇L.
  void descend(int steps) {
    double length = radius_ / 2;
    Vector loss_gradient(center_.size());
    for (int k = 0; k < steps && length > 1e-6 * radius_; ++k) {
      check_stop();
      const Vector at = best_.parameters;
      const Network network = with_parameters(model_->network, at);
      (void)objective_.gradient(network, loss_gradient);
      const Vector jacobian = derivative(network);
      const Vector back = solve(loss_gradient);
      const double back_slope = loss_gradient.dot(back);
      Vector step = -solve(jacobian);
      const double rise = loss_gradient.dot(step);
      if (rise > 0) step -= rise / back_slope * back;
      const double norm = std::sqrt(std::abs(jacobian.dot(step)));
      if (!(norm > 0)) return;
      step *= length / norm;
      const bool better = try_restored(at + step, back, back_slope);
      length *= better ? 1.5 : 0.4;
    }
  }

 private:
  [[nodiscard]] Vector derivative(const Network& network) const {
    NetworkPass pass(network);
    (void)pass.forward(x_);
    pass.backward();
    Vector result;
    pass.parameter_gradient(result);
    return result;
  }

  /// Σb: (G+λI)⁻¹b where the model knows G, otherwise b.
  [[nodiscard]] Vector solve(const Vector& b) const {
    if (!model_->curvature.full) return b;
    const GaussNewton& curvature = *model_->curvature.full;
    const double damping = curvature.damping;
    const Eigen::ArrayXd e = curvature.values.array();
    Vector weighted = curvature.vectors.transpose() * b;
    weighted.array() *= e / (damping * (e + damping));
    return b / damping - curvature.vectors * weighted;
  }

  /// Whether the bound holds; if so, the network may become the best.
  bool try_parameters(const Vector& parameters, AttackDirection direction) {
    const Network network = with_parameters(model_->network, parameters);
    const double value = objective_.value(network);
    if (!(value <= bound_)) return false;
    const double logit = network.logit(x_);
    if (logit < best_.logit) {
      best_ = {.logit = logit,
               .excess = value - base_,
               .parameters = parameters,
               .direction = direction};
    }
    return true;
  }

  /// Whether the network, brought back inside the bound if need be, became the best.
  bool try_restored(Vector parameters, const Vector& back, double back_slope) {
    const double before = best_.logit;
    constexpr int corrections = 3;
    for (int k = 0; k <= corrections; ++k) {
      check_stop();
      if (try_parameters(parameters, AttackDirection::descent)) break;
      const double missed = objective_.value(with_parameters(model_->network, parameters)) - bound_;
      if (!(back_slope > 0) || !std::isfinite(missed)) break;
      parameters -= 1.1 * missed / back_slope * back;
    }
    return best_.logit < before;
  }

  const Model* model_;
  NetworkObjective objective_;
  Vector x_;
  Vector center_;
  double base_;
  double bound_;
  double radius_;
  Attack best_;
};

}  // namespace

Attack attack(const Model& model, LabelledRows rows, double epsilon, VectorArg x, double threshold,
              const AttackOptions& options) {
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  require(x.size() == model.network.inputs(), "the point has {} entries, the model reads {}",
          x.size(), model.network.inputs());
  require(rows.features != nullptr && rows.labels != nullptr && rows.features->rows() > 0 &&
              rows.features->cols() == model.network.inputs(),
          "an attack needs the rows that the model was trained on, encoded");
  require(
      model.training.weights.has_value() == (rows.weights != nullptr && rows.weights->size() > 0),
      "an attack needs the rows that the model was trained on, with their weights if any");
  Attacker attacker(model, rows, epsilon, x);
  const auto is_broken = [&] { return attacker.best().logit < threshold; };
  if (epsilon > 0) {
    attacker.search_line(attacker.full_step(), AttackDirection::full, options.bisections);
    attacker.search_line(attacker.last_layer_step(), AttackDirection::last_layer,
                         options.bisections);
    if (!is_broken()) attacker.descend(options.descent_steps);
  }
  Attack result = attacker.best();
  result.broken = is_broken();
  return result;
}

}  // namespace ellice
