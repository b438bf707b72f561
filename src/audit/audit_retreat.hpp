#pragma once

#include <functional>
#include <optional>

#include "audit/audit_constraints.hpp"
#include "ellice/request/cost.hpp"

namespace ellice::audit {

/// Whether every model of the set accepts a row: encoded, in model space.
using IsRobust = std::function<bool(const RawRow& row, const Vector& z)>;

/// A changed feature that can go back to the query's value, or by a step of its grid, while at most
/// one other takes a step of its own, in a row that is allowed, robust and costs less than
/// `claimed`; nothing if there is none.
[[nodiscard]] std::optional<std::size_t> beaten_by_retreat(const RowConstraints& constraints,
                                                           const Encoder& encoder, const Cost& cost,
                                                           const RawRow& counterfactual,
                                                           double claimed,
                                                           const IsRobust& is_robust);

}  // namespace ellice::audit
