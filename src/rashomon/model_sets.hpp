#pragma once

// The sets of models behind make_set(), one file each.

#include <memory>
#include <optional>
#include <vector>

#include "ellice/model/model.hpp"
#include "ellice/rashomon/uncertainty_set.hpp"

namespace ellice {

/// theory.md, Result 12, with H = damped_hessian(model, damping).
[[nodiscard]] std::unique_ptr<UncertaintySet> make_last_layer_set(const Model& model,
                                                                  std::optional<double> damping);

/// theory.md, Result 13, with the pairs that `curvature` holds; its own damping is not looked at.
/// The isotropic set is that of no pairs and λ = 1.
[[nodiscard]] std::unique_ptr<UncertaintySet> make_full_set(const Network& network,
                                                            const GaussNewton& curvature,
                                                            double damping);

/// The last-layer sets of the model and of the members, as functions of the model's own space.
[[nodiscard]] std::unique_ptr<UncertaintySet> make_ensemble_set(
    const Model& model, const std::vector<const Model*>& members, std::optional<double> damping);

/// The last-layer sets of the pairs of a contest (see pair_models).
[[nodiscard]] std::unique_ptr<UncertaintySet> make_contest_set(const Model& model,
                                                               const Contest& contest,
                                                               std::optional<double> damping);

}  // namespace ellice
