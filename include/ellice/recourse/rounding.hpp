#pragma once

#include <optional>

#include "ellice/rashomon/ellipsoid.hpp"
#include "ellice/recourse/problem.hpp"
#include "ellice/solver/box_projection.hpp"

namespace ellice {

/// Moves a robust point (model space) of `box` onto the grids of its feasible set, as cheaply as a
/// local search finds, and gives raw numbers that are robust with the given margin, or nothing.
/// Grid features are first rounded to the side on which the robust logit grows, then stepped back
/// towards the query while the point stays robust, in strides that fit the way that is left, so
/// that a grid may be as fine as it likes; features without a grid are solved again, exactly and
/// within the box, with the others at their grid values.
[[nodiscard]] std::optional<Vector> round_to_grid(
    const Problem& problem, const RashomonEllipsoid& set, const BoxFactor& factor,
    const SeparableCost& cost, const FeasibleSet& feasible, const Box& box, VectorArg point);

}  // namespace ellice
