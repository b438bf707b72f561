#pragma once

#include <cstdint>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/parallel.hpp"
#include "ellice/core/random.hpp"
#include "ellice/model/network.hpp"
#include "ellice/model/network_objective.hpp"

namespace ellice {

/// How a network with hidden layers is fitted: Adam on the objective, with early stopping.
struct NetworkOptions {
  std::vector<int> hidden = {16};
  Activation activation = Activation::relu;
  double learning_rate = 1e-3;
  int epochs = 600;
  int patience = 10;
  bool keep_best = true;
  int batch_size = 0;

  static void fields(auto& self, auto&& visit) {
    visit("hidden", self.hidden, at_least(1),
          "units of the hidden layers, e.g. 16 or 32,32, of a nam those of each feature; a softmax "
          "model has none unless given");
    visit("activation", self.activation, any_value(), "of the hidden layers");
    visit("learning_rate", self.learning_rate, greater_than(0), "Adam's step length");
    visit("epochs", self.epochs, at_least(1), "passes over the rows at most");
    visit("patience", self.patience, at_least(0),
          "epochs without a better validation objective after which to stop; 0 for none");
    visit("keep_best", self.keep_best, any_value(),
          "end with the best state on the validation rows also where patience did not run out, "
          "rather than with the last one");
    visit("batch_size", self.batch_size, at_least(0), "rows per step; 0 for all of them");
  }
  bool operator==(const NetworkOptions&) const = default;
};

struct NetworkFit {
  Network network = {};
  int epochs = 0;
  bool stopped_early = false;
  double objective = 0;             // on the rows fitted
  double validation_objective = 0;  // of the state that is returned; 0 without validation rows
};

/// Weights and biases uniform in ±1/√(inputs of the unit), then Adam (Kingma and Ba, 2015). With
/// validation rows, the state with the smallest validation objective is returned; where `patience`
/// did not run out, only if `keep_best`, and the last state otherwise. The result depends on the
/// rows, the options and `random` only. An empty `hidden` gives a model without hidden layers,
/// fitted the same way. With `groups`, which share out all columns, it is a neural additive model,
/// `hidden` the units of each group; after every step the parameters are moved to the nearest with
/// the signs that parameter_signs() asks for.
[[nodiscard]] NetworkFit fit_network(LabelledRows rows, LabelledRows validation, LossKind kind,
                                     Penalty penalty, const NetworkOptions& options, Random random,
                                     const std::vector<InputGroup>& groups = {});

/// Network k is fit_network with seeds.split(k): many small fits side by side, the same for any
/// number of threads.
[[nodiscard]] std::vector<NetworkFit> fit_networks(LabelledRows rows, LabelledRows validation,
                                                   LossKind kind, Penalty penalty,
                                                   const NetworkOptions& options,
                                                   const Random& seeds, std::size_t count,
                                                   const Execution& execution = {});

}  // namespace ellice
