#pragma once

#include <vector>

#include "ellice/core/random.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

/// A network with random weights of a size that keeps its activations around 1.
Network random_network(Index inputs, const std::vector<Index>& hidden, Activation activation,
                       Random random);

}  // namespace ellice
