#pragma once

// A half-space around all robust points, prepared for searches over sets of units that change.

#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// need ≤ Σ gains over the units that change. Units are numbered in the order of the search. Per
/// unit: the largest gain of a change, and its efficiency, the largest gain²/cost.
struct SupportCut {
  double need = 0;  // less what rounding may have added
  std::vector<double> gain = {};
  std::vector<double> efficiency = {};
  std::vector<std::vector<double>> option_gains = {};
  /// The r largest of the units i, i + 1, … together, at i·(most + 1) + r.
  std::vector<double> best_gain = {};
  std::vector<double> best_efficiency = {};

  /// What the units chosen so far do, by their number: options are decided, other units may still
  /// do anything.
  struct Level {
    double need = 0;  // that the options leave
    double gain = 0;  // that other chosen units can add
    double efficiency = 0;
  };
  std::vector<Level> levels = {};

  /// The half-space misses every point that chooses `slots` more of the units from `first` on, or
  /// contains none that costs less than `enough`, `paid` being what the options cost.
  [[nodiscard]] bool rules_out(const Level& level, std::size_t first, std::size_t slots,
                               std::size_t most, double paid, double enough) const {
    if (level.need <= 0) return false;
    const std::size_t at = first * (most + 1) + slots;
    if (level.gain + best_gain[at] < level.need) return true;
    return paid + level.need * level.need / (level.efficiency + best_efficiency[at]) >= enough;
  }
};

}  // namespace ellice
