#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/model/network.hpp"
#include "model/network_objective.hpp"

namespace ellice {

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
