#pragma once

// What every feature may become, and what that costs, whole and in parts of all rows.

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
  /// That no row undercuts; squared where the cost is a root. Nothing: that there is no row at all.
  std::optional<double> claimed = {};
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
  /// Affordable ones; of a number or a level of an order by their moves, along which the cost is
  /// convex on either side of the own value.
  std::vector<Value> values = {};
  bool is_ordered = false;
  int own = -1;            // which of the values changes nothing; −1: none
  int below = 0;           // of an order, how many lie below the own one
  bool has_range = false;  // besides
  double lower = 0;        // of the move of its one column
  double upper = 0;
  double square = 0;  // cost of a move of a number
  double absolute = 0;
  double charge = 0;  // of any change

  [[nodiscard]] int above() const { return below + (own >= 0 ? 1 : 0); }  // where those begin
  [[nodiscard]] int last() const { return static_cast<int>(values.size()) - 1; }
  [[nodiscard]] double move(int k) const { return values[static_cast<std::size_t>(k)].move(0); }
  [[nodiscard]] double cost(int k) const { return values[static_cast<std::size_t>(k)].cost; }
};

/// What is left to a feature in a part: the values first … last of its list, and its range.
struct Choice {
  int first = 0;
  int last = -1;
  bool range = false;
  [[nodiscard]] bool is_decided() const { return range ? first > last : first == last; }
};
using Part = std::vector<Choice>;

class Units {
 public:
  /// The question must outlive this.
  explicit Units(const RowQuestion& question) : asked_(&question) {}

  /// Of one case of the constraints; false where there are too many values.
  [[nodiscard]] bool make(const std::vector<FeatureValues>& all);
  [[nodiscard]] const std::vector<Unit>& all() const { return units_; }
  [[nodiscard]] const RowQuestion& question() const { return *asked_; }
  [[nodiscard]] Part whole() const;

  [[nodiscard]] bool may_stay(const Part& part, std::size_t unit) const;
  [[nodiscard]] bool may_change(const Part& part, std::size_t unit) const;
  /// Leaves out what the question does not admit: features stay where as many change as may, or
  /// where all others of a set change. False where nothing is left.
  [[nodiscard]] bool settle(Part& part) const;
  /// How many of those that may stay may change; nothing where there is no limit.
  [[nodiscard]] std::optional<std::size_t> slots(const Part& part) const;
  /// A set of which each feature may change, and not each must.
  [[nodiscard]] const std::vector<std::size_t>* open_set(const Part& part) const;
  /// Whether it counts if the feature changes at all.
  [[nodiscard]] bool is_counted(std::size_t feature) const;
  void keep(Part& part, std::size_t unit) const;  // its own value

 private:
  [[nodiscard]] bool add_value(Unit& unit, double raw) const;  // false where it costs too much
  [[nodiscard]] bool add_values(Unit& unit, const FeatureValues& values) const;
  void add_range(Unit& unit, const FeatureValues& values) const;

  const RowQuestion* asked_;
  std::vector<Unit> units_;
};

}  // namespace ellice::audit
