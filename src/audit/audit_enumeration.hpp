#pragma once

// That no row is much cheaper, where something discrete may change: all that is discrete is decided
// one feature after the other, and parts of the tree are closed by one model (theory.md, Result 11
// and Result 12) or, where everything discrete is decided, by the numbers that are left.

#include <functional>
#include <optional>
#include <vector>

#include "audit/audit_bounds.hpp"
#include "audit/audit_constraints.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::audit {

struct EnumerationQuestion {
  const RowConstraints* constraints = nullptr;
  const Encoder* encoder = nullptr;
  Cost cost = {};
  std::optional<std::int64_t> most_changes = {};
  std::vector<LongVector> models = {};  // θ of the set, over x̃: no robust row has θᵀx̃ < t
  double threshold = 0;
  double claimed = 0;  // that no row undercuts; squared where the cost is a root
};

/// What the numbers of a region cost at least, and one that costs less than `enough`, if any.
using NumbersBound =
    std::function<CostBounds(const Region& region, const ColumnCost& cost, double enough)>;

enum class Enumerated {
  proved,   // no row costs less than claimed
  refuted,  // one does
  open,     // too many parts
};
[[nodiscard]] Enumerated enumerate(const EnumerationQuestion& question, const NumbersBound& bound);

}  // namespace ellice::audit
