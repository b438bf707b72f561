#pragma once

// What one half-space that holds all robust rows says of a part of all rows (theory.md, Result 11
// and Result 16).

#include <vector>

#include "audit/audit_units.hpp"

namespace ellice::audit {

/// Every row with v·x̃ ≥ 0 costs at least min cost − v·x̃ over the rows of a part, a sum over the
/// features; where no cost is asked for, none of the part has v·x̃ ≥ 0 if the largest is below 0.
class UnitBound {
 public:
  /// The units must outlive it.
  UnitBound(const Units& units, LongVector plane);

  struct Least {
    long double value = 0;  // rounded down
    long double side = 0;   // v·x̃ where that is attained, rounded
    /// What the last of the changes that are taken brings more than staying, and the first that is
    /// not, where only so many are allowed: ≥ 0.
    double taken = 0;
    double left_out = 0;
  };
  [[nodiscard]] Least over(const Part& part) const;
  /// Whether no row of the part undercuts what is claimed.
  [[nodiscard]] bool closes(const Part& part) const;
  [[nodiscard]] const LongVector& plane() const { return plane_; }
  /// Of a unit's choice, the largest v·move less the least.
  [[nodiscard]] long double width(std::size_t unit, const Choice& choice) const;

 private:
  struct Term {
    long double value = 0;  // cost − gain
    long double gain = 0;   // v·move
  };
  [[nodiscard]] Term at(std::size_t unit, int value) const;
  [[nodiscard]] Term of_range(const Unit& unit) const;
  /// The least over values that change something, or that do not.
  [[nodiscard]] Term least_change(std::size_t unit, const Choice& choice) const;
  [[nodiscard]] int least_index(std::size_t unit, bool is_above) const;

  const Units* units_;
  LongVector plane_;
  bool counts_cost_;
  long double own_ = 0;   // v·x̃0
  long double lost_ = 0;  // by rounding
  struct Side {
    int below = -1;  // of an order, where the term is least on either side; −1: not yet sought
    int above = -1;
  };
  mutable std::vector<Side> least_;
};

/// m·(θ − t), so that θᵀx̃ ≥ t is v·x̃ ≥ 0.
[[nodiscard]] LongVector plane_of(const LongVector& theta, double threshold, long double price);

/// The bound of a model at the price at which it is about as large as it gets for a part, or large
/// enough; `price` is a guess, and becomes that price.
[[nodiscard]] UnitBound best_bound(const Units& units, const Part& part, const LongVector& theta,
                                   long double& price);

}  // namespace ellice::audit
