#pragma once

#include "ellice/model/model.hpp"

namespace ellice {

/// Linear models refitted on rows drawn again, each with its linear twin, whose distribution is
/// known: only the difference of both is simulated (theory.md, Result 33).
struct WarmRefits {
  Matrix heads = {};  // one column per draw
  Matrix twins = {};  // θ̂ − H⁻¹·(gradient of the drawn rows' objective at θ̂)
};

/// `count` draws, the same for every run. Three damped Newton steps from the model's own parameters
/// leave nothing that counts.
[[nodiscard]] WarmRefits warm_refits(const Model& model, const StoredRows& rows, int count);

}  // namespace ellice
