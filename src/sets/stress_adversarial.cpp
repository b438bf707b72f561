#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "model/loss_batch.hpp"
#include "model/network_pass.hpp"
#include "sets/stress.hpp"
#include "sets/stress_collection.hpp"

namespace ellice {

namespace {

/// l2 for each parameter that the penalty counts, times its factor, else 0.
Vector penalty_weights(const Network& network, const Penalty& penalty) {
  if (penalty.factors.size() > 0) return penalty.diagonal(network.inputs());
  Network weights = network;
  for (Layer& layer : weights.layers) {
    layer.weights.setConstant(penalty.l2);
    layer.bias.setConstant(penalty.penalize_bias ? penalty.l2 : 0);
  }
  return parameter_vector(weights);
}

/// Moves the base's parameters against its answer for one point, inside bounds.
class WeightDescent {
 public:
  /// `bounds` in ascending order.
  WeightDescent(const StressSource& source, std::vector<double> bounds,
                const StressOptions& options,
                double enough = -std::numeric_limits<double>::infinity())
      : network_(*source.base),
        objective_(training_objective(source)),
        bounds_(std::move(bounds)),
        options_(options),
        enough_(enough) {}

  /// Where the descent ends inside each bound, nothing where the base exceeds it. The descent does
  /// not depend on bounds that it has not reached, so that it is the same for all. `slope` is the
  /// derivative of the point's loss in its logit, `shrinkage` the weights of the penalty that is
  /// added to it.
  std::vector<std::optional<StressModel>> run(VectorArg x, VectorArg shrinkage,
                                              const std::function<double(double)>& slope) {
    double value = objective_.value(network_);
    std::vector<std::optional<StressModel>> ends;
    while (ends.size() < bounds_.size() && !(value <= bounds_[ends.size()]))
      ends.emplace_back(std::nullopt);
    const bool published = options_.variant == Variant::published;
    NetworkPass pass(network_);
    Vector current = parameter_vector(network_);
    Vector next = current;
    Vector velocity = Vector::Zero(current.size());
    Vector jacobian;
    for (int step = 1; step <= options_.steps && ends.size() < bounds_.size(); ++step) {
      check_stop();
      const double logit = pass.forward(x);
      if (logit < enough_) break;
      pass.backward();
      pass.parameter_gradient(jacobian);
      velocity *= options_.momentum;
      velocity += slope(logit) * jacobian + shrinkage.cwiseProduct(current);
      next = current - options_.learning_rate * velocity;
      const double next_value = value_at(next);
      const bool is_checked = !published || step < options_.steps;
      while (is_checked && ends.size() < bounds_.size() && !(next_value <= bounds_[ends.size()])) {
        ends.push_back(published
                           ? model_at(current, value)
                           : shortened(current, value, next, next_value, bounds_[ends.size()]));
        set_parameters(network_, next);
      }
      if (ends.size() == bounds_.size()) return ends;
      current.swap(next);
      value = next_value;
    }
    while (ends.size() < bounds_.size()) ends.push_back(model_at(current, value));
    return ends;
  }

  /// From where run() ended, lowers f(x) further along the largest bound: steps against the part of
  /// its gradient that keeps L, each brought back to the bound along ∇L. Plain descent on f ends
  /// where it first meets the bound, and that is rarely where f is smallest.
  void slide(VectorArg x, StressModel& model) {
    const double bound = bounds_.back();
    network_ = model.network;
    NetworkPass pass(network_);
    Vector current = parameter_vector(network_);
    Vector next, jacobian, normal;
    double logit = pass.forward(x);
    double rate = options_.learning_rate;
    for (int step = 0; step < options_.steps && rate > 1e-9 && logit >= enough_; ++step) {
      check_stop();
      set_parameters(network_, current);
      pass.forward(x);
      pass.backward();
      pass.parameter_gradient(jacobian);
      objective_.gradient(network_, normal);
      const double normal_squared = normal.squaredNorm();
      const double against = jacobian.dot(normal);
      if (normal_squared == 0) break;
      next = current - rate * jacobian;
      const bool is_on_bound = model.objective >= bound - margin(bound);
      if (is_on_bound && against < 0) next += rate * against / normal_squared * normal;

      double value = value_at(next);
      const bool overshot = value > bound;
      const double goal = goal_of(bound);
      for (int i = 0; i < 5 && overshot && std::abs(value - goal) > margin(bound) / 2; ++i) {
        next -= (value - goal) / normal_squared * normal;
        value = value_at(next);
      }
      const double next_logit = pass.forward(x);
      if (value <= bound && next_logit < logit) {
        current.swap(next);
        logit = next_logit;
        model.objective = value;
        rate *= 1.5;
      } else {
        rate /= 4;
      }
    }
    set_parameters(network_, current);
    model.network = network_;
  }

 private:
  /// How close to a bound counts as on it, and where between the two to aim.
  [[nodiscard]] static double margin(double bound) { return 1e-9 * (1 + std::abs(bound)); }
  [[nodiscard]] static double goal_of(double bound) { return bound - margin(bound) / 2; }

  double value_at(VectorArg parameters) {
    set_parameters(network_, parameters);
    return objective_.value(network_);
  }

  StressModel model_at(VectorArg parameters, double value) {
    set_parameters(network_, parameters);
    return {.network = network_, .objective = value};
  }

  /// The point of the segment where L reaches the bound, to its margin and never above. The
  /// Illinois rule: a handful of evaluations.
  StressModel shortened(VectorArg start, double start_value, VectorArg outside,
                        double outside_value, double bound) {
    const Vector segment = outside - start;
    const double goal = goal_of(bound);
    Vector inside = start;
    double inside_value = start_value;
    double lower = 0;
    double upper = 1;
    double below = inside_value - goal;  // residuals at both ends; that of an end which stays for a
    double above = outside_value - goal;  // second time is halved
    bool last_inside = false;
    for (int i = 0; i < 100 && inside_value < bound - margin(bound); ++i) {
      check_stop();
      double t = lower - below * (upper - lower) / (above - below);
      if (!(t > lower && t < upper)) t = (lower + upper) / 2;
      const Vector point = start + t * segment;
      const double value = value_at(point);
      const bool is_inside = value <= bound;
      const bool same_end = i > 0 && is_inside == last_inside;
      last_inside = is_inside;
      if (is_inside) {
        lower = t;
        below = value - goal;
        if (same_end) above /= 2;
        inside = point;
        inside_value = value;
      } else {
        upper = t;
        above = value - goal;
        if (same_end) below /= 2;
      }
    }
    return model_at(inside, inside_value);
  }

  Network network_;  // moves
  NetworkObjective objective_;
  std::vector<double> bounds_;
  StressOptions options_;
  double enough_;
};

}  // namespace

StressSet adversarial_set(const StressSource& source, double bound, const StressOptions& options,
                          const Execution& execution) {
  return std::move(adversarial_sets(source, {bound}, options, execution).front());
}

std::vector<StressSet> adversarial_sets(const StressSource& source,
                                        const std::vector<double>& bounds,
                                        const StressOptions& options, const Execution& execution) {
  check_stress_source(source, options);
  for (const double bound : bounds) check_stress_bound(bound);
  std::vector<double> ascending = bounds;
  std::sort(ascending.begin(), ascending.end());
  const RowMatrix& rows = *source.train.features;
  const Index count = std::min<Index>(options.count, rows.rows());
  const Index stride = rows.rows() / count;
  const Vector shrinkage = penalty_weights(*source.base, source.penalty);

  std::vector<std::vector<std::optional<StressModel>>> ends(static_cast<std::size_t>(count));
  parallel_for("adversarial weights", ends.size(), execution, [&](std::size_t k) {
    const Vector x = rows.row(static_cast<Index>(k) * stride).transpose();
    const bool accepted = source.base->logit(x) >= source.threshold;
    const Vector flipped_sign = Vector::Constant(1, accepted ? -1 : 1);
    LossBatch loss;
    ends[k] = WeightDescent(source, ascending, options).run(x, shrinkage, [&](double logit) {
      loss.evaluate(source.loss, Vector::Constant(1, logit), flipped_sign);
      return loss.slope()(0);
    });
  });

  std::vector<StressSet> sets;
  for (const double bound : bounds) {
    const auto place = static_cast<std::size_t>(
        std::lower_bound(ascending.begin(), ascending.end(), bound) - ascending.begin());
    StressSet set{.kind = StressKind::adversarial, .tried = ends.size(), .bound = bound};
    for (const auto& of_row : ends) {
      if (of_row[place]) set.models.push_back(*of_row[place]);
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

std::optional<StressModel> adversarial_against(const StressSource& source, double bound,
                                               VectorArg x, const StressOptions& options,
                                               double enough) {
  check_stress_source(source, options);
  check_stress_bound(bound);
  require(x.size() == source.base->inputs(), "the base reads {} columns, the point has {}",
          source.base->inputs(), x.size());
  const Vector no_shrinkage = Vector::Zero(source.base->parameters());
  WeightDescent descent(source, {bound}, options, enough);
  std::optional<StressModel> model =
      descent.run(x, no_shrinkage, [](double) { return 1.0; }).front();
  if (model && options.variant == Variant::corrected) descent.slide(x, *model);
  return model;
}

}  // namespace ellice
