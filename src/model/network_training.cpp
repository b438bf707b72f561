#include "model/network_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "solver/adam.hpp"

namespace ellice {

namespace {

NetworkKind kind_of(LossKind loss, const NetworkOptions& options,
                    const std::vector<InputGroup>& groups) {
  if (loss == LossKind::softmax) return NetworkKind::softmax;
  if (!groups.empty()) return NetworkKind::nam;
  return options.hidden.empty() ? NetworkKind::logistic : NetworkKind::mlp;
}

void check_groups(const LabelledRows& rows, LossKind loss, const NetworkOptions& options,
                  const std::vector<InputGroup>& groups) {
  if (groups.empty()) return;
  require(loss != LossKind::softmax, "a neural additive model has one logit, not many classes");
  require(!options.hidden.empty(), "a neural additive model needs hidden layers");
  Index columns = 0;
  for (const InputGroup& group : groups) {
    require(group.columns >= 1, "a group has {} columns, expected at least one", group.columns);
    require(group.columns == 1 || group.monotone == Monotone::any,
            "a group of {} columns has no order in which to {}", group.columns,
            enum_name(group.monotone));
    columns += group.columns;
  }
  require(columns == rows.features->cols(), "the groups have {} columns, the rows {}", columns,
          rows.features->cols());
}

/// The nearest parameters with the signs of parameter_signs(), if there are any.
void project(const Vector& signs, Vector& parameters) {
  for (Index i = 0; i < signs.size(); ++i) {
    if (signs(i) * parameters(i) < 0) parameters(i) = 0;
  }
}

Network initial_network(const LabelledRows& rows, LossKind loss, const NetworkOptions& options,
                        const std::vector<InputGroup>& groups, Random& random) {
  Network network{.kind = kind_of(loss, options, groups), .groups = groups};
  Index inputs = rows.features->cols();
  const auto add_layer = [&](Index outputs, Activation activation) {
    network.layers.push_back({.weights = Matrix::Zero(outputs, inputs),
                              .bias = Vector(outputs),
                              .activation = activation});
    inputs = outputs;
  };
  const auto shares = static_cast<Index>(std::max<std::size_t>(groups.size(), 1));
  for (const int units : options.hidden) add_layer(shares * units, options.activation);
  add_layer(loss == LossKind::softmax ? rows.classes : 1, Activation::identity);

  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    const auto draw = [&](Index read) {
      const double bound = 1 / std::sqrt(static_cast<double>(read));
      return bound * (2 * random.uniform() - 1);
    };
    network.for_each_block(l, [&](const LayerBlock& block) {
      for (Index i = 0; i < block.units; ++i) {
        for (Index j = 0; j < block.inputs; ++j)
          layer.weights(block.first_unit + i, block.first_input + j) = draw(block.inputs);
      }
    });
    network.for_each_block(l, [&](const LayerBlock& block) {
      for (Index i = 0; i < block.units; ++i) layer.bias(block.first_unit + i) = draw(block.inputs);
    });
  }
  // A weight of the wrong sign changes it: the sizes are those of all networks.
  const Vector signs = parameter_signs(network);
  if (signs.size() > 0) {
    Vector parameters = parameter_vector(network);
    for (Index i = 0; i < signs.size(); ++i) {
      if (signs(i) * parameters(i) < 0) parameters(i) = -parameters(i);
    }
    set_parameters(network, parameters);
  }
  return network;
}

/// One network on its way: an epoch allocates nothing.
class Fitting {
 public:
  Fitting(LabelledRows rows, LossKind kind, Penalty penalty, const NetworkOptions& options,
          Random random, const std::vector<InputGroup>& groups)
      : objective_(rows, kind, penalty),
        random_(random),
        network_(initial_network(rows, kind, options, groups, random_)),
        signs_(parameter_signs(network_)),
        parameters_(parameter_vector(network_)),
        gradient_(parameters_.size()),
        learning_rate_(options.learning_rate),
        adam_(parameters_.size()) {
    const auto count = static_cast<std::size_t>(rows.features->rows());
    const auto size = static_cast<std::size_t>(options.batch_size);
    if (size == 0 || size >= count) return;
    batch_size_ = size;
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), Index{0});
    batch_.reserve(size);
  }

  void epoch() {
    if (order_.empty()) {
      objective_.gradient(network_, gradient_);
      step();
      return;
    }
    random_.shuffle(order_);
    for (std::size_t first = 0; first < order_.size(); first += batch_size_) {
      const std::size_t last = std::min(first + batch_size_, order_.size());
      batch_.assign(order_.begin() + static_cast<std::ptrdiff_t>(first),
                    order_.begin() + static_cast<std::ptrdiff_t>(last));
      objective_.gradient(network_, batch_, gradient_);
      step();
    }
  }

  [[nodiscard]] double objective() { return objective_.value(network_); }
  /// Of a network that says the same to everybody.
  [[nodiscard]] double objective_of_zeros() {
    Network zeros = network_;
    set_parameters(zeros, Vector::Zero(parameters_.size()));
    return objective_.value(zeros);
  }
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const Vector& parameters() const { return parameters_; }
  void restore(const Vector& parameters) { set_parameters(network_, parameters); }

 private:
  void step() {
    adam_.step(gradient_, learning_rate_, parameters_);
    project(signs_, parameters_);
    set_parameters(network_, parameters_);
  }

  NetworkObjective objective_;
  Random random_;
  Network network_;
  Vector signs_;  // none where all parameters are free
  Vector parameters_;
  Vector gradient_;
  double learning_rate_;
  Adam adam_;
  std::size_t batch_size_ = 0;
  std::vector<Index> order_;  // empty: all rows at once
  std::vector<Index> batch_;
};

}  // namespace

NetworkFit fit_network(LabelledRows rows, LabelledRows validation, LossKind kind, Penalty penalty,
                       const NetworkOptions& options, Random random,
                       const std::vector<InputGroup>& groups) {
  validate(options, "NetworkOptions");
  require(rows.features != nullptr, "there are no rows to fit");
  check_groups(rows, kind, options, groups);
  Fitting fitting(rows, kind, penalty, options, random, groups);
  std::optional<NetworkObjective> judge;
  if (validation.features != nullptr) judge.emplace(validation, kind, penalty);

  NetworkFit fit;
  Vector best = fitting.parameters();
  double best_value = std::numeric_limits<double>::infinity();
  int best_epoch = 0;
  while (fit.epochs < options.epochs) {
    check_stop();
    fitting.epoch();
    ++fit.epochs;
    if (!judge) continue;
    if (const double value = judge->value(fitting.network()); value < best_value) {
      best_value = value;
      best_epoch = fit.epochs;
      best = fitting.parameters();
    } else if (options.patience > 0 && fit.epochs - best_epoch >= options.patience) {
      fit.stopped_early = true;
      break;
    }
  }
  if (judge && best_epoch > 0) {
    if (options.keep_best || fit.stopped_early) fitting.restore(best);
    fit.validation_objective = judge->value(fitting.network());
  }
  fit.objective = fitting.objective();
  if (!std::isfinite(fit.objective)) {
    fail(ErrorCode::input,
         "training of the network diverged: its objective is not finite after {} epochs; use a "
         "learning_rate smaller than {}",
         fit.epochs, options.learning_rate);
  }
  if (const double silent = fitting.objective_of_zeros(); fit.objective > 1e3 * silent) {
    fail(
        ErrorCode::input,
        "training of the network diverged: its objective is {:.3g} after {} epochs, and {:.3g} for "
        "one whose weights are all 0; use a learning_rate smaller than {} or more epochs",
        fit.objective, fit.epochs, silent, options.learning_rate);
  }
  fit.network = fitting.network();
  return fit;
}

std::vector<NetworkFit> fit_networks(LabelledRows rows, LabelledRows validation, LossKind kind,
                                     Penalty penalty, const NetworkOptions& options,
                                     const Random& seeds, std::size_t count,
                                     const Execution& execution) {
  std::vector<NetworkFit> fits(count);
  parallel_for("networks", count, execution, [&](std::size_t k) {
    fits[k] = fit_network(rows, validation, kind, penalty, options, seeds.split(k));
  });
  return fits;
}

}  // namespace ellice
