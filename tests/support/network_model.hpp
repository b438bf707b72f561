#pragma once

#include <string>
#include <vector>

#include "ellice/model/model.hpp"
#include "model/network_pass.hpp"
#include "support/numeric_dataset.hpp"
#include "support/random_network.hpp"

namespace ellice {

/// G = (1/n) Σ p(1−p)·JJᵀ, the Gauss–Newton matrix of all parameters, row by row.
Matrix dense_gauss_newton(const Network& network, const RowMatrix& rows);

/// A model with an untrained network of random weights, and the curvature of random rows; whatever
/// is proved of sets of models does not depend on how good their centre is.
Model network_model(const std::vector<Index>& hidden, Activation activation, std::uint64_t seed,
                    Index inputs = 4, double share = 0.1,
                    const std::vector<InputGroup>& groups = {});

}  // namespace ellice
