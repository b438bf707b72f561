#pragma once

// How little a robust point can cost, from both sides: a point that costs so much, and half-spaces
// that hold all robust points and prove that none costs less (theory.md, Result 6 and Result 16).

#include <limits>
#include <vector>

#include "audit/audit_chart.hpp"

namespace ellice::audit {

/// Σ qᵢ(xᵢ−x0ᵢ)² + cᵢ|xᵢ−x0ᵢ| on columns.
struct ColumnCost {
  Vector query = {};      // x0
  Vector squares = {};    // q
  Vector absolutes = {};  // c; where q = 0, positive
  [[nodiscard]] long double at(const Vector& x) const;
};

/// A lower bound on the cost of the points of a box with h(x̃) ≥ 0, h linear: whatever multiple of h
/// is subtracted, what is left has its minimum column by column.
[[nodiscard]] double half_space_cost(const LongVector& plane, const Box& box,
                                     const ColumnCost& cost);

/// Whether that is at least `enough`; two or three multiples settle most such questions.
[[nodiscard]] bool does_half_space_cost(const LongVector& plane, const Box& box,
                                        const ColumnCost& cost, double enough);

struct CostBounds {
  double proved = 0;  // no robust point costs less, or `enough` if that is smaller
  double found = std::numeric_limits<double>::infinity();  // one costs this
  Vector point = {};                                       // that one
};

/// Of the points of a region that all cones accept at ε. Ends as soon as `enough` is proved, or
/// `wanted` undercut.
struct CostQuestion {
  const std::vector<Cone>* cones = nullptr;
  double epsilon = 0;
  double threshold = 0;
  double clear = 0;  // by which a point must pass before it counts as found: what rounding may hide
  const Region* region = nullptr;
  const ColumnCost* cost = nullptr;
  double enough = 0;
  double wanted = 0;
};
[[nodiscard]] CostBounds least_cost(const CostQuestion& question);

}  // namespace ellice::audit
