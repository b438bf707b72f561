#pragma once

#include <memory>

#include "sets/uncertainty_set.hpp"

namespace ellice {

/// theory.md, Result 25, with the pairs that `curvature` holds; its own damping is not looked at.
/// The isotropic set is that of no pairs and λ = 1.
[[nodiscard]] std::unique_ptr<UncertaintySet> make_full_set(const Network& network,
                                                            const GaussNewton& curvature,
                                                            double damping);

}  // namespace ellice
