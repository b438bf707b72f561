#pragma once

// Polyhedra of model space, and half-spaces that hold all that several sets of models accept in one
// (theory.md, Result 16).

#include <optional>
#include <vector>

#include "audit/audit_cones.hpp"
#include "audit/audit_constraints.hpp"

namespace ellice::audit {

/// h(x) = Σ weight·(θ_kᵀx̃ − t) + Σ rule·(bound − normalᵀx), which is ≥ 0 where all models accept
/// and all rules are kept.
struct HalfSpace {
  LongVector weights = {};              // one for each cone, ≥ 0
  std::vector<LongVector> models = {};  // likewise
  LongVector rules = {};  // > 0 counts the slack of the side «at most», < 0 that of «at least»
  /// h as a function of x̃, and what its entries were summed from.
  struct Plane {
    LongVector entries = {};
    LongVector size = {};
  };
  [[nodiscard]] Plane plane(const Region& region, double threshold) const;
  [[nodiscard]] long double maximum(const Region& region, double threshold) const;
};

/// max planeᵀx̃ over the box; what cancellation left of a coefficient (of `size`) does not count on
/// an infinite side.
[[nodiscard]] long double maximum_over(const Box& box, const LongVector& plane,
                                       const LongVector& size, long double rounding);

/// What cancellation may leave of a sum, in extended precision.
inline constexpr long double dust = 1e-15L;

/// x = base + map·ν for the points of a region that keep its equalities, and the sides that are
/// left: rows·ν ≤ bounds. Infinite sides are cut far away.
class Chart {
 public:
  explicit Chart(const Region& region);

  /// False where the equalities contradict what is fixed: then there is no chart.
  [[nodiscard]] bool exists() const { return exists_; }
  [[nodiscard]] Index size() const { return map_.cols(); }
  [[nodiscard]] const Vector& base() const { return base_; }
  [[nodiscard]] const Matrix& map() const { return map_; }
  [[nodiscard]] const Matrix& rows() const { return rows_; }
  [[nodiscard]] const Vector& bounds() const { return bounds_; }
  /// x at ν, not outside the box by rounding.
  [[nodiscard]] Vector point(const Vector& nu) const;

  /// A ν strictly inside all sides, or nothing; `is_empty` if it is proved that there is no point.
  struct Inside {
    std::optional<Vector> nu = {};
    bool is_empty = false;
  };
  [[nodiscard]] Inside inside() const;

  /// The half-space of multipliers: of models, and of the sides. Where sides and models leave some
  /// of `slope`, equalities count it.
  [[nodiscard]] HalfSpace half_space(std::vector<LongVector> models, const Vector& weights,
                                     const Vector& sides, Vector slope) const;

 private:
  struct Side {
    Index column = -1;  // of the box, or
    Index rule = -1;    // of a rule
    int sign = 1;       // −1: a lower one
  };
  void settle_equalities(const Matrix& embed);
  void add_side(const Vector& normal, double bound, double width, Side side);

  const Region* region_;
  bool exists_ = true;
  std::vector<Index> free_;  // columns
  Vector base_;
  Matrix map_;
  Matrix rows_;
  Vector bounds_;
  Vector widths_;  // of each side, as far as it matters for a start
  std::vector<Side> sides_;
  std::vector<Index> equalities_;  // rules
};

}  // namespace ellice::audit
