#pragma once

// Numbers that several solvers and searches must agree on.

namespace ellice {

/// A certificate asks a row to clear the threshold by this share of the terms of g
/// (`Certifier`, which has it in extended precision).
inline constexpr double certificate_margin = 1e-12;

/// A solver whose bound is farther than this share from its cost calls its solution inexact.
inline constexpr double gap_alarm = 1e-6;

/// Stands for an infinite bound where a finite one is needed, in units of the model.
inline constexpr double far_away = 1e7;

/// How often a point that misses its margin by rounding is raised.
inline constexpr int most_raises = 4;

}  // namespace ellice
