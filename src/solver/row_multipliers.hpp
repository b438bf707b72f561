#pragma once

#include <cstdint>
#include <vector>

#include "ellice/core/types.hpp"

namespace ellice {

/// A row h of a quadratic step at whose border another row has a kink: where h < 0, `owner` loses
/// weight·(−h).
struct KinkRow {
  Index owner = 0;
  double weight = 0;
};

/// The multipliers of a quadratic step with kinks (theory.md, Result 75): min ½yᵀSy + cᵀy, 0 ≤ y
/// for rows and 0 ≤ y ≤ weight·(the owner's) for kinks. Rows and kinks change sides until none
/// wants to. Keeps its storage.
class RowMultipliers {
 public:
  /// The next solve begins with no row that counts, else where the last one ended.
  void forget() { sides_.clear(); }
  /// S = GᵀB⁻¹G and c for rows, then kinks, of which there may be more than last time;
  /// `multipliers` in the same order. What does not settle, such as rows that contradict each
  /// other, stays within its limits.
  void solve(const Matrix& products, const Vector& constants, const std::vector<KinkRow>& kinks,
             Vector& multipliers);

 private:
  /// Of a row: does not count, counts. Of a kink: on this side of it, on it, beyond it.
  enum class Side : std::uint8_t { off, on, beyond };
  [[nodiscard]] Side& side(Index k) { return sides_[static_cast<std::size_t>(k)]; }
  void solve_for_sides(const Matrix& products, const Vector& constants,
                       const std::vector<KinkRow>& kinks, Vector& multipliers);
  [[nodiscard]] bool change_sides(const std::vector<KinkRow>& kinks, const Vector& multipliers);
  /// One multiplier after the other, and rows with their kinks: slower, but never goes round.
  void descend(const Matrix& products, const Vector& constants, const std::vector<KinkRow>& kinks,
               Vector& multipliers);

  std::vector<Side> sides_;
  std::vector<Index> on_;
  Matrix system_;  // of what is on
  Matrix combined_;
  Vector right_;
  Vector slack_;  // c + Sy
  Vector along_;  // S times a change of y
};

}  // namespace ellice
