#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/constraints.hpp"
#include "solver/cone_intersection.hpp"

namespace ellice {

/// A constraint by name, as people read it: «income: at most 120000», «age: immutable».
struct NamedConstraint {
  enum class Kind {
    immutable,
    locked,
    minimum,
    maximum,
    training_range,
    allowed,
    direction,
    pace,  // what is slow, within the horizon
    code,  // of a binned feature: what has no number stays without one
    rule,
    implication,
    changes,  // how many features may change: of the search, not of the set
  };
  Kind kind = Kind::immutable;
  std::size_t index = 0;  // of the feature, the rule or the implication
  std::string text = {};
};

/// A linear rule of the schema in model space.
struct ModelRule {
  LinearRule rule = {};
  std::string text = {};
};

/// What one feature may become, in original units (levels as indices).
struct FeatureRange {
  double query = 0;
  bool keeps = true;  // the query's own value is allowed, wherever the range lies
  double lower = 0;   // ±∞ where nothing binds; lower > upper: nothing but the query's own value
  double upper = 0;
  bool fixed = false;  // immutable or locked: keeps the query's value
  bool held = false;   // may change, but its kind (whole numbers, levels) is not searched
  /// Grid of numeric features: origin + k·step, or listed values, sorted.
  std::optional<double> step = {};
  double origin = 0;
  std::vector<double> allowed = {};

  [[nodiscard]] bool has_grid() const { return step.has_value() || !allowed.empty(); }
  /// Range and grid (to 1e-9 of the step); the query's value as `keeps` says.
  [[nodiscard]] bool contains(double value) const;
  /// The nearest value of range and grid strictly beyond `value` in a direction (+1 or −1), if any.
  [[nodiscard]] std::optional<double> beyond(double value, int direction) const;
  /// The grid value that differs from `value` by rounding only, else `value`.
  [[nodiscard]] double snapped(double value) const;
  /// The value of the grid (not necessarily of the range) that is nearest.
  [[nodiscard]] double nearest(double value) const;
  [[nodiscard]] bool is_empty() const;
  bool operator==(const FeatureRange&) const = default;

 private:
  [[nodiscard]] double grid_value(double k) const;
  [[nodiscard]] double nearest_grid_value(double value) const;
};

/// The values that a feature's list allows, in order; levels as their index.
[[nodiscard]] std::vector<double> allowed_values(const Feature& feature);

/// A box in model space.
struct Box {
  Vector lower = {};
  Vector upper = {};
  [[nodiscard]] bool contains(VectorArg z) const {
    return (z.array() >= lower.array()).all() && (z.array() <= upper.array()).all();
  }
};

/// What a counterfactual of one query may be: ranges and grids per feature, and rules. The query's
/// own value of a feature belongs to its range, unless a branch demands a change.
class FeasibleSet {
 public:
  /// `raw` as in Dataset::raw. `display_steps` (may be empty) rounds numeric features for which the
  /// schema has no grid. Encoder and constraints must outlive the set.
  FeasibleSet(const Encoder& encoder, const Constraints& constraints, std::size_t query_index,
              VectorArg raw, const std::vector<std::optional<double>>& display_steps = {});

  /// Makes it the whole set of another query, as a new one would be, in the memory that it has.
  void turn_to(std::size_t query_index, VectorArg raw);

  [[nodiscard]] const Encoder& encoder() const { return *encoder_; }
  [[nodiscard]] const std::vector<FeatureRange>& ranges() const { return ranges_; }
  [[nodiscard]] const Vector& query() const { return query_; }    // model space
  [[nodiscard]] const Vector& query_raw() const { return raw_; }  // original units
  [[nodiscard]] const std::vector<std::string>& held() const { return held_; }
  [[nodiscard]] bool has_grid() const { return has_grid_; }

  /// The boxes that are searched, held features at the query's value. One box, unless the query
  /// lies outside a range: its own value is then a second piece.
  [[nodiscard]] const std::vector<Box>& boxes() const { return boxes_; }
  /// Whether the boxes together are the set without its grids and rules (held features at the
  /// query's value); not so where the query lies outside too many ranges.
  [[nodiscard]] bool boxes_cover() const { return boxes_cover_; }
  /// One box that contains every point that the constraints allow, held features free: what is
  /// impossible here is impossible.
  [[nodiscard]] const Box& relaxed() const { return relaxed_; }

  /// The linear rules, in the order of the schema.
  [[nodiscard]] const std::vector<ModelRule>& rules() const { return rules_; }
  /// The set in parts, in each of which every implication is settled by the ranges: its condition
  /// is false or its consequence true (theory.md, Result 17). Together they are the set, and parts
  /// that hold no row are left out. Without implications the set itself.
  [[nodiscard]] std::vector<FeasibleSet> branches() const;
  /// What a branch supposes, in words: «age does not rise»; empty for a whole set.
  [[nodiscard]] const std::vector<std::string>& supposes() const { return supposes_; }

  /// Every constraint that has not been lifted, in layers: of an immutable feature its range and
  /// direction as well, which bind as soon as it may change.
  [[nodiscard]] std::vector<NamedConstraint> constraints() const;
  /// Leaves one of them out, and nothing else: what it covered stands.
  void lift(const NamedConstraint& constraint);
  void lift(const std::vector<NamedConstraint>& constraints);
  [[nodiscard]] FeasibleSet without(const NamedConstraint& constraint) const;
  /// The range of a constraint's feature without that constraint.
  [[nodiscard]] FeatureRange range_without(const NamedConstraint& constraint) const;
  /// The same set, in whose boxes held features have the values of a row (raw numbers) in place of
  /// the query's; values that their ranges do not contain are the query's. For searches that choose
  /// whole numbers and levels themselves.
  [[nodiscard]] FeasibleSet holding(VectorArg raw) const;

  /// The same set with the schema's grids alone.
  [[nodiscard]] FeasibleSet without_display_steps() const;
  /// The same set, or branch, with the display steps of another.
  [[nodiscard]] FeasibleSet with_display_steps_of(const FeasibleSet& other) const;
  [[nodiscard]] bool has_display_steps() const { return !display_steps_.empty(); }
  /// Whether a feature has no value left.
  [[nodiscard]] bool is_empty() const;

  /// Which constraints a row (raw numbers) breaks, in words; empty for a row of the set.
  [[nodiscard]] std::vector<std::string> violations(VectorArg raw) const;
  /// Which ranges, allowed values and rules the query itself breaks.
  [[nodiscard]] std::vector<std::string> query_violations() const;

  /// model space -> raw numbers of a counterfactual: a feature that did not move keeps exactly the
  /// query's value, one at a bound has exactly the bound.
  [[nodiscard]] Vector decode(VectorArg z) const;

 private:
  void take(VectorArg raw);
  void build();
  /// What the feature's constraints leave of its values; `besides` is lifted, too.
  [[nodiscard]] FeatureRange build_range(std::size_t feature,
                                         const NamedConstraint* besides = nullptr) const;
  /// The same before a binned feature is told by its bins: all its numbers, codes among them.
  [[nodiscard]] FeatureRange number_range(std::size_t feature,
                                          const NamedConstraint* besides = nullptr) const;
  void limit(std::size_t feature, const FeatureLimits& limits, const NamedConstraint* besides,
             FeatureRange& range) const;
  void put_on_grid(std::size_t feature, const NamedConstraint* besides, FeatureRange& range) const;
  /// Of a binned feature: the nearest number of each bin that the range leaves, of the own bin
  /// where a branch demands a change (theory.md, Result 60).
  void list_bins(std::size_t feature, FeatureRange& range) const;
  /// Lower and upper end of the training range, enlarged to contain the query.
  [[nodiscard]] std::pair<double, double> training_range(std::size_t feature) const;
  void build_rules();
  void build_boxes();
  void apply_decisions(std::size_t feature, FeatureRange& range) const;
  void apply(const Move& move, bool is_true, std::size_t feature, FeatureRange& range) const;
  /// Whether a row does what a move says.
  [[nodiscard]] bool does(const Move& move, VectorArg raw, bool condition) const;
  void mark_lifted(const NamedConstraint& constraint);
  [[nodiscard]] bool is_lifted(NamedConstraint::Kind kind, std::size_t index,
                               const NamedConstraint* besides = nullptr) const;
  [[nodiscard]] double to_model(std::size_t feature, double raw) const;
  [[nodiscard]] std::string value_text(std::size_t feature, double raw) const;

  const Encoder* encoder_;
  const Constraints* limits_;
  std::vector<FeatureLimits> own_limits_;  // what the run asks of each feature of this query
  std::vector<std::optional<double>> display_steps_;
  std::vector<std::vector<bool>> lifted_;  // by kind and index; empty where none is
  /// Implications that a branch has settled, and whether by their consequence.
  struct Decision {
    std::size_t implication = 0;
    bool consequence = false;
  };
  std::vector<Decision> decisions_;
  std::vector<std::string> supposes_;
  Vector raw_, query_;
  Vector base_;  // raw_, with held features where the boxes hold them
  std::vector<FeatureRange> ranges_;
  std::vector<std::string> held_;
  std::vector<ModelRule> rules_;
  bool has_grid_ = false;
  std::vector<Box> boxes_;
  bool boxes_cover_ = true;
  Box relaxed_;
};

}  // namespace ellice
