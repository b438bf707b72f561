#pragma once

// What is left of the units at a node of the branch and bound, and the cheapest of it.

#include <cstdint>
#include <optional>
#include <vector>

#include "solver/branch_and_bound.hpp"

namespace ellice {

struct Domain {
  bool stays = true;  // may keep the query's value
  bool moves = true;  // may change:
  double lower = 0;   // a number within this range, its own value left out where it has a grid,
  double upper = 0;
  std::vector<std::uint8_t> options = {};  // a group to an option whose flag is set

  [[nodiscard]] bool is_empty() const { return !stays && !moves; }
};

/// What one unit does, and what that is worth under a cut.
struct Choice {
  bool moves = false;
  double value = 0;        // of a number
  std::size_t option = 0;  // of a group
  double cost = 0;
  double gain = 0;
};

/// The half-space need ≤ Σ gains that contains every feasible point, gains being ∇ᵀ(x − query).
struct Cut {
  double need = 0;
  Vector gradient = {};
  std::vector<std::vector<double>> option_gains = {};  // by unit and option
};

/// A unit with the query's value of its column.
class UnitView {
 public:
  UnitView(const MixedUnit& unit, double query) : unit_(&unit), query_(query) {}

  [[nodiscard]] const MixedUnit& unit() const { return *unit_; }
  [[nodiscard]] Domain whole() const;
  /// Brings bounds onto the grid and notices when nothing is left to move to.
  void tighten(Domain& domain) const;

  /// The change in the domain with the least cost − m·gain. The domain must allow one.
  [[nodiscard]] Choice cheapest_move(const Domain& domain, const Cut& cut, std::size_t index,
                                     double m) const;
  /// The largest gain of a change, and the gain of the smallest.
  [[nodiscard]] double largest_gain(const Domain& domain, const Cut& cut, std::size_t index) const;

  /// Leaves what has cost − m·gain ≤ `most` in the domain, and perhaps a little more.
  void restrict_to(Domain& domain, const Cut& cut, std::size_t index, double m, double most) const;

  /// Whether two choices differ in what a search has to decide; `charged` if changing as such does.
  [[nodiscard]] bool differ(const Choice& a, const Choice& b, bool charged) const;
  /// One value or option is left. A number without grid counts as one value on either side of the
  /// decision to move.
  [[nodiscard]] bool is_decided(const Domain& domain, bool charged) const;
  /// The domain in which the unit does just this.
  [[nodiscard]] Domain decided(const Domain& domain, const Choice& choice, bool charged) const;
  /// The query's value is no value of the range that others reach continuously.
  [[nodiscard]] bool is_apart(const Domain& domain) const {
    return query_ < domain.lower || query_ > domain.upper;
  }

  /// The nearest grid values other than the query's own: at most and at least x.
  [[nodiscard]] std::optional<double> below(double x) const;
  [[nodiscard]] std::optional<double> above(double x) const;
  /// The nearest grid values at most x, −∞ if there is none, and beyond x.
  [[nodiscard]] double until(double x) const;
  [[nodiscard]] std::optional<double> after(double x) const;
  [[nodiscard]] double cost(double x) const;

 private:
  [[nodiscard]] bool is_own(double x) const;

  const MixedUnit* unit_;
  double query_;
};

}  // namespace ellice
