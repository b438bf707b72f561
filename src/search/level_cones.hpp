#pragma once

#include <vector>

#include "ellice/data/encoder.hpp"
#include "solver/box_projection.hpp"

namespace ellice {

/// Cones that agree with others wherever every category has one level, and are smaller between
/// levels: mixtures of levels gain less by them (theory.md, Result 69). The same cones where there
/// are no categories, or where rounding would tell them apart.
[[nodiscard]] std::vector<BoxFactor> level_cones(const std::vector<BoxFactor>& cones,
                                                 const Encoder& encoder);

}  // namespace ellice
