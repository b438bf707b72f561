#include "ellice/model/network_training.hpp"

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

Network initial_network(const LabelledRows& rows, LossKind loss, const NetworkOptions& options,
                        Random& random) {
  const bool is_softmax = loss == LossKind::softmax;
  Network network{.kind = is_softmax               ? NetworkKind::softmax
                          : options.hidden.empty() ? NetworkKind::logistic
                                                   : NetworkKind::mlp};
  Index inputs = rows.features->cols();
  const auto add_layer = [&](Index outputs, Activation activation) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    const auto draw = [&] { return bound * (2 * random.uniform() - 1); };
    Layer layer{
        .weights = Matrix(outputs, inputs), .bias = Vector(outputs), .activation = activation};
    for (Index i = 0; i < outputs; ++i) {
      for (Index j = 0; j < inputs; ++j) layer.weights(i, j) = draw();
    }
    for (double& entry : layer.bias) entry = draw();
    network.layers.push_back(std::move(layer));
    inputs = outputs;
  };
  for (const int units : options.hidden) add_layer(units, options.activation);
  add_layer(is_softmax ? rows.classes : 1, Activation::identity);
  return network;
}

/// One network on its way: an epoch allocates nothing.
class Fitting {
 public:
  Fitting(LabelledRows rows, LossKind kind, Penalty penalty, const NetworkOptions& options,
          Random random)
      : objective_(rows, kind, penalty),
        random_(random),
        network_(initial_network(rows, kind, options, random_)),
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
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const Vector& parameters() const { return parameters_; }
  void restore(const Vector& parameters) { set_parameters(network_, parameters); }

 private:
  void step() {
    adam_.step(gradient_, learning_rate_, parameters_);
    set_parameters(network_, parameters_);
  }

  NetworkObjective objective_;
  Random random_;
  Network network_;
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
                       const NetworkOptions& options, Random random) {
  validate(options, "NetworkOptions");
  require(rows.features != nullptr, "there are no rows to fit");
  Fitting fitting(rows, kind, penalty, options, random);
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
