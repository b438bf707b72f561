#include "methods/interval_robustness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/mixed_integer.hpp"

namespace ellice {

namespace {

constexpr double solver_seconds = 60;
// What CBC's tolerances can make of an objective, relative to the sum of its terms.
constexpr double solver_error = 1e-7;

/// The largest δ of [lower, upper], to the last digits, for which a property holds that holds at
/// `lower` and, once lost, does not come back.
template <class Property>
double last_with(double lower, double upper, const Property& holds) {
  if (holds(upper)) return upper;
  for (int step = 0; step < 100; ++step) {
    const double middle = lower + (upper - lower) / 2;
    if (middle <= lower || middle >= upper) break;
    (holds(middle) ? lower : upper) = middle;
    if (upper - lower <= 4 * std::numeric_limits<double>::epsilon() * upper) break;
  }
  return lower;
}

/// What one weight times an activation a ∈ [lower, upper], a ≥ 0, is at least.
double least(double weight, double lower, double upper) {
  return weight * (weight >= 0 ? lower : upper);
}

}  // namespace

void require_relu(const Network& network, std::string_view method) {
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
    const Activation found = network.layers[l].activation;
    require(found == Activation::relu,
            "{} is defined for relu networks and linear models; hidden layer {} is {}: train with "
            "`activation: relu`",
            method, l + 1, enum_name(found));
  }
}

IntervalRobustness::IntervalRobustness(const Network& network, double threshold, Variant variant)
    : network_(network), variant_(variant) {
  require_relu(network, "interval robustness");
  require(network.layers.size() <= 3,
          "interval robustness is decided for at most two hidden layers; the network has {}",
          network.layers.size() - 1);
  network_.layers.back().bias[0] -= threshold;
}

Vector IntervalRobustness::Activations::at(VectorArg position) const {
  return lower + position.cwiseProduct(upper - lower);
}

IntervalRobustness::FirstLayer IntervalRobustness::first_layer(VectorArg x) const {
  const Layer& layer = network_.layers.front();
  require(x.size() == layer.weights.cols(), "a point has {} columns, expected {}", x.size(),
          layer.weights.cols());
  return {.centre = layer.weights * x + layer.bias,
          .reach = 1 + (variant_ == Variant::published ? x.sum() : x.lpNorm<1>())};
}

std::optional<IntervalRobustness::Activations> IntervalRobustness::activations(
    const FirstLayer& first, double delta) const {
  const double move = delta * first.reach;
  if (move < 0) {  // published: the bounds contradict each other for every unit that can be on
    if (first.centre.maxCoeff() - move > 0) return std::nullopt;
    return Activations{.lower = Vector::Zero(first.centre.size()),
                       .upper = Vector::Zero(first.centre.size())};
  }
  return Activations{.lower = (first.centre.array() - move).cwiseMax(0),
                     .upper = (first.centre.array() + move).cwiseMax(0)};
}

IntervalRobustness::Bound IntervalRobustness::bound(const FirstLayer& first, double delta) const {
  if (network_.is_linear()) {
    const double logit = first.centre[0];
    if (first.reach < 0) return {.value = -infinity};
    return {.value = logit - delta * first.reach, .scale = std::abs(logit) + delta * first.reach};
  }
  const std::optional<Activations> box = activations(first, delta);
  if (!box) return {.value = -infinity};
  if (network_.layers.size() == 3) return bound_two(*box, delta);
  // theory.md, Result 41: the minimum separates over the units.
  const Layer& head = network_.layers.back();
  Bound result{.value = head.bias[0] - delta, .scale = std::abs(head.bias[0]) + delta};
  for (Index j = 0; j < box->lower.size(); ++j) {
    const double term = least(head.weights(0, j) - delta, box->lower[j], box->upper[j]);
    result.value += term;
    result.scale += std::abs(term);
  }
  return result;
}

IntervalRobustness::Bound IntervalRobustness::bound_two(const Activations& box,
                                                        double delta) const {
  const Layer& middle = network_.layers[1];
  const Layer& head = network_.layers[2];
  Bound result{.value = head.bias[0] - delta, .scale = std::abs(head.bias[0]) + delta};
  for (Index k = 0; k < middle.bias.size(); ++k) {
    const double factor = head.weights(0, k) - delta;
    // The unit is at its least where its factor is positive, otherwise at its most.
    const double side = factor >= 0 ? 1 : -1;
    double least_unit = side * middle.bias[k] - delta;
    double scale = std::abs(middle.bias[k]) + delta;
    for (Index j = 0; j < box.lower.size(); ++j) {
      const double term = least(side * middle.weights(k, j) - delta, box.lower[j], box.upper[j]);
      least_unit += term;
      scale += std::abs(term);
    }
    result.value += factor * std::max(0.0, side * least_unit);
    result.scale += std::abs(factor) * scale;
  }
  return result;
}

double IntervalRobustness::interval_bound(VectorArg x, double delta) const {
  return bound(first_layer(x), delta).value;
}

double IntervalRobustness::value_at(VectorArg a, double delta) const {
  const Layer& middle = network_.layers[1];
  const Layer& head = network_.layers[2];
  const Vector centre = middle.weights * a + middle.bias;
  const double move = delta * (1 + a.sum());
  double value = head.bias[0] - delta;
  for (Index k = 0; k < centre.size(); ++k) {
    const double factor = head.weights(0, k) - delta;
    value += factor * std::max(0.0, factor >= 0 ? centre[k] - move : centre[k] + move);
  }
  return value;
}

IntervalRobustness::Minimum IntervalRobustness::descend(const Activations& box,
                                                        double delta) const {
  const Layer& middle = network_.layers[1];
  const Layer& head = network_.layers[2];
  const Vector factors = head.weights.row(0).transpose().array() - delta;
  const Vector sides = (factors.array() >= 0).select(Vector::Constant(factors.size(), -1.0), 1.0);
  // The second layer's weights where they are worst, whatever the activations.
  const Matrix weights = middle.weights.colwise() + delta * sides;
  Minimum best{.logit = infinity};
  const auto logit_of = [&](const Vector& z) {
    return factors.dot(z.cwiseMax(0.0)) + head.bias[0] - delta;
  };
  Vector z_best;
  for (const double position : {0.0, 1.0, 0.5}) {
    const Vector a = box.at(Vector::Constant(box.lower.size(), position));
    const Vector z = weights * a + middle.bias + delta * sides;
    const double logit = logit_of(z);
    if (logit < best.logit) {
      best = {.logit = logit, .activations = a};
      z_best = z;
    }
  }
  for (bool improved = true; improved;) {
    improved = false;
    for (Index j = 0; j < box.lower.size(); ++j) {
      for (const double end : {box.lower[j], box.upper[j]}) {
        const double move = end - best.activations[j];
        if (move == 0) continue;
        const Vector z = z_best + move * weights.col(j);
        const double logit = logit_of(z);
        if (logit >= best.logit - 1e-12 * (1 + std::abs(best.logit))) continue;
        best.logit = logit;
        best.activations[j] = end;
        z_best = z;
        improved = true;
      }
    }
  }
  best.logit = value_at(best.activations, delta);
  return best;
}

IntervalRobustness::Minimum IntervalRobustness::minimize(const Activations& box, double delta,
                                                         double cutoff) const {
  // theory.md, Result 41: the first layer is a box and needs no binaries, nor do units of the
  // second whose factor is not negative.
  const Layer& middle = network_.layers[1];
  const Layer& head = network_.layers[2];
  MixedInteger problem;
  MixedInteger::Row logit{.upper = cutoff - (head.bias[0] - delta)};
  for (Index j = 0; j < box.lower.size(); ++j)
    problem.add_variable({.lower = box.lower[j], .upper = box.upper[j]});
  for (Index k = 0; k < middle.bias.size(); ++k) {
    const double factor = head.weights(0, k) - delta;
    const double shift = factor >= 0 ? -delta : delta;
    // unit: t ≥ 0, z(a) = Σ (W+shift)·a + b + shift
    MixedInteger::Row row;
    double least_z = middle.bias[k] + shift;
    double most_z = least_z;
    for (Index j = 0; j < box.lower.size(); ++j) {
      const double weight = middle.weights(k, j) + shift;
      row.terms.push_back({j, -weight});
      least_z += least(weight, box.lower[j], box.upper[j]);
      most_z -= least(-weight, box.lower[j], box.upper[j]);
    }
    if (most_z <= 0) continue;  // off
    const Index unit = problem.add_variable({.upper = most_z, .cost = factor});
    row.terms.push_back({unit, 1});
    logit.terms.push_back({unit, factor});
    const double constant = middle.bias[k] + shift;
    if (factor >= 0) {
      row.lower = constant;
    } else if (least_z >= 0) {
      row.upper = constant;
    } else {
      const Index on = problem.add_binary();
      problem.add_row({.terms = {{unit, 1}, {on, -most_z}}, .upper = 0});
      row.terms.push_back({on, -least_z});
      row.upper = constant - least_z;
    }
    problem.add_row(std::move(row));
  }
  // Mostly there is nothing below the cutoff, and the first relaxation knows.
  if (cutoff < infinity) problem.add_row(std::move(logit));
  const MixedIntegerSolution solution = solve(problem, solver_seconds);
  if (solution.status == MixedIntegerStatus::infeasible) return {.logit = infinity};
  if (solution.status != MixedIntegerStatus::optimal) return {.logit = -infinity};
  Minimum result{
      .activations =
          solution.values.head(box.lower.size()).cwiseMax(box.lower).cwiseMin(box.upper)};
  result.logit = value_at(result.activations, delta);
  return result;
}

IntervalRobustness::Decision IntervalRobustness::decide(const Activations& box,
                                                        double delta) const {
  const Bound certified = bound_two(box, delta);
  if (certified.is_positive()) return {.is_robust = true};
  Minimum found = descend(box, delta);
  if (found.logit <= 0) return {.refuting = found.activations};
  const double cutoff = solver_error * (1 + certified.scale);
  found = minimize(box, delta, cutoff);
  if (found.logit > cutoff) return {.is_robust = true};
  if (found.logit > 0 || found.activations.size() == 0) return {};
  return {.refuting = found.activations};
}

bool IntervalRobustness::is_robust(const FirstLayer& first, double delta) const {
  if (network_.layers.size() < 3) return bound(first, delta).is_positive();
  const std::optional<Activations> box = activations(first, delta);
  return box && decide(*box, delta).is_robust;
}

bool IntervalRobustness::is_robust(VectorArg x, double delta) const {
  if (!(network_.logit(x) > 0)) return false;  // of the box itself
  return is_robust(first_layer(x), delta);
}

double IntervalRobustness::largest_delta(VectorArg x) const {
  const double logit = network_.logit(x);
  if (!(logit > 0)) return 0;
  const FirstLayer first = first_layer(x);
  if (network_.is_linear() && first.reach <= 0) return first.reach < 0 ? 0 : infinity;
  // Where only the last layer moves (theory.md, Result 42).
  const double inputs = network_.is_linear() ? first.reach : 1 + network_.features(x).sum();
  const double upper = logit / inputs;
  const double lower =
      last_with(0, upper, [&](double delta) { return bound(first, delta).is_positive(); });
  return network_.layers.size() < 3 ? lower : largest_deep(first, lower, upper);
}

double IntervalRobustness::largest_deep(const FirstLayer& first, double lower, double upper) const {
  // Every pattern of activations gives a δ from which on it refutes; the least of them is an upper
  // bound. CBC either finds a worse pattern just below it or proves that there is none.
  double share = 1e-6;
  while (share < 1) {
    check_stop();
    const double probe = upper * (1 - share);
    if (probe <= lower) break;
    const std::optional<Activations> box = activations(first, probe);
    if (!box) {  // published
      upper = last_with(lower, probe,
                        [&](double delta) { return activations(first, delta).has_value(); });
      if (upper <= lower) break;
      continue;
    }
    const Decision decision = decide(*box, probe);
    if (decision.is_robust) return probe;
    if (!decision.refuting) {  // too close to 0 for CBC
      share *= 10;
      continue;
    }
    const Vector width = box->upper - box->lower;
    const Vector position =
        (width.array() > 0).select((*decision.refuting - box->lower).cwiseQuotient(width), 0);
    upper = last_with(lower, probe, [&](double delta) {
      const std::optional<Activations> at = activations(first, delta);
      return at && value_at(at->at(position), delta) > 0;
    });
  }
  return lower;
}

Vector IntervalRobustness::largest_deltas(RowMatrixArg rows, const Execution& execution) const {
  Vector result(rows.rows());
  parallel_for("interval robustness", static_cast<std::size_t>(rows.rows()), execution,
               [&](std::size_t i) {
                 const auto row = static_cast<Index>(i);
                 result[row] = largest_delta(rows.row(row).transpose());
               });
  return result;
}

std::optional<WorstInBox> IntervalRobustness::worst(VectorArg x, double delta) const {
  require(variant_ == Variant::corrected, "the published check has no worst network");
  WorstInBox result{.network = network_};
  std::vector<Layer>& layers = result.network.layers;
  const Vector signs = (x.array() >= 0).select(Vector::Ones(x.size()), -1.0);
  Layer& head = layers.back();
  head.bias.array() -= delta;
  if (network_.is_linear()) {
    head.weights.row(0) -= delta * signs.transpose();
    result.logit = result.network.logit(x);
    return result;
  }
  const FirstLayer first = first_layer(x);
  const Activations box = *activations(first, delta);
  Vector wanted = box.upper;
  if (layers.size() == 2) {
    for (Index j = 0; j < wanted.size(); ++j)
      if (head.weights(0, j) >= delta) wanted[j] = box.lower[j];
  } else {
    const Minimum found = minimize(box, delta, infinity);
    if (found.activations.size() == 0) return std::nullopt;
    const Minimum local = descend(box, delta);
    wanted = local.logit < found.logit ? local.activations : found.activations;
    for (Index k = 0; k < layers[1].bias.size(); ++k) {
      const double shift = head.weights(0, k) >= delta ? -delta : delta;
      layers[1].weights.row(k).array() += shift;
      layers[1].bias[k] += shift;
    }
  }
  head.weights.array() -= delta;
  const double reach = delta * first.reach;
  for (Index j = 0; j < wanted.size(); ++j) {
    // How far along its box the unit has to go.
    double share = 1;
    if (wanted[j] <= box.lower[j]) {
      share = -1;
    } else if (wanted[j] < box.upper[j]) {
      share = (wanted[j] - first.centre[j]) / reach;
    }
    share = reach > 0 ? std::clamp(share, -1.0, 1.0) : 0;
    layers[0].weights.row(j) += share * delta * signs.transpose();
    layers[0].bias[j] += share * delta;
  }
  result.logit = result.network.logit(x);
  return result;
}

}  // namespace ellice
