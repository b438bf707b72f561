#pragma once

#include <vector>

#include "core/random.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// A network with random weights of a size that keeps its activations around 1. With groups, a
/// neural additive model, `hidden` the units of each group.
Network random_network(Index inputs, const std::vector<Index>& hidden, Activation activation,
                       Random random, const std::vector<InputGroup>& groups = {});

}  // namespace ellice
