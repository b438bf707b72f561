#pragma once

// What a counterfactual may be, read from the schema, the request and the person's own row: the
// audit's own reading of docs/reference/formats.md, which no search for rows takes part in.

#include <optional>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/constraints.hpp"

namespace ellice::audit {

/// A box of model space; its sides may be infinite.
struct Box {
  Vector lower = {};
  Vector upper = {};
};

/// lower ≤ normalᵀx ≤ upper in model space: a rule of the schema.
struct RuleRow {
  Vector normal = {};
  double lower = 0;
  double upper = 0;
};

/// The points of a box that keep all rules.
struct Region {
  Box box = {};
  std::vector<RuleRow> rules = {};
};

/// The values that one feature may take, in original units; a level is its index.
struct FeatureValues {
  double own = 0;          // the person's
  bool keeps_own = true;   // false where a case supposes a change
  bool may_change = true;  // false: immutable, locked, or a case supposes that it stays
  double lower = 0;        // of all other values, ±∞ where nothing binds
  double upper = 0;
  std::optional<double> step = {};  // other values are origin + k·step
  double origin = 0;
  std::optional<std::vector<double>> listed = {};  // or these, increasing
  const Bins* bins = nullptr;  // of a binned feature: no code is admitted but an own one

  [[nodiscard]] bool admits(double value) const;
  [[nodiscard]] bool is_discrete() const { return step || listed; }
  /// Of discrete values other than the own, the nearest strictly above (+1) or below (−1); of a
  /// binned feature the nearest ones of each bin stand for all.
  [[nodiscard]] std::optional<double> next(double value, int side) const;
  /// The same without that: of all numbers.
  [[nodiscard]] std::optional<double> next_number(double value, int side) const;
  /// Of a binned feature: of every other interval, and of the own where the own number is not
  /// kept, the admitted number that is nearest to the own.
  [[nodiscard]] std::vector<double> nearest_by_bin() const;
  /// Whether a discrete value other than the own is left.
  [[nodiscard]] bool has_others() const { return next(own, 1) || next(own, -1); }
  [[nodiscard]] bool is_empty() const;
  /// Whether a value is origin + k·step, up to rounding.
  [[nodiscard]] bool is_on_grid(double value) const;
  /// origin + k·step as people write it, where both are decimals: 0.014 and not
  /// 0.013999999999999999.
  [[nodiscard]] double grid_number(long double k) const;
};

/// One way to keep all implications: of each, the condition is false or the consequence true.
struct Case {
  std::vector<std::string> supposes = {};  // in words, one for each implication
  std::vector<FeatureValues> values = {};
};

/// The constraints of one query. Encoder and constraints must outlive it.
class RowConstraints {
 public:
  /// `display_steps` (may be empty) are grids of numbers for which the schema has none.
  RowConstraints(const Encoder& encoder, const Constraints& constraints, std::size_t query_index,
                 const RawRow& query, const std::vector<std::optional<double>>& display_steps = {});

  /// Every constraint in words, as infeasible.blocking names them: of an immutable feature its
  /// range and direction as well, which bind as soon as it may change.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Those of these names alone; whole numbers, levels and grids stay.
  [[nodiscard]] RowConstraints only(std::vector<std::string> names) const;

  [[nodiscard]] const Vector& query() const { return query_; }    // model space
  [[nodiscard]] const Vector& query_raw() const { return raw_; }  // original units
  [[nodiscard]] const std::vector<FeatureValues>& values() const { return values_; }

  /// Which constraints a row breaks, in words; empty for one that is allowed.
  [[nodiscard]] std::vector<std::string> broken_by(const RawRow& row) const;
  [[nodiscard]] std::vector<std::string> broken_by(VectorArg raw) const;
  /// Which ranges, allowed values and rules the query itself does not keep. Files of version 0.1.0
  /// do not name disallowed values of features that may not change.
  [[nodiscard]] std::vector<std::string> broken_by_query(bool as_of_0_1_0 = false) const;

  /// Whether all that may change are numbers without a grid.
  [[nodiscard]] bool is_continuous() const;

  /// Together all that is allowed; those that nothing fits are left out.
  [[nodiscard]] std::vector<Case> cases() const;
  /// A box around the values, grids and lists of levels left out, 0/1 columns between 0 and 1.
  [[nodiscard]] Box around(const std::vector<FeatureValues>& values) const;
  /// The linear rules, in the order of the schema.
  [[nodiscard]] const std::vector<RuleRow>& rules() const { return rules_; }
  /// Whether a rule or an implication takes part.
  [[nodiscard]] bool has_rule(const std::string& text) const { return binds("rule " + text); }
  /// The column of a number or an ordinal level whose own value lies apart from the others, where
  /// the point has neither: between the two nothing is allowed.
  [[nodiscard]] std::optional<Index> gap_at(const std::vector<FeatureValues>& values,
                                            VectorArg point) const;
  /// Boxes around the values, apart where a person's own value lies outside a range.
  [[nodiscard]] std::vector<Box> pieces(const std::vector<FeatureValues>& values) const;
  /// What is allowed with all that is discrete as it is in a row: pieces of the cases that let it
  /// be so, with the rules.
  [[nodiscard]] std::vector<Region> regions_holding(const RawRow& row) const;
  /// The values with the feature of a column at its own value, or at another.
  [[nodiscard]] std::vector<FeatureValues> split(std::vector<FeatureValues> values, Index column,
                                                 bool stays) const;

 private:
  /// What binds a feature, in words; empty where nothing does.
  struct Named {
    std::string immutable = {};
    std::string locked = {};
    std::string code = {};
    std::string minimum = {};
    std::string maximum = {};
    std::string training = {};
    std::string direction = {};
    std::string pace = {};
    std::string allowed = {};
  };
  /// Without words a text says no more than that there is one.
  [[nodiscard]] Named named_of(std::size_t feature, bool in_words = true) const;
  /// Enlarged to hold the person's own number, unless that is a code.
  [[nodiscard]] std::pair<double, double> training_range(std::size_t feature) const;
  void read(const std::vector<std::optional<double>>& display_steps);
  [[nodiscard]] bool binds(const std::string& name) const;
  [[nodiscard]] FeatureValues values_of(std::size_t feature, std::size_t query_index,
                                        std::optional<double> display_step) const;
  [[nodiscard]] double coordinate(std::size_t feature, double raw) const;
  [[nodiscard]] std::string fault(std::size_t feature, double value) const;
  [[nodiscard]] Vector numbers_of(const RawRow& row) const;
  [[nodiscard]] bool does(const Move& move, VectorArg raw, bool is_condition) const;
  void suppose(const Move& move, bool is_true, std::vector<FeatureValues>& values) const;

  const Encoder* encoder_;
  const Constraints* constraints_;
  std::size_t query_index_;
  Vector raw_;
  Vector query_;
  std::optional<std::vector<std::string>> kept_ = {};  // names; nothing: all
  std::vector<FeatureValues> values_;
  std::vector<RuleRow> rules_;
};

/// What «rises», «becomes LEVEL» and so on say, and what their opposite says, as proofs word it.
[[nodiscard]] std::string words(const Move& move);
[[nodiscard]] std::string opposite_words(const Move& move);

}  // namespace ellice::audit
