#pragma once

// That no row is much cheaper, or that there is none, where something discrete may change: all rows
// are divided, and parts are closed by half-spaces that hold all robust rows (theory.md, Result 11,
// Result 12 and Result 16) or, where everything discrete is decided, by the numbers that are left.

#include <functional>
#include <optional>
#include <vector>

#include "audit/audit_bounds.hpp"
#include "audit/audit_units.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

struct EnumerationQuestion {
  RowQuestion rows = {};
  std::vector<LongVector> models = {};  // θ of the set, over x̃: no robust row has θᵀx̃ < t
  /// Points of parts are sought with these, and further models are those worst at points of a log
  /// or of one's own choice; null for sets that have none.
  const std::vector<Cone>* cones = nullptr;
  /// Of sets that are no cones these only guide. What proves in their place: models of the set, at
  /// little cost and at more, where there are any.
  struct Models {
    std::function<std::optional<LongVector>(std::size_t cone, const Vector& point)> near = {};
    std::function<std::optional<LongVector>(std::size_t cone, const Vector& point)> nearer = {};
  };
  std::optional<Models> instead = {};
  double epsilon = 0;
  const Json* log = nullptr;  // points that are said to help; may be null
  int most_points = 0;        // of one's own choice
};

/// What the numbers of a region cost at least, and one that costs less than `enough`, if any.
using NumbersBound =
    std::function<CostBounds(const Region& region, const ColumnCost& cost, double enough)>;

enum class Enumerated {
  proved,   // no row costs less than claimed
  refuted,  // one does
  open,     // too many parts
};
/// `record` (may be null) becomes a log of the points that helped.
[[nodiscard]] Enumerated enumerate(const EnumerationQuestion& question, const NumbersBound& bound,
                                   Json* record = nullptr);

}  // namespace ellice::audit
