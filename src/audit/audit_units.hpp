#pragma once

// What every feature may become, and what that costs: the terms of a bound by one model (theory.md,
// Result 11).

#include <optional>
#include <vector>

#include "audit/audit_cones.hpp"
#include "audit/audit_constraints.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::audit {

/// What is asked of all rows that the constraints allow.
struct RowQuestion {
  const RowConstraints* constraints = nullptr;
  const Encoder* encoder = nullptr;
  Cost cost = {};
  std::optional<std::int64_t> most_changes = {};
  /// Features of which at least one keeps its value, for each set.
  std::vector<std::vector<std::size_t>> not_all = {};
  double threshold = 0;
  double claimed = 0;  // that no row undercuts; squared where the cost is a root
};

/// One feature: listed values, and a range of numbers.
struct Unit {
  std::size_t feature = 0;
  Index first = 0;  // column
  Index count = 0;
  struct Value {
    double raw = 0;
    Vector move = {};  // of its columns
    double cost = 0;
  };
  std::vector<Value> values = {};  // affordable: the own one, those above it, those below it
  bool is_ordered = false;         // a number or a level of an order
  std::size_t above = 0;           // where those above the own begin, and those below
  std::size_t below = 0;
  bool has_range = false;  // besides
  double lower = 0;        // of the move of its one column
  double upper = 0;
  double square = 0;  // cost of a move of a number
  double absolute = 0;
  double charge = 0;  // of any change

  [[nodiscard]] bool has_own() const { return above > 0 && !values.empty(); }
};

/// A value of the unit's list, or −1 for its range; nothing where it is open.
using Decision = std::optional<int>;
using Decisions = std::vector<Decision>;

class Units {
 public:
  /// The question must outlive this.
  explicit Units(const RowQuestion& question) : asked_(&question) {}

  /// Of one case of the constraints; false where there are too many values.
  [[nodiscard]] bool make(const std::vector<FeatureValues>& all);
  /// Whether some feature has nothing left that it could be.
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] const std::vector<Unit>& all() const { return units_; }
  [[nodiscard]] const RowQuestion& question() const { return *asked_; }
  /// With all decided that leaves no choice.
  [[nodiscard]] Decisions at_first() const;

  [[nodiscard]] bool is_change(std::size_t unit, int option) const;
  [[nodiscard]] std::int64_t changes(const Decisions& decisions) const;
  /// Whether nothing that the question admits is left in a part.
  [[nodiscard]] bool is_excluded(const Decisions& decisions) const;

  /// cost − m·θᵀmove of one option.
  [[nodiscard]] long double option_term(const Unit& unit, int option, const LongVector& theta,
                                        long double m) const;
  /// Of values of an ordered unit on one side of its own, along which the term is convex, the index
  /// of the least; begin < end.
  [[nodiscard]] std::size_t least_index(const Unit& unit, std::size_t begin, std::size_t end,
                                        const LongVector& theta, long double m) const;
  /// No robust row of the part costs less, for any θ of the set and any m ≥ 0.
  [[nodiscard]] long double bound(const Decisions& decisions, const LongVector& theta,
                                  long double m) const;
  /// An m at which the bound, which is concave in it, is about as large as it gets; above 0.
  [[nodiscard]] long double best_price(const Decisions& decisions, const LongVector& theta) const;

 private:
  void add_value(Unit& unit, double raw) const;
  [[nodiscard]] bool add_values(Unit& unit, const FeatureValues& values) const;
  void add_range(Unit& unit, const FeatureValues& values) const;
  [[nodiscard]] bool is_counted(std::size_t feature) const;
  /// The least option that changes something, or that does not.
  [[nodiscard]] long double least_change(const Unit& unit, const LongVector& theta,
                                         long double m) const;

  const RowQuestion* asked_;
  std::vector<Unit> units_;
};

}  // namespace ellice::audit
