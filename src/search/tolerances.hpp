#pragma once

// Numbers that several searches must agree on.

#include <array>

#include "ellice/core/types.hpp"

namespace ellice {

/// Exact answers are lifted above the threshold by this much, relative to the terms of g: a little
/// more than a certificate asks for. If writing and reading an answer loses it, more.
inline constexpr std::array<double, 3> exact_margins = {1.1e-12, 1e-11, 1e-10};

/// An answer is called optimal if its cost exceeds the lower bound by at most this share.
inline constexpr double optimal_gap = 1e-9;

/// What a local search keeps from the threshold.
inline constexpr double search_margin = 1e-9;

/// What differs from a grid value by less than this share of the step is meant to be there.
inline constexpr double grid_tolerance = 1e-6;

/// Training rows that every query looks at; all of them only where nothing else is found.
inline constexpr Index some_rows = 4000;

}  // namespace ellice
