#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/recourse/constraints.hpp"

namespace ellice {

/// What one feature may become, in original units (levels as indices).
struct FeatureRange {
  double query = 0;  // always allowed
  double lower = 0;  // ±∞ where nothing binds
  double upper = 0;
  bool fixed = false;  // immutable or locked: keeps the query's value
  bool held =
      false;  // may change, but its kind (whole numbers, levels) is not searched: kept, and said
  /// Grid of numeric features: origin + k·step, or the listed values.
  std::optional<double> step = {};
  double origin = 0;
  std::vector<double> allowed = {};  // sorted

  [[nodiscard]] bool has_grid() const { return step.has_value() || !allowed.empty(); }
  [[nodiscard]] bool on_grid(double value) const;  // to 1e-9 of the step
  /// The nearest value of range and grid at or beyond `value` in the given direction (+1 or −1), or
  /// nothing.
  [[nodiscard]] std::optional<double> next_on_grid(double value, int direction) const;
};

/// A constraint by name, as people read it: «income: at most 120000», «age: immutable».
struct NamedConstraint {
  enum class Kind {
    immutable,
    locked,
    minimum,
    maximum,
    training_range,
    direction,
    step,
    allowed,
    rule
  };
  std::string text = {};
  Kind kind = Kind::immutable;
  std::size_t feature = 0;  // not for rules
};

/// What a counterfactual of one query may be: a box in model space, grids, and rules that are
/// checked. The query's own value of every feature belongs to it.
class FeasibleSet {
 public:
  /// `raw` as in Dataset::raw. `display_steps` (may be empty) adds a rounding grid per feature
  /// where the schema has none.
  FeasibleSet(const Encoder& encoder, const Constraints& constraints, std::size_t query_index,
              VectorArg raw, const std::vector<std::optional<double>>& display_steps = {});

  [[nodiscard]] const std::vector<FeatureRange>& ranges() const { return ranges_; }
  [[nodiscard]] const Vector& query() const { return query_; }    // model space
  [[nodiscard]] const Vector& query_raw() const { return raw_; }  // original units
  /// The box that is searched: held features at the query's value.
  [[nodiscard]] const Vector& lower() const { return lower_; }
  [[nodiscard]] const Vector& upper() const { return upper_; }
  /// The box with held features free inside their ranges (0 … 1 for 0/1 columns): it contains every
  /// point that the constraints allow, so that what is impossible here is impossible.
  [[nodiscard]] const Vector& relaxed_lower() const { return relaxed_lower_; }
  [[nodiscard]] const Vector& relaxed_upper() const { return relaxed_upper_; }
  [[nodiscard]] bool holds_anything() const { return !held_.empty(); }
  [[nodiscard]] bool has_grid() const { return has_grid_; }
  [[nodiscard]] const std::vector<std::string>& held() const {
    return held_;
  }  // names of held features

  /// Every constraint that binds this query.
  [[nodiscard]] std::vector<NamedConstraint> constraints() const;
  /// The same set without one of them; for finding out which ones block.
  [[nodiscard]] FeasibleSet without(const NamedConstraint& constraint) const;

  /// Which constraints a row (raw numbers) breaks, in words; empty for a row of the set.
  [[nodiscard]] std::vector<std::string> violations(VectorArg raw) const;
  /// Which the query itself breaks when its own values are given no privilege.
  [[nodiscard]] std::vector<std::string> query_violations() const;

  /// model space -> raw numbers of a counterfactual: a column that did not move gives exactly the
  /// query's value, one at its bound exactly the bound.
  [[nodiscard]] Vector decode(VectorArg z) const;
  [[nodiscard]] Vector encode(VectorArg raw) const;

 private:
  void lay_out();  // boxes from ranges

  const Encoder* encoder_;
  Vector raw_, query_;
  std::vector<FeatureRange> ranges_;
  std::vector<NamedConstraint> constraints_;
  std::vector<std::string> held_;
  bool has_grid_ = false;
  Vector lower_, upper_, relaxed_lower_, relaxed_upper_;
};

}  // namespace ellice
